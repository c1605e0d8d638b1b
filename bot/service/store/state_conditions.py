"""SQL conditions on the states of checkouts; the schema's indexes have the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.service.model.checkout_states import ENDED, HOLDING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bot.service.model.checkout_states import CheckoutState


def one_of(states: Iterable[CheckoutState]) -> str:
    """Write the condition that a checkout is in one of these states.

    For an `IN` of three and more SQLite makes a table each time that a row's indexes are examined.
    """
    terms = " OR ".join(f"state = '{state}'" for state in states)
    return f"({terms})"


HOLDS = one_of(HOLDING)
GIVEN_UP = one_of(ENDED)
