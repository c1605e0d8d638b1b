"""What requests and forms need to know of a seller."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seller:
    """The settings of a seller; `currency` is the last one used.

    `prices` are the last ones, in minor units with their currency. `zone` is an IANA name. `quiet`
    hours begin and end, and the `summary` comes, at these minutes of the zone's day.
    """

    language: str
    destination: str | None = None
    currency: str | None = None
    prices: tuple[tuple[int, str], ...] = ()
    zone: str | None = None
    quiet: tuple[int, int] | None = None
    summary: int | None = None
