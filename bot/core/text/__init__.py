"""Translations, and text that people typed: sanitized, links, email addresses, phone numbers."""
