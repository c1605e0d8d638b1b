"""The service's operations, each one transaction that the database's writer runs."""
