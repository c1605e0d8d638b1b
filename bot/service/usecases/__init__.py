"""What the service does, each one transaction that the database's writer runs."""
