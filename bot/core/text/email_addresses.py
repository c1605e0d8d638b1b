"""Email addresses: which are valid, and how they are sent."""

from __future__ import annotations

import re

from bot.core.text.links import ascii_host

LONGEST_ADDRESS = 254  # RFC 5321 section 4.5.3.1.3, less the angle brackets

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*", re.IGNORECASE)
_ATOM = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL_PART = re.compile(rf"(?=.{{1,64}}\Z){_ATOM}(?:\.{_ATOM})*", re.IGNORECASE)


def ascii_address(text: str) -> str | None:
    """Return an email address with its domain by IDNA, None for an invalid one.

    A local part that is not ASCII is invalid (RFC 6531): few servers forward such mail. So is one
    with `=?`, which mail programs read as an encoded word (RFC 2047 section 2).
    """
    name, _, domain = text.rpartition("@")
    host = ascii_domain(domain)
    if host is None or "=?" in name or not _LOCAL_PART.fullmatch(name):
        return None
    address = f"{name}@{host}"
    return address if len(address) <= LONGEST_ADDRESS else None


def ascii_domain(text: str) -> str | None:
    """Return a domain in ASCII, None for an invalid one or an IP address."""
    try:
        name = ascii_host(text)
    except ValueError:
        return None
    if name.rpartition(".")[2].isdecimal() or not _DOMAIN.fullmatch(name):
        return None
    return name
