"""Messages about payments: alerts, digests, quiet hours, summaries and claim reminders."""
