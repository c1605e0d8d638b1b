"""Translations, and text that people typed: sanitized, links, e-mail addresses, phone numbers."""
