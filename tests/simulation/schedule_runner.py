"""Plays schedules: here, or in processes of their own."""

from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import os
import tempfile
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest import mock

from tests.simulation.faults.fault_invariants import problems
from tests.simulation.faults.fault_schedule import Schedule
from tests.simulation.faults.faulty_product import opened
from tests.simulation.product_templates import Templates, templates
from tests.simulation.simulated_time import Loop, run_threads_in_loop, seeded_secrets
from tests.support.postgres_server import OwnFolder


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was not as promised, empty where all was, and the whole story of how it came.

    `reached` counts what happened on the way.
    """

    problems: list[str]
    story: list[str]
    reached: dict[str, int]


def play(seed: int, kind: type[Schedule] = Schedule) -> Outcome:
    """Play the schedule of this seed and kind, and look at what it left."""
    made_templates()  # made before anything is drawn
    loop = Loop(seed)
    with (
        tempfile.TemporaryDirectory(dir=own_folder()) as folder,
        seeded_secrets(seed),
        asyncio.Runner(loop_factory=lambda: loop) as runner,
        run_threads_in_loop(loop),
    ):
        return runner.run(_played(kind(seed), Path(folder)))


async def _played(schedule: Schedule, folder: Path) -> Outcome:
    failed: list[str] = []
    made = made_templates()
    async with opened(schedule.seed, folder, made, schedule.conditions, schedule.kind) as product:
        try:
            await schedule.play(product)
        except Exception:  # noqa: BLE001 - a schedule that can't be played has failed
            failed.append(traceback.format_exc())
    with product:
        found = [*failed, *problems(product, schedule)]
        return Outcome(found, product.story, schedule.reached(product))


@contextmanager
def players(number: int = 1) -> Iterator[ProcessPoolExecutor]:
    """Start processes that play; pytest-xdist's workers already share the schedules out."""
    # The order of a set is part of the course of events.
    same = mock.patch.dict(os.environ, PYTHONHASHSEED="0")
    context = multiprocessing.get_context("spawn")
    with same, ProcessPoolExecutor(number, mp_context=context, initializer=_settle) as pool:
        yield pool


def _settle() -> None:
    """Keep the garbage collector from what was imported: it is the same for each schedule.

    What was imported is not looked through for garbage.
    """
    logging.getLogger("telegram").setLevel(logging.CRITICAL)  # as configure_logging does
    gc.collect()
    gc.freeze()


@cache
def own_folder() -> Path:
    """Make a folder for this process, which goes with it.

    It is in memory: databases need not wait for a disk, and a part that dies here leaves its files
    whole.
    """
    return OwnFolder("faults-").path


@cache
def made_templates() -> Templates:
    return templates(own_folder())
