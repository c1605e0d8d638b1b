"""Contacts that people give: an e-mail address, a link or a @username of Telegram."""

from __future__ import annotations

import re

from bot.core.text import links

LONGEST_ADDRESS = 254  # RFC 5321 section 4.5.3.1.3, less the angle brackets
SHAPE = "write an e-mail address, a link such as https://example.org/help, or an @username"

_USERNAME = re.compile(r"@[a-z][a-z0-9_]{3,31}", re.IGNORECASE)
"""Telegram's own bounds (core.telegram.org/method/account.checkUsername); some bought names have
four characters."""

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})+", re.IGNORECASE)
_ATOM = r"[a-z0-9!$*+_~'-]+"
_LOCAL_PART = re.compile(rf"(?=.{{1,64}}\Z){_ATOM}(?:\.{_ATOM})*", re.IGNORECASE)
"""Of the characters of RFC 5322 those that a mailto: link takes as they are (RFC 6068)."""


def check_contact(text: str) -> str:
    """Return the contact without blanks around it. Raises ValueError, which says what to write."""
    contact = text.strip()
    if not (_USERNAME.fullmatch(contact) or _is_address(contact) or _is_link(contact)):
        raise ValueError(SHAPE)
    return contact


def contact_link(contact: str) -> str:
    """Return the address that a checked contact opens: `https:`, `http:` or `mailto:`."""
    if contact.startswith("@"):
        return f"https://t.me/{contact[1:]}"
    return contact if _is_link(contact) else f"mailto:{contact}"


def contact_text(contact: str) -> str:
    """Return a checked contact as people read it: a link without its scheme and last slash."""
    scheme, mark, rest = contact.partition("://")
    return rest.rstrip("/") if mark and scheme.lower() in links.WEB else contact


def _is_address(text: str) -> bool:
    name, _, domain = text.rpartition("@")
    if len(text) > LONGEST_ADDRESS or not _LOCAL_PART.fullmatch(name):
        return False
    try:
        host = links.ascii_host(domain)
    except ValueError:
        return False
    return bool(_DOMAIN.fullmatch(host)) and not host.rpartition(".")[2].isdecimal()


def _is_link(text: str) -> bool:
    try:
        links.check_redirect(text, schemes=links.WEB)
    except ValueError:
        return False
    return len(text) <= links.LONGEST_URL
