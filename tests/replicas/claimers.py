"""The harness's side of claimers: processes that share a queue, and what they claimed."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
import time
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.replicas.claimer import Order
from tests.replicas.cluster import rows
from tests.support.paths import ROOT

LONGEST_LINE = 2**26
PUT_SECONDS = 300.0
STUCK_SECONDS = 3.0
"""Seconds without any progress after which what is left is stuck."""

LOOK_SECONDS = 0.1
PROGRESS = "SELECT COUNT(*), MAX(id), SUM(attempts) FROM outbox"


@dataclass(frozen=True, slots=True)
class Claimed:
    """The words that each claimer has claimed, and how many messages nobody could claim."""

    words: list[list[str]]
    stuck: int

    @property
    def messages(self) -> int:
        return len(self._times())

    @property
    def twice(self) -> int:
        return sum(times > 1 for times in self._times().values())

    def _times(self) -> Counter[str]:
        return Counter(word for words in self.words for word in words)


async def claimed(orders: Sequence[Order]) -> Claimed:
    """Run claimers until all that they put has been claimed, or nothing moves any more."""
    processes = [await _start(order) for order in orders]
    try:
        async with asyncio.timeout(PUT_SECONDS):
            await asyncio.gather(*(_line(process) for process in processes))
        stuck = await _until_done(orders[0].database)
        return Claimed([await _end(process) for process in processes], stuck)
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def _start(order: Order) -> Process:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.replicas.claimer"),
        cwd=ROOT,
        limit=LONGEST_LINE,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin
    process.stdin.write(json.dumps(dataclasses.asdict(order)).encode() + b"\n")
    return process


async def _until_done(database: str) -> int:
    """Wait until the queue has been worked off, or stands still; return what is left."""
    seen, since = [(-1, None, None)], time.monotonic()
    while seen[0][0] and time.monotonic() < since + STUCK_SECONDS:
        now = await asyncio.to_thread(rows, database, PROGRESS)
        if now != seen:
            seen, since = now, time.monotonic()
        await asyncio.sleep(LOOK_SECONDS)
    return int(seen[0][0])


async def _end(process: Process) -> list[str]:
    """Close a claimer's orders; return what it has claimed."""
    assert process.stdin
    process.stdin.close()
    words: list[str] = await _line(process)
    await process.wait()
    return words


async def _line(process: Process) -> Any:
    assert process.stdout
    line = await process.stdout.readline()
    if not line:
        raise RuntimeError("a claimer has ended: its error is above")
    return json.loads(line)
