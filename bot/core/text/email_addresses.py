"""Email addresses: which are valid, how they are sent, and whose mailbox they are."""

from __future__ import annotations

import hashlib
import re

from bot.core.text import sanitize

LONGEST_ADDRESS = 254  # RFC 5321 section 4.5.3.1.3, less the angle brackets

GOOGLE = frozenset({"gmail.com", "googlemail.com"})
"""Two names of one domain, where dots in the local part have no meaning."""

_SCHEME = re.compile("mailto:", re.IGNORECASE)


def ascii_address(text: str) -> str | None:
    """Return an email address as it is sent, with its domain by IDNA; None for an invalid one.

    A local part that is not ASCII is invalid (RFC 6531): few servers forward such mail. So is one
    with `=?`, which mail programs read as an encoded word (RFC 2047 section 2), and a domain that
    is reserved or no public name; `.test`, with which people try things out (RFC 2606), is valid.
    """
    from email_validator import EmailNotValidError, validate_email  # noqa: PLC0415 - commands start without it

    if len(text) > LONGEST_ADDRESS or "=?" in text:
        return None
    try:
        found = validate_email(
            text,
            check_deliverability=False,
            allow_smtputf8=False,
            strict=True,
            test_environment=True,
        )
    except EmailNotValidError:
        return None
    return found.ascii_email


def typed(text: str) -> str:
    """Return an address without what people paste with it; whether it is valid is not checked."""
    return _SCHEME.sub("", sanitize.typed(text), count=1).strip()


def mailbox_key(address: str) -> str:
    """Return the address in lower case and ASCII, the same for each spelling of its letters."""
    return (ascii_address(address) or address).lower()


def mailbox_digest(address: str) -> str:
    """Return a hash of the mailbox of an address: its spellings share one rate limit.

    Ignores a tag (`anna+shop@example.org`, RFC 5233) and Google's dots: two mailboxes with one
    digest only share a rate limit.
    """
    name, _, domain = mailbox_key(address).rpartition("@")
    name = name.partition("+")[0] or name
    if domain in GOOGLE:
        name, domain = name.replace(".", ""), "gmail.com"
    return hashlib.sha256(f"{name}@{domain}".encode()).hexdigest()
