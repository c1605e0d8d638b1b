"""Requests, claims, payments and receipts as messages, and the calls that send or edit them."""
