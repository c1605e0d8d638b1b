"""Erasure of personal data from tables and texts."""
