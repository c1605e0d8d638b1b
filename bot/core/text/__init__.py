"""Texts shown to and typed by people: translations, links, contacts, sanitizing."""
