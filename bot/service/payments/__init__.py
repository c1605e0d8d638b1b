"""Payments: settling, storing, marking and reporting money that arrived."""
