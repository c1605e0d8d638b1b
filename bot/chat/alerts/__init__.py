"""Payments as messages: alert, digest, quiet hours, summary; reminders of claims."""
