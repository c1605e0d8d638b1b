"""What a payer orders on the pay page: amount, quantity, name and message, read and shown."""
