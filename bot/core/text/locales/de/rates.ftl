# Who published an exchange rate: in brackets behind it, in the chat and on pages.

rate-median = Median aus { $sources }
rate-and = { $first } und { $last }
rate-test-table = erfundener Kurs zum Testen
rate-by-definition = fest
