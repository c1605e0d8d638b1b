"""The receipt: what was paid, what was bought, and how to keep it."""
