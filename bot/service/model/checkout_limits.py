"""How much of a request may be held at a time by those who haven't paid yet."""

from __future__ import annotations

from dataclasses import dataclass

SHARE = 2
"""One network holds at most one part in so many of what is not sold."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who opens a checkout: `payer` is the id in their cookie, None without one.

    `network` is what their address is told apart by, None where it isn't.
    """

    network: str | None = None
    payer: str | None = None


UNKNOWN_HOLDER = Holder()


@dataclass(frozen=True, slots=True)
class Held:
    """Open checkouts of one request by one network; `nameless` are those without a cookie."""

    total: int
    nameless: int


def may_reserve(holder: Holder, held: Held, unsold: int | None, cap: int) -> bool:
    """Return whether the holder's network may open one more checkout.

    `unsold` counts the units that remain or are reserved, None where any number may pay. `cap` is
    PAYER_HOLDS: what those without a cookie may hold together, and anybody of however few units.
    """
    if holder.payer is None and held.nameless >= cap:
        return False
    return unsold is None or held.total < max(cap, unsold // SHARE)
