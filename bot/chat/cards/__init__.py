"""Messages that show requests, claims, payments and receipts, and the calls that send them."""
