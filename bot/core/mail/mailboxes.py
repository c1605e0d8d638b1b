"""Spellings of email addresses that lead to one mailbox, which share its rate limit."""

from __future__ import annotations

import hashlib

from bot.core.text import email_addresses

GOOGLE = frozenset({"gmail.com", "googlemail.com"})
"""Two names of one domain, where dots in the local part have no meaning."""


def key(address: str) -> str:
    """Return the address in lower case and ASCII, the same for each spelling of its letters."""
    return (email_addresses.ascii_address(address) or address).lower()


def digest(address: str) -> str:
    """Return a hash of the mailbox of an address.

    Ignores a tag (`anna+shop@example.org`, RFC 5233) and Google's dots: two mailboxes with one
    digest only share a rate limit.
    """
    name, _, domain = key(address).rpartition("@")
    name = name.partition("+")[0] or name
    if domain in GOOGLE:
        name, domain = name.replace(".", ""), "gmail.com"
    return hashlib.sha256(f"{name}@{domain}".encode()).hexdigest()
