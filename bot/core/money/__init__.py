"""Currencies and exact amounts; pure."""
