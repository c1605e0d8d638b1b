"""Network addresses as rate limits count them: one key for each subscriber."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

SUBSCRIBER_BITS = 64
"""Bits of an IPv6 address that a network assigns to one subscriber, who chooses the others freely
(RFC 6177)."""

LONGEST_HOST = 64
"""Characters kept of a host that a proxy names and that is no address."""


def subscriber_key(host: str) -> str:
    """Return the key of a peer: its address, of IPv6 the subscriber's network."""
    return _key(host[:LONGEST_HOST])


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
