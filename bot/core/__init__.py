"""The floor under both slices: money, text, database, outbox, network, email, operations."""
