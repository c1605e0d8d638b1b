"""Processes over one database: which of them are alive, and which one leads."""
