"""Which e-mail addresses lead to one mailbox: another spelling brings nobody more letters."""

from __future__ import annotations

import hashlib

from bot.core.mail import smtp

GOOGLE = frozenset({"gmail.com", "googlemail.com"})
"""Where dots in the name count for nothing, and both domains are one."""


def key(address: str) -> str:
    """Return what is the same for one address, however its letters are written."""
    return (smtp.ascii_address(address) or address).lower()


def digest(address: str) -> str:
    """Return what stands for the mailbox of an address, and does not tell it.

    A tag (`anna+shop@example.org`) counts for nothing (RFC 5233), nor do Google's dots: who shares
    a digest shares a bound, so taking two mailboxes for one costs little.
    """
    name, _, domain = key(address).rpartition("@")
    name = name.partition("+")[0] or name
    if domain in GOOGLE:
        name, domain = name.replace(".", ""), "gmail.com"
    return hashlib.sha256(f"{name}@{domain}".encode()).hexdigest()
