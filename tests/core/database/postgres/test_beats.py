"""A command refuses to work beneath replicas whose beat moves, and beneath no others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.core.database.postgres.migrating import LOOKS, refuse_while_beating
from bot.core.errors import BotError

Beats = dict[str, int]


class Replicas:
    """What each look finds, the last one for ever; `slept` adds up the seconds between."""

    def __init__(self, *found: Beats) -> None:
        self.found = [*found]
        self.slept = 0.0

    def look(self) -> Beats:
        return self.found.pop(0) if len(self.found) > 1 else self.found[0]

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


def test_nobody_waits_where_all_were_stopped() -> None:
    replicas = Replicas({})
    assert refuse_while_beating(replicas.look, replicas.sleep) == {}
    assert replicas.slept == 0


def test_a_beat_that_stands_still_for_ten_seconds_is_of_the_dead() -> None:
    replicas = Replicas({"a": 7, "b": 1})
    assert refuse_while_beating(replicas.look, replicas.sleep) == {"a": 7, "b": 1}
    assert replicas.slept == 10


@pytest.mark.parametrize(
    "later",
    [{"a": 8}, {"a": 7, "new": 0}, {"a": 6}],
    ids=["beat", "came", "began again"],
)
def test_whoever_beats_or_comes_is_named(later: Beats) -> None:
    found: list[Beats] = [{"a": 7}] * LOOKS
    replicas = Replicas(*found, later)
    with pytest.raises(BotError, match="in use by 1 running replica"):
        refuse_while_beating(replicas.look, replicas.sleep)


def test_one_that_stops_meanwhile_is_no_hindrance() -> None:
    replicas = Replicas({"a": 7}, {"a": 7}, {})
    assert refuse_while_beating(replicas.look, replicas.sleep) == {}


def test_the_look_is_long_enough_for_a_slow_replica() -> None:
    """It beats every two seconds and is taken for gone after ten."""
    look: Callable[[], Beats] = Replicas({"a": 1}, *[{"a": 1}] * 8, {"a": 2}).look
    with pytest.raises(BotError, match="stop the bot everywhere first"):
        refuse_while_beating(look, lambda _: None)
