"""Payments as messages: alert, digest, quiet hours, daily summary, undelivered alerts."""
