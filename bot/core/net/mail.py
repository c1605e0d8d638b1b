"""Shared email code: the settings SMTP_URL and SMTP_FROM, and headers that can hold any text.

The header classes of the standard library decode a value that looks like an encoded word (RFC
2047), even if it holds CR and LF: the name of a product could write headers, or the whole letter.
So text is encoded first, and the encoded value is sent as it is.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from email.header import Header
from email.headerregistry import Address, BaseHeader, HeaderRegistry, UniqueUnstructuredHeader
from email.message import EmailMessage
from email.policy import EmailPolicy, Policy, default
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

from bot.core import errors
from bot.core.text import contacts, links

ENCODED = ("subject", "from", "to", "list-unsubscribe")
"""Headers whose values are already encoded when they are set."""

_ENDS_HEADER = re.compile(r"[\r\n\0]")


class _EncodedHeader(UniqueUnstructuredHeader, BaseHeader):  # type: ignore[misc]  # typeshed: max_count
    """An already encoded header: never decoded, and folded only between encoded words."""

    @classmethod
    def parse(cls, value: str, kwds: dict[str, Any]) -> None:
        """Take the value unchanged. Raises ValueError if the value would end the header."""
        if _ENDS_HEADER.search(value):
            raise ValueError("would end its header")
        kwds |= {"decoded": value, "parse_tree": None}

    def fold(self, *, policy: Policy) -> str:
        """Write the header with the line endings of `policy`."""
        lines = str(self).replace("?= =?", f"?={policy.linesep} =?")
        return f"{self.name}: {lines}{policy.linesep}"


def encode_text(text: str, header: str) -> str:
    """Return the ASCII form of a text for a header, as encoded words if necessary."""
    if text.isascii() and "=?" not in text:
        return text
    return Header(text, "utf-8", header_name=header).encode(linesep="")


def encode_mailbox(address: Address, header: str) -> str:
    """Return the ASCII form of an address and its display name for a header."""
    name = encode_text(address.display_name, header)
    return str(address) if name == address.display_name else f"{name} <{address.addr_spec}>"


@cache
def encoded_headers() -> EmailPolicy[EmailMessage]:
    """Return a policy for messages whose ENCODED headers are already encoded."""
    registry = HeaderRegistry()
    for name in ENCODED:
        registry.map_to_type(name, _EncodedHeader)
    return default.clone(header_factory=registry)


PORTS = {"smtp": 587, "smtps": 465}  # RFC 6409 section 3.1, RFC 8314 section 7.3

_NAMED = re.compile(r"(?P<name>[^<>]*)<(?P<address>[^<>]*)>")

_URL_SHAPE = (
    "write smtp://user:password@mail.example.org:587, or smtps://… for TLS from the start;"
    " in user and password, signs such as @ : / ? # % are percent-encoded"
)
_FROM_SHAPE = "write an address such as payments@example.org, or Our shop <payments@example.org>"


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """The mail server."""

    host: str
    port: int

    tls: bool
    """True for implicit TLS, False for STARTTLS."""

    is_local: bool
    """True if the server is on this machine, where TLS would protect nothing."""

    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Return its host and port for the operator."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_server(url: str) -> SmtpServer:
    """Parse SMTP_URL. Raises ConfigProblem, which never quotes the URL or its password."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise errors.ConfigProblem(_URL_SHAPE) from None
    if " " in url or not url.isprintable():  # urlsplit would drop some of these characters
        raise errors.ConfigProblem(_URL_SHAPE)
    host: str | None = parts.hostname or ""
    try:
        address = ipaddress.ip_address(host or "")
        host, is_local = str(address), address.is_loopback
    except ValueError:
        host = links.ascii_domain(host or "")
        is_local = host == "localhost"
    user, password = _decoded(parts.username), _decoded(parts.password)
    extra = parts.path.strip("/") or parts.query or parts.fragment
    if parts.scheme not in PORTS or host is None or port == 0 or extra:
        raise errors.ConfigProblem(_URL_SHAPE)
    if bool(user) != bool(password):
        raise errors.ConfigProblem("write both user and password, or neither")
    return SmtpServer(
        host=host,
        port=port or PORTS[parts.scheme],
        tls=parts.scheme == "smtps",
        is_local=is_local,
        user=user or None,
        password=password or None,
    )


def smtp_passwords(url: str) -> list[str]:
    """Return the password of an SMTP_URL both as written in the URL and as sent."""
    written = urlsplit(url).password
    return sorted({written, unquote(written)}) if written else []


def parse_sender(text: str) -> Address:
    """Parse SMTP_FROM: an address, or `Name <address>`. Raises ConfigProblem."""
    named = _NAMED.fullmatch(text.strip())
    name = named["name"].strip().strip('"') if named else ""
    address = contacts.ascii_address(named["address"] if named else text.strip())
    if address is None or not name.isprintable():
        raise errors.ConfigProblem(_FROM_SHAPE)
    return Address(display_name=name, addr_spec=address)


def _decoded(text: str | None) -> str:
    try:
        decoded = unquote(text or "", errors="strict")
    except ValueError:
        raise errors.ConfigProblem(_URL_SHAPE) from None
    if any(char < " " or char == "\x7f" for char in decoded):
        raise errors.ConfigProblem("user and password may not have control characters")
    return decoded
