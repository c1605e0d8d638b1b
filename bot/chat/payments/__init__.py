"""Incoming payments and claims: the webhook, recording, reconciling."""
