"""A hundred and twenty schedules in which the network fails and parts die.

No payment is lost, no second alert is unmarked, and no alert is out of order.

`make test-all ARGS="tests/simulation/faults -rP" FAULT_SEED=7` plays the one of seed 7 and prints
its story, `make test-all ARGS=tests/simulation/faults FAULT_SEEDS=5000` plays the first 5,000.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.simulation.schedule_runner import play, players

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import ProcessPoolExecutor

MOST = 120
"""Schedules in a build."""

ONE = os.environ.get("FAULT_SEED")
SEEDS = [int(ONE)] if ONE else list(range(int(os.environ.get("FAULT_SEEDS") or MOST)))


@pytest.fixture(scope="module")
def player() -> Iterator[ProcessPoolExecutor]:
    with players() as pool:
        yield pool


@pytest.mark.parametrize("seed", SEEDS)
def test_with_any_faults_each_payment_has_one_alert_in_order(
    seed: int, player: ProcessPoolExecutor
) -> None:
    outcome = player.submit(play, seed).result()
    if ONE or outcome.problems:
        sys.stdout.write("\n".join([*outcome.story, ""]))
    again = f'make test-all ARGS="tests/simulation/faults -rP" FAULT_SEED={seed}'
    assert not outcome.problems, "\n".join([*outcome.problems, f"once more: {again}"])
