"""Reading SMTP_URL and SMTP_FROM."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

from bot.core.errors import ConfigProblem
from bot.core.text.email_addresses import ascii_address
from bot.core.text.links import ascii_domain

if TYPE_CHECKING:
    from email.headerregistry import Address

PORTS = {"smtp": 587, "smtps": 465}  # RFC 6409 section 3.1, RFC 8314 section 7.3

_NAMED = re.compile(r"(?P<name>[^<>]*)<(?P<address>[^<>]*)>")

_URL_SHAPE = (
    "write smtp://user:password@mail.example.org:587, or smtps://… for TLS from the start;"
    " in user and password, signs such as @ : / ? # % are percent-encoded"
)
_FROM_SHAPE = "write an address such as payments@example.org, or Our shop <payments@example.org>"


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """The mail server; `tls` from the start, else by STARTTLS.

    `near`: it is on this machine, where TLS would protect nothing.
    """

    host: str
    port: int
    tls: bool
    near: bool
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Return its host and port for the operator."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_server(url: str) -> SmtpServer:
    """Read SMTP_URL. Raises ConfigProblem without the URL, which has a password."""
    parts, port = _split(url)
    host = _host(parts.hostname or "")
    user, password = _decoded(parts.username), _decoded(parts.password)
    beside = parts.path.strip("/") or parts.query or parts.fragment
    if parts.scheme not in PORTS or host is None or port == 0 or beside:
        raise ConfigProblem(_URL_SHAPE)
    if bool(user) != bool(password):
        raise ConfigProblem("write both user and password, or neither")
    return SmtpServer(
        host=host,
        port=port or PORTS[parts.scheme],
        tls=parts.scheme == "smtps",
        near=_is_near(host),
        user=user or None,
        password=password or None,
    )


def passwords(url: str) -> list[str]:
    """Return the password of an SMTP_URL as it is written, and as it is sent."""
    written = urlsplit(url).password
    return sorted({written, unquote(written)}) if written else []


def parse_sender(text: str) -> Address:
    """Read SMTP_FROM: an address, or `Name <address>`. Raises ConfigProblem."""
    named = _NAMED.fullmatch(text.strip())
    name = named["name"].strip().strip('"') if named else ""
    address = ascii_address(named["address"] if named else text.strip())
    if address is None or not name.isprintable():
        raise ConfigProblem(_FROM_SHAPE)
    from email.headerregistry import Address  # noqa: PLC0415 - loaded only to send email

    return Address(display_name=name, addr_spec=address)


def _split(url: str) -> tuple[SplitResult, int | None]:
    """Split a URL. Raises ConfigProblem, also for characters that urlsplit would drop."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ConfigProblem(_URL_SHAPE) from None
    if " " in url or not url.isprintable():
        raise ConfigProblem(_URL_SHAPE)
    return parts, port


def _decoded(text: str | None) -> str:
    try:
        decoded = unquote(text or "", errors="strict")
    except ValueError:
        raise ConfigProblem(_URL_SHAPE) from None
    if any(char < " " or char == "\x7f" for char in decoded):
        raise ConfigProblem("user and password may not have control characters")
    return decoded


def _host(text: str) -> str | None:
    """Return an IP address or a domain in ASCII, None for neither."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ascii_domain(text)


def _is_near(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
