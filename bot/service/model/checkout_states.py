"""The states of a checkout, and which of them may follow each other."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class CheckoutState(StrEnum):
    """State of a checkout; LATE and OVERSOLD are paid after it held no unit any more.

    OPENING waits for the wallet's invoice, CLAIMED for the seller to confirm the payer's word; it
    may hold no unit, and then is OVERSOLD where none is left once it's confirmed.
    """

    OPENING = "opening"
    OPEN = "open"
    CLAIMED = "claimed"
    PAID = "paid"
    LAPSED = "lapsed"
    CANCELLED = "cancelled"
    FAILED = "failed"
    REJECTED = "rejected"
    LATE = "late"
    OVERSOLD = "oversold"

    @property
    def holds_unit(self) -> bool:
        """Return whether a unit is reserved for it."""
        return self in HOLDING

    @property
    def is_settled(self) -> bool:
        """Return whether its money has arrived."""
        return not NEXT[self]


HOLDING = (CheckoutState.OPENING, CheckoutState.OPEN, CheckoutState.CLAIMED)
"""The states in which a unit is reserved; it is free as soon as a checkout leaves them unpaid."""

_TOO_LATE = frozenset({CheckoutState.LATE, CheckoutState.OVERSOLD})

NEXT: Mapping[CheckoutState, frozenset[CheckoutState]] = {
    CheckoutState.OPENING: frozenset(
        {CheckoutState.OPEN, CheckoutState.FAILED, CheckoutState.LAPSED}
    ),
    CheckoutState.OPEN: frozenset(
        {
            CheckoutState.PAID,
            CheckoutState.CLAIMED,
            CheckoutState.CANCELLED,
            CheckoutState.LAPSED,
        }
    ),
    CheckoutState.CLAIMED: frozenset(
        {
            CheckoutState.PAID,
            CheckoutState.REJECTED,
            CheckoutState.LAPSED,
            CheckoutState.OVERSOLD,
        }
    ),
    CheckoutState.LAPSED: _TOO_LATE | {CheckoutState.CLAIMED},
    CheckoutState.CANCELLED: _TOO_LATE,
    CheckoutState.FAILED: _TOO_LATE,
    CheckoutState.REJECTED: _TOO_LATE,
    CheckoutState.PAID: frozenset(),
    CheckoutState.LATE: frozenset(),
    CheckoutState.OVERSOLD: frozenset(),
}
"""The states that may follow each state."""

ENDED = tuple(state for state, following in NEXT.items() if following and state not in HOLDING)
"""The states without a unit in which money may still arrive."""


def before(state: CheckoutState) -> tuple[CheckoutState, ...]:
    """Return the states that this state may follow."""
    return tuple(one for one, following in NEXT.items() if state in following)
