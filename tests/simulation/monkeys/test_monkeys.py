"""An hour in which a hundred sellers press and type anything at any time: nothing goes wrong.

`make test-all ARGS="tests/simulation/monkeys -rP" MONKEY_SEED=7` plays one hour and prints what
was done in it; `MONKEY_ACTS=5000` lets more be done, `MONKEY_SEEDS=50` plays so many hours.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from itertools import repeat

import pytest

from tests.simulation.monkeys.monkey_runner import Outcome, play
from tests.simulation.schedule_runner import players

HOURS, ACTS = 2, 900
"""Hours in a build, one with polling and one with webhooks, and what is done in each."""

ONE = os.environ.get("MONKEY_SEED")
SEEDS = [int(ONE)] if ONE else list(range(int(os.environ.get("MONKEY_SEEDS") or HOURS)))
NUMBER = int(os.environ.get("MONKEY_ACTS") or ACTS)

LEAST = {
    "listings": 30, "payments": 20, "posts": 30, "presses": 200, "searches": 6, "shared": 2,
    "messages": 200, "edits": 100,
}  # fmt: skip
"""What happens at least in an hour that proves anything."""


SELDOM = {"several codes", "a code taken back"}
"""What is reached by the shops of tests/simulation/faults, and not surely in two hours."""


@pytest.mark.timeout(600)
def test_with_any_input_nothing_is_refused_stuck_unanswered_or_seen_by_others() -> None:
    """Together the hours reach all that buyers can get and sellers can do about payments."""
    reached: Counter[str] = Counter()
    with players(2) as pool:
        for seed, outcome in zip(SEEDS, pool.map(play, SEEDS, repeat(NUMBER)), strict=True):
            _check(seed, outcome)
            reached.update(outcome.reached)
    missed = {name for name, number in reached.items() if not number} - SELDOM
    assert not missed or NUMBER < ACTS or ONE, f"no hour reached {missed}: {reached}"


def _check(seed: int, outcome: Outcome) -> None:
    if ONE or outcome.problems:
        sys.stdout.write("\n".join([*outcome.acts, ""]))
    chosen = f"MONKEY_SEED={seed} MONKEY_ACTS={NUMBER}"
    again = f'make test-all ARGS="tests/simulation/monkeys -rP" {chosen}'
    assert not outcome.problems, "\n".join([*outcome.problems, f"once more: {again}"])
    scarce = {name: outcome.figures[name] for name in LEAST if outcome.figures[name] < LEAST[name]}
    assert not scarce or NUMBER < ACTS, f"too little happened: {scarce}"


def test_a_seed_gives_the_same_hour_each_time() -> None:
    with players(2) as pool:
        first, second = pool.map(play, [3, 3], [60, 60])
    assert first.acts == second.acts
