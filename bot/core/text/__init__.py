"""Texts for people, and text that people typed: translations, links, contacts, sanitizing."""
