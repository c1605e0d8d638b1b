# Phrases of the chat, pages and letters.

price-from = Ab { $amount }
pieces-of = { $count } × { $what }
range = { $first } bis { $last }
goal-raised = { $raised } von { $goal }
goal-percent = { NUMBER($share, style: "percent") }
moment-utc = { DATETIME($at, dateStyle: "long", timeStyle: "short") } UTC
size-kilobytes = { $size } KB
size-megabytes = { $size } MB

# Who published an exchange rate, in brackets behind it.

rate-median = Median aus { $sources }
rate-test-table = erfundener Kurs zum Testen
rate-by-definition = fest
