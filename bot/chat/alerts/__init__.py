"""A payment as a message: alert, digest, quiet hours, daily summary, undelivered alerts."""
