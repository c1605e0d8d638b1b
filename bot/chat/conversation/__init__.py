"""What follows from an update: one update, one transaction."""
