"""The memory and handles of a process with its children, and the peak."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

EVERY = 0.2
PROC = Path("/proc")


def resident(pid: int) -> float:
    """Return the resident memory of a process and its children in MiB; 0 of one that has gone."""
    return sum(_kib(each, "VmRSS:") for each in family(pid)) / 1024


def handles(pid: int) -> int:
    """Return how many file handles a process and its children have open."""
    return sum(len(list((PROC / str(each) / "fd").iterdir())) for each in family(pid))


def family(pid: int) -> Iterator[int]:
    """Yield a process and everything that it has started."""
    yield pid
    for task in (PROC / str(pid) / "task").glob("*/children"):
        with suppress(OSError):
            for child in task.read_text().split():
                yield from family(int(child))


def _kib(pid: int, name: str) -> int:
    with suppress(OSError):
        for line in (PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1])
    return 0


@dataclass(slots=True)
class Peak:
    """The most memory seen of a process, in MiB, and what it held before."""

    pid: int
    before: float = 0.0
    most: float = field(default=0.0)

    def look(self) -> None:
        """Look once; the kernel knows of peaks between two looks."""
        highest = _kib(self.pid, "VmHWM:") / 1024
        self.most = max(self.most, resident(self.pid), highest)


@asynccontextmanager
async def peak(pid: int) -> AsyncIterator[Peak]:
    """Watch a process during the block."""
    found = Peak(pid, resident(pid))
    (PROC / str(pid) / "clear_refs").write_text("5")  # the kernel's own peak begins anew

    async def watch() -> None:
        while True:
            found.look()
            await asyncio.sleep(EVERY)

    watching = asyncio.create_task(watch())
    try:
        yield found
    finally:
        watching.cancel()
        found.look()
