"""Limits of the open checkouts that one network may have of a request."""

from __future__ import annotations

from dataclasses import dataclass

SHARE = 2
"""One network holds at most the unsold units divided by this."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who opens a checkout: `payer` is the id in their cookie, None without one.

    `network` identifies their address, None if addresses are not limited.
    """

    network: str | None = None
    payer: str | None = None


UNKNOWN_HOLDER = Holder()


@dataclass(frozen=True, slots=True)
class Held:
    """Numbers of open checkouts of one request by one network; `nameless`: without a cookie."""

    total: int
    nameless: int


def may_reserve(holder: Holder, held: Held, unsold: int | None, cap: int) -> bool:
    """Return whether the holder's network may open one more checkout.

    `unsold` counts the units that remain or are reserved, None if they are unlimited. `cap` is
    PAYER_HOLDS: what payers without a cookie may hold together, and the least that is always
    allowed to others.
    """
    if holder.payer is None and held.nameless >= cap:
        return False
    return unsold is None or held.total < max(cap, unsold // SHARE)
