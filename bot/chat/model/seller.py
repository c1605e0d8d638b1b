"""The seller, as far as requests and forms need to know them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seller:
    """Who is talking, as far as the conversation needs to know; `currency` is the last one used.

    `prices` are the last ones, minor units and currency. `zone` is an IANA name; `quiet` from which
    to which and `summary` at which minute of its day.
    """

    language: str
    destination: str | None = None
    currency: str | None = None
    prices: tuple[tuple[int, str], ...] = ()
    zone: str | None = None
    quiet: tuple[int, int] | None = None
    summary: int | None = None
