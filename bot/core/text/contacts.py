"""Contacts that people give: an email address, a link or an @username of Telegram."""

from __future__ import annotations

import re
from urllib.parse import quote

from bot.core.text import links
from bot.core.text.email_addresses import LONGEST_ADDRESS, ascii_address

LONGEST_CONTACT = LONGEST_ADDRESS
"""Characters; a link as long as an email address can be reaches any page of contact."""

SHAPE = (
    "must be an @username of Telegram (5 to 32 letters, digits or _),"
    " an email address or a link such as https://example.org"
)

USERNAME = re.compile(r"@[A-Za-z0-9_]{5,32}")
"""A name on Telegram, with the sign that tells it from a mistyped address."""

_LINK = re.compile(r"https?://", re.IGNORECASE)


def check_contact(text: str) -> str:
    """Return the contact. Raises ValueError, which says what it must be."""
    if _LINK.match(text) and len(text) <= LONGEST_CONTACT:
        return links.check_redirect(text, schemes=links.WEB)
    if USERNAME.fullmatch(text) is None and ascii_address(text) is None:
        raise ValueError(SHAPE)
    return text


def contact_link(contact: str) -> str:
    """Return the address that a checked contact opens: `https:`, `http:` or `mailto:`."""
    if _LINK.match(contact):
        return contact
    if contact.startswith("@"):
        return f"https://t.me/{contact[1:]}"
    name, _, domain = (ascii_address(contact) or contact).rpartition("@")
    return f"mailto:{quote(name, safe=_SAFE_IN_MAILTO)}@{domain}"


_SAFE_IN_MAILTO = "!$'*+"
"""Characters of a local part that stand for themselves; `?` and `&` begin a field (RFC 6068)."""


def contact_text(contact: str) -> str:
    """Return a checked contact as people read it: a link without its scheme and last slash."""
    return _LINK.sub("", contact, count=1).rstrip("/") if _LINK.match(contact) else contact
