"""Messages that show requests, claims, payments and receipts: cards, alerts, digests, summaries.

Also when they are sent by time, and the calls that send them.
"""
