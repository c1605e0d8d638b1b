"""A payer's attempt to pay: it holds a unit until it is paid, cancelled or lapses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.service.model.request import PayerField, Quote


class CheckoutState(StrEnum):
    """Where an attempt stands; money that comes after it held its unit: `late` or `oversold`."""

    OPEN = "open"
    PAID = "paid"
    LAPSED = "lapsed"
    CANCELLED = "cancelled"
    LATE = "late"
    OVERSOLD = "oversold"


@dataclass(frozen=True, slots=True)
class Checkout:
    """An attempt as it is kept; times in epoch ms, `token` is the hidden one of the form."""

    id: str
    request_id: str
    token: str
    user_data: dict[PayerField, str]
    quote: Quote
    created_at: int
    lapses_at: int
    kept_state: CheckoutState = CheckoutState.OPEN

    def state(self, now: int) -> CheckoutState:
        """Give its state; one that has lapsed may still be kept as open."""
        if self.kept_state is CheckoutState.OPEN and self.lapses_at <= now:
            return CheckoutState.LAPSED
        return self.kept_state
