"""The handling of updates, each in one transaction."""
