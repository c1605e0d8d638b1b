"""A checkout: an attempt to pay, which reserves a unit until it is paid, cancelled or lapses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.service.model.request import PayerField, Quote

SHARE = 2
"""One network holds at most the unsold units divided by this."""


class CheckoutState(StrEnum):
    """State of a checkout; LATE and OVERSOLD are paid after the reservation ended."""

    OPEN = "open"
    PAID = "paid"
    LAPSED = "lapsed"
    CANCELLED = "cancelled"
    LATE = "late"
    OVERSOLD = "oversold"


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout as it is stored; times in epoch ms, `token` is the form's hidden token.

    `language` is that of the receipt to email to the payer, None if none is.
    """

    id: str
    request_id: str
    token: str
    user_data: dict[PayerField, str]
    quote: Quote
    created_at: int
    lapses_at: int
    stored_state: CheckoutState = CheckoutState.OPEN
    language: str | None = None

    def state(self, now: int) -> CheckoutState:
        """Return its state; one that has lapsed may still be stored as open."""
        if self.stored_state is CheckoutState.OPEN and self.lapses_at <= now:
            return CheckoutState.LAPSED
        return self.stored_state


@dataclass(frozen=True, slots=True)
class Settlement:
    """A rail's report that the money of a checkout arrived.

    `(rail, external_id)` is one payment, however often the rail reports it.
    """

    rail: str
    checkout_id: str
    external_id: str


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
