"""Deliveries: payments reported by webhook and by e-mail."""
