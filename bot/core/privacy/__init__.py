"""Erasing personal data."""
