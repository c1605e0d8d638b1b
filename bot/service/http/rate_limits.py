"""How often somebody may call: `API_RATE` an application, `PAYER_RATE` an address."""

from __future__ import annotations

import math
import time
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING

from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from bot.core.errors import RateLimited

if TYPE_CHECKING:
    from bot.core.net.rates import Rate


SUBSCRIBER = 64
"""Bits of an IPv6 address that a network gives to one subscriber, who chooses the others freely
(RFC 6177)."""

LONGEST_ADDRESS = 64
"""Characters kept of what a proxy names and is no address at all."""


def payer_key(host: str) -> str:
    """Return what a payer's calls are counted under: the address, of IPv6 the subscriber's part."""
    return _payer_key(host[:LONGEST_ADDRESS])


@lru_cache(maxsize=4096)
def _payer_key(host: str) -> str:
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ip_network((int(address), SUBSCRIBER), strict=False))


class Limiter:
    """Counts calls by key, in windows that begin with a key's first call; no rate, no limit."""

    def __init__(self, rate: Rate | None) -> None:
        self._item = RateLimitItemPerSecond(rate.count, rate.seconds) if rate else None
        self._windows = FixedWindowRateLimiter(MemoryStorage())

    def hit(self, key: str) -> None:
        """Count a call; RateLimited, with the whole seconds to wait, where it is one too many."""
        if self._item is None or self._windows.hit(self._item, key):
            return
        opens_at = self._windows.get_window_stats(self._item, key).reset_time
        raise RateLimited(max(1, math.ceil(opens_at - time.time())))
