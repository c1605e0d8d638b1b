"""Payout accounts: where the money of a seller's payments goes."""
