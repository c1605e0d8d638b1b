"""Translations, and text that people typed: sanitized, links, domains, phone numbers."""
