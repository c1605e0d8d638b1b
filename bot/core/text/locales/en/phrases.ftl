# Phrases of the chat, pages and letters.

price-from = From { $amount }
pieces-of = { $count } × { $what }
range = { $first } to { $last }
goal-raised = { $raised } of { $goal }
goal-percent = { NUMBER($share, style: "percent") }
moment-utc = { DATETIME($at, dateStyle: "long", timeStyle: "short") } UTC
size-kilobytes = { $size } KB
size-megabytes = { $size } MB

# Who published an exchange rate, in brackets behind it.

rate-median = median of { $sources }
rate-test-table = made-up rate for testing
rate-by-definition = fixed
