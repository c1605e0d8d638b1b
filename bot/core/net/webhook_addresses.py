"""Addresses that webhooks may reach: the rules, without any I/O.

When a request is created, `check_url` checks the URL as written. When the webhook is dialled,
`is_forbidden` checks the resolved addresses (`guarded_transport`). Code that compares or counts
hosts also uses this module, because a host has many spellings: `bot。internal`, `127.1`,
`h.example.`.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Self, TypeAlias

import httpx
from publicsuffixlist import PublicSuffixList

from bot.core import errors
from bot.core.text import sanitize

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

# IANA's special-purpose registries as of November 2026 (RFC 6890 and its successors).
_FORBIDDEN_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, cloud metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
# Everything else is forbidden: unspecified, loopback, IPv4 mapped and compatible, both NAT64
# prefixes, discard, unique local, link-local, site-local, multicast.
_GLOBAL_V6 = IPv6Network("2000::/3")
_FORBIDDEN_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
)

_PORTS = {"http": 80, "https": 443}
_MAX_PORT = 65535
_AUTHORITY_END = re.compile(r"[/?#]")
_NOT_IN_URL = re.compile(r"[\x00-\x20\x7f\\]")
_HOST = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_MAX_HOST = 253
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_MAX_PARTS = 4
_BYTE = 256


def literal_address(host: str) -> Address | None:
    """Return the address that a host spells, or None for a name.

    Accepts every spelling that inet_aton(3) and the URL standard's host parser accept: `127.2`,
    `0x7f000002`, `2130706434`, `017700000001`, `[::1]`, full-width digits, a trailing dot.
    """
    plain = _plain_host(host)
    if ":" in plain:
        try:
            return IPv6Address(plain)
        except ValueError:
            return None
    # One to four decimal, octal or hex numbers; the last fills the remaining bytes.
    parts = plain.split(".")
    if len(parts) > _MAX_PARTS:
        return None
    numbers = [_read_number(part) for part in parts]
    *first, last = (-1 if number is None else number for number in numbers)
    room: int = _BYTE ** (_MAX_PARTS - len(first))
    if not all(0 <= number < _BYTE for number in first) or not 0 <= last < room:
        return None
    lead = int.from_bytes(bytes(first), "big")
    return IPv4Address(lead * room + last)


@lru_cache(maxsize=1024)  # the queues ask for each lane
def zone_of(host: str) -> str:
    """Return the zone of a host: the domain that its owner registered, or its address.

    The owner of a zone can invent any number of names in the zone. A registry such as `com.br` or
    `co.uk` sells zones to strangers. A name without an owner, such as a host of the own network, is
    its own zone.
    """
    if address := literal_address(host):
        return str(address)
    plain = _plain_host(host)
    return _registries().privatesuffix(plain) or plain


@cache
def _registries() -> PublicSuffixList:
    """Return the suffixes below which registries sell domains, read once from the package.

    The list's private part, such as `github.io`, is left out: names below it cost nothing, so
    anybody could have many zones (docs/decisions/real-money.md#0104).
    """
    return PublicSuffixList(only_icann=True)


def _plain_host(host: str) -> str:
    """Normalize a host for comparison: lower case, no brackets, no trailing dot."""
    folded = unicodedata.normalize("NFKC", host).replace("。", ".").lower()
    visible = "".join(char for char in folded if unicodedata.category(char) != "Cf")
    return visible.strip().removeprefix("[").removesuffix("]").rstrip(".")


def _read_number(part: str) -> int | None:
    if len(part) > _MAX_HOST or not _NUMBER.fullmatch(part):
        return None
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    try:
        return int(part, 8 if part.startswith("0") else 10)
    except ValueError:
        return None


_WITH_PORT = re.compile(r"(\[.*\]|[^:]*):([0-9]{1,5})")
"""An entry of an AllowList with a port; the addresses of IPv6 have brackets then."""

_ALLOWED_FORMS = "wallet.local, wallet.local:5000, 10.0.0.7, [::1]:5000 or 10.0.0.0/8"


@dataclass(frozen=True, slots=True)
class AllowList:
    """Private hosts and networks that may be reached: `WEBHOOK_ALLOW` and `RAIL_ALLOW`."""

    hosts: frozenset[tuple[str, int | None]] = frozenset()
    """Names, each with its only permitted port, or None for every port."""

    networks: tuple[tuple[Network, int | None], ...] = ()
    """Networks, likewise."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a comma-separated list: `receiver.local, wallet.local:5000, [::1]:80, 10.0.0.0/8`.

        Raises ConfigProblem, which names the wrong entry.
        """
        hosts: set[tuple[str, int | None]] = set()
        networks: list[tuple[Network, int | None]] = []
        for entry in filter(None, (part.strip() for part in text.split(","))):
            found = _WITH_PORT.fullmatch(entry)
            name, port = (found[1], int(found[2])) if found else (entry, None)
            if port is not None and not 1 <= port <= _MAX_PORT:
                raise errors.ConfigProblem(f"{entry!r}: a port is a number from 1 to {_MAX_PORT}")
            try:
                network = ip_network(name.removeprefix("[").removesuffix("]"), strict=False)
                networks.append((network, port))
            except ValueError:
                if not _is_host(_plain_host(name)) or _ends_in_number(name):
                    raise errors.ConfigProblem(
                        f"{entry!r} is neither a host nor an address nor a network, with or"
                        f" without a port: write {_ALLOWED_FORMS}"
                    ) from None
                hosts.add((_plain_host(name), port))
        return cls(frozenset(hosts), tuple(networks))

    def permits_host(self, host: str, port: int) -> bool:
        """True if the list contains the name itself, whatever address it resolves to."""
        plain = _plain_host(host)
        return (plain, None) in self.hosts or (plain, port) in self.hosts

    def permits_address(self, address: Address, port: int) -> bool:
        return any(address in network and only in {None, port} for network, only in self.networks)


def _is_host(host: str) -> bool:
    return len(host) <= _MAX_HOST and _HOST.fullmatch(host) is not None


def _ends_in_number(host: str) -> bool:
    """True if the URL standard treats the host as an IPv4 address, valid or not."""
    return _NUMBER.fullmatch(_plain_host(host).rpartition(".")[2]) is not None


def is_forbidden(address: Address, port: int, allow: AllowList) -> bool:
    """True if the address may not be reached: it is neither public nor allowed at this port."""
    if allow.permits_address(address, port):
        return False
    if isinstance(address, IPv4Address):
        return any(address in network for network in _FORBIDDEN_V4)
    return address not in _GLOBAL_V6 or any(address in network for network in _FORBIDDEN_V6)


def check_url(url: str, allow: AllowList) -> str:
    """Return the host of a webhook URL in the spelling that will be dialled.

    Raises ForbiddenAddress, with a message for the API caller, if the URL is wrong regardless of
    the address that its name resolves to.
    """
    # Some characters are invisible or reorder the text around them (Unicode TR 9).
    is_unseen = any(unicodedata.category(char) in sanitize.SPOILING for char in url)
    if _NOT_IN_URL.search(url) or is_unseen:
        raise errors.ForbiddenAddress(
            "A webhook address has no spaces, control characters or backslashes"
        )
    try:
        parsed = httpx.URL(url)  # as the client that will dial it, so that both see the same host
        _ = parsed.host  # decoded only now, and again when sending: `xn--a` is invalid
    except (httpx.InvalidURL, ValueError):
        raise errors.ForbiddenAddress("This is not a valid webhook address") from None
    if parsed.scheme not in _PORTS:
        raise errors.ForbiddenAddress("A webhook address starts with https:// or http://")
    if parsed.userinfo or "@" in _AUTHORITY_END.split(url.partition("://")[2])[0]:
        raise errors.ForbiddenAddress("A webhook address carries no user name or password")
    if parsed.port is not None and not 1 <= parsed.port <= _MAX_PORT:
        raise errors.ForbiddenAddress(f"Port {parsed.port} is not one from 1 to {_MAX_PORT}")
    port = parsed.port or _PORTS[parsed.scheme]
    host = _one_spelling(parsed)
    if address := literal_address(host):
        if is_forbidden(address, port, allow):
            raise errors.ForbiddenAddress(
                f"Webhooks may not go to {address}: it is not a public address"
            )
    elif not _is_host(host) or _ends_in_number(host):
        raise errors.ForbiddenAddress("The webhook address has no valid host")
    elif f".{host}".endswith(".localhost") and not allow.permits_host(host, port):
        raise errors.ForbiddenAddress(f"Webhooks may not go to {host}: it is this machine")
    return host


def _one_spelling(url: httpx.URL) -> str:
    host = url.raw_host.decode("ascii")
    return str(literal_address(host) or _plain_host(host))


LONGEST_ENDPOINT = 200
"""The longest text of an endpoint, in characters; in a longer text a hash replaces the path."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The target of a webhook in canonical spelling, without query and password."""

    scheme: str
    host: str
    port: int
    path: str

    def __str__(self) -> str:
        """Return the URL; a hash replaces the path if the URL exceeds LONGEST_ENDPOINT."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        server = f"{self.scheme}://{name}:{self.port}"
        whole = server + self.path
        if len(whole) <= LONGEST_ENDPOINT:
            return whole
        return f"{server}#{_hash(whole)}"


@lru_cache(maxsize=256)  # parsing takes 30 µs, and a webhook needs it three times
def endpoint(url: str) -> Endpoint:
    """Return the target of a webhook URL.

    The target of an invalid URL has no host and a hash as its path. Nothing can be sent to it, but
    it can be listed.
    """
    try:
        parsed = httpx.URL(url)
        host = _one_spelling(parsed)
    except (httpx.InvalidURL, ValueError):
        return Endpoint("", "", 0, f"/#{_hash(url)}")
    path = parsed.raw_path.partition(b"?")[0].decode("ascii")
    port = parsed.port or _PORTS.get(parsed.scheme, 0)
    return Endpoint(parsed.scheme, host, port, path)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def parse_address(text: str) -> Address:
    """Parse an address from a resolver's answer, ignoring its IPv6 zone."""
    return ip_address(text.partition("%")[0])
