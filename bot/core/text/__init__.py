"""Translations, and text that people typed: sanitized, links, contacts, phone numbers."""
