"""Schedules in which the network fails and parts die, and those of the product in one process.

No payment is lost, no second alert is unmarked, and no alert is out of order.

`make test-all ARGS="tests/simulation/faults -rP" FAULT_SEED=7` plays the one of seed 7 and prints
its story, `make test-all ARGS=tests/simulation/faults FAULT_SEEDS=5000` plays the first 5,000.
`WHOLE_SEED` and `WHOLE_SEEDS` are those of the product in one process.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.simulation.faults.whole_schedule import WholeSchedule
from tests.simulation.schedule_runner import play, players

MOST, WHOLE = 60, 6
"""Schedules in a build, and those of the product in one process."""

ONE = os.environ.get("FAULT_SEED")
SEEDS = [int(ONE)] if ONE else list(range(int(os.environ.get("FAULT_SEEDS") or MOST)))
WHOLE_ONE = os.environ.get("WHOLE_SEED")
WHOLE_SEEDS = range(int(os.environ.get("WHOLE_SEEDS") or WHOLE))


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


@pytest.mark.timeout(600)
def test_in_one_process_each_payment_has_one_alert_and_each_unit_its_code(
    player: ProcessPoolExecutor,
) -> None:
    """Units, codes and money balance, and the receipts say the same, in the chat and on the page.

    Together the schedules reach everything that may happen to a shop.
    """
    reached: Counter[str] = Counter()
    for seed in [int(WHOLE_ONE)] if WHOLE_ONE else WHOLE_SEEDS:
        outcome = player.submit(play, seed, WholeSchedule).result()
        if WHOLE_ONE or outcome.problems:
            sys.stdout.write("\n".join([*outcome.story, ""]))
        again = f'make test-all ARGS="tests/simulation/faults -rP" WHOLE_SEED={seed}'
        assert not outcome.problems, "\n".join([*outcome.problems, f"once more: {again}"])
        reached.update(outcome.reached)
    missed = [name for name, number in reached.items() if not number]
    assert not missed or WHOLE_ONE, f"no schedule reached {missed}: {reached}"
