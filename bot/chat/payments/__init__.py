"""Payments and claims in: the webhook, recording, reconciling."""
