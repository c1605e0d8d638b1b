"""The transitions of checkouts as a table, and the SQL that has the same states."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from bot.core.database.service_tables import SERVICE
from bot.interface.vocabulary import CheckoutState
from bot.service.checkouts.checkout import (
    ENDED,
    GIVEN_UP,
    HOLDING,
    HOLDS,
    NEXT,
    SETTLED,
    states_before,
)

FOLLOWING = {
    "opening": "open failed lapsed",
    "open": "paid claimed cancelled lapsed",
    "claimed": "paid rejected lapsed oversold",
    "failed": "late oversold",
    "cancelled": "late oversold",
    "lapsed": "late oversold claimed",
    "rejected": "late oversold",
    "paid": "",
    "late": "",
    "oversold": "",
}


def _names(states: Iterable[CheckoutState]) -> set[str]:
    return {state.value for state in states}


@pytest.mark.parametrize("state", CheckoutState)
def test_each_state_is_followed_by_those_of_the_table_only(state: CheckoutState) -> None:
    assert _names(NEXT[state]) == set(FOLLOWING[state].split())
    earlier = {one for one, after in FOLLOWING.items() if state in after.split()}
    assert _names(states_before(state)) == earlier


def test_a_state_holds_a_unit_has_its_money_or_may_still_get_it() -> None:
    assert {*HOLDING, *ENDED, *SETTLED} == set(CheckoutState)
    assert len(HOLDING) + len(ENDED) + len(SETTLED) == len(CheckoutState)


def test_the_schema_indexes_the_same_states() -> None:
    """SQLite uses a partial index only for a condition that is written as the index has it."""
    schema = "\n".join(SERVICE)
    assert schema.count(HOLDS) == 2
    assert schema.count(GIVEN_UP) == 1
