"""The Telegram side; it reaches the payment service over the published interface alone."""
