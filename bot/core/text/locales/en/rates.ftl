# Who published an exchange rate: in brackets behind it, in the chat and on pages.

rate-median = median of { $sources }
rate-and = { $first } and { $last }
rate-test-table = made-up rate for testing
rate-by-definition = fixed
