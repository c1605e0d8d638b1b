"""Receipts that payers keep in Telegram: their texts, their list, and notices about them."""
