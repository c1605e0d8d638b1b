"""Payments in: the webhook, recording, reconciling, units sold."""
