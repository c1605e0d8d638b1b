"""Queued calls of the payment service (create, edit, pause, delete), and its client."""
