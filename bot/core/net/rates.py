"""Rates in settings (`30/second`, `20/minute`, `0` for no limit), and keys for counting.

An IPv4 peer is counted by its address, an IPv6 peer by its subscriber's network.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

PERIODS = {"second": 1, "minute": 60}

SUBSCRIBER_BITS = 64
"""Bits of an IPv6 address that identify a subscriber, who chooses the other bits (RFC 6177)."""

SITE_BITS = 48
"""The fewest bits that all networks of a site have in common (RFC 6177)."""

LONGEST_HOST = 64
"""Characters kept of a host that a proxy reports and that isn't an address."""


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` in any period of `seconds`."""

    count: int
    seconds: int


def parse_rate(value: Any) -> Rate | None:
    """Parse a setting; None means no limit. Raises ValueError."""
    if value is None or isinstance(value, Rate):
        return value
    text = str(value).strip()
    if text == "0":
        return None
    match = re.fullmatch(r"([1-9]\d{0,8})/(second|minute)", text)
    if not match:
        raise ValueError("write a rate such as 30/second or 20/minute, or 0 for none")
    return Rate(int(match[1]), PERIODS[match[2]])


def subscriber_key(host: str) -> str:
    """Return the key of a peer: its IPv4 address, or its subscriber's IPv6 network."""
    return _key(host[:LONGEST_HOST])


def site_key(subscriber: str) -> str | None:
    """Return the site key of a `subscriber_key`; None if the key isn't an IPv6 network."""
    try:
        network = ip_network(subscriber)
    except ValueError:
        return None
    return str(network.supernet(new_prefix=SITE_BITS)) if network.version == 6 else None  # noqa: PLR2004 - IPv6


@lru_cache(maxsize=4096)
def _key(host: str) -> str:
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ip_network((int(address), SUBSCRIBER_BITS), strict=False))
