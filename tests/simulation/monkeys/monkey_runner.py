"""Plays an hour in this process."""

from __future__ import annotations

import asyncio
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from bot.core.outbox import worker
from tests.simulation.monkeys import typed_words
from tests.simulation.monkeys.monkey_hour import Hour
from tests.simulation.monkeys.monkey_invariants import figures, problems
from tests.simulation.monkeys.monkey_product import opened
from tests.simulation.reached import bought, codes_given
from tests.simulation.schedule_runner import made_templates, own_folder
from tests.simulation.simulated_time import Loop, run_threads_in_loop, seeded_secrets

ALONE_SECONDS = 60.0
"""Between looks of a worker at what other processes put: there are none here."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was not as promised, empty where all was; what was done; and how much of it.

    `reached` counts what buyers got and chose, and what became of it.
    """

    problems: list[str]
    acts: list[str]
    figures: dict[str, int]
    reached: dict[str, int]


def play(seed: int, acts: int) -> Outcome:
    """Play the hour of this seed and look at what it left."""
    empty = made_templates().bot  # made before anything is drawn
    typed_words.photos()
    typed_words.documents()
    loop = Loop(seed)
    with (
        tempfile.TemporaryDirectory(dir=own_folder()) as folder,
        mock.patch.object(worker, "LONGEST_WAIT", ALONE_SECONDS),
        seeded_secrets(seed),
        asyncio.Runner(loop_factory=lambda: loop) as runner,
        run_threads_in_loop(loop),
    ):
        return runner.run(_played(Hour(seed, acts), Path(folder), empty))


async def _played(hour: Hour, folder: Path, empty: Path) -> Outcome:
    mode = "webhook" if hour.seed % 2 else "polling"
    failed: list[str] = []
    async with opened(folder, empty, mode) as product:
        try:
            await hour.play(product)
        except Exception:  # noqa: BLE001 - an hour that can't be played has failed
            failed.append(traceback.format_exc())
        failed += problems(product, hour)
        found = figures(product), codes_given(product.rows) | bought(product.rows)
        return Outcome([*failed, *product.errors], product.acts, *found)
