"""The chat page and its server."""
