"""Payments as messages: alert, digest, quiet hours, summary, undelivered; claims' reminders."""
