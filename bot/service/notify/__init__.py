"""Deliveries: payments reported by webhook and by email."""
