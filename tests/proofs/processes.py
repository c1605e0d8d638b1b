"""Processes of the proofs: helpers that talk in lines of JSON, and what memory processes take."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.source_tree import ROOT

LONGEST_LINE = 2**26
END_SECONDS = 10.0
EVERY = 0.2
PROC = Path("/proc")
FIRST, SECOND = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
"""Where the files of memory cgroups are, of version 1 and 2."""


@dataclass(frozen=True, slots=True)
class Helper:
    """A page of this folder as a process: it is told, and tells, in lines of JSON."""

    page: str
    process: Process

    def tell(self, told: object) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(told).encode() + b"\n")

    async def line(self) -> Any:
        """Return the next line that it writes. Raises RuntimeError if it has ended."""
        assert self.process.stdout
        line = await self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.page} has ended: its error is above")
        return json.loads(line)

    def close(self) -> None:
        """Ask it to end, by closing its standard input; it also ends when this process dies."""
        assert self.process.stdin
        self.process.stdin.close()


@asynccontextmanager
async def helper(page: str, *arguments: str) -> AsyncIterator[Helper]:
    """Run a page of this folder as a process until the block ends."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"tests.proofs.{page}", *arguments),
        cwd=ROOT,
        limit=LONGEST_LINE,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    found = Helper(page, process)
    try:
        yield found
    finally:
        found.close()
        try:
            async with asyncio.timeout(END_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def orders() -> asyncio.StreamReader:
    """Return the standard input of a helper, to be read without blocking."""
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    return reader


def answer(told: object) -> None:
    """Write a line of a helper."""
    os.write(1, json.dumps(told).encode() + b"\n")


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


@dataclass(frozen=True, slots=True)
class Cgroup:
    """A memory cgroup of version 1, if it is the `first`, or 2."""

    folder: Path
    first: bool

    def take(self, pid: int) -> None:
        """Count the memory of a process, and of all that it starts from now on."""
        (self.folder / "cgroup.procs").write_text(f"{pid}")

    @property
    def used(self) -> int:
        """Return the bytes that belong to processes and cannot be reclaimed."""
        name = "total_rss" if self.first else "anon"
        lines = (self.folder / "memory.stat").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.split()[0] == name)

    @property
    def kills(self) -> int:
        """Return how often the kernel has killed a process of the group."""
        name = "memory.oom_control" if self.first else "memory.events"
        lines = (self.folder / name).read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.split()[0] == "oom_kill")

    def remove(self) -> None:
        """Remove it; its processes have ended."""
        self.folder.rmdir()


def new_cgroup(limit: int) -> Cgroup | None:
    """Make one of so many bytes; None, with a word, if that is not allowed."""
    first = (FIRST / "memory.limit_in_bytes").exists()
    folder = (FIRST if first else SECOND) / f"proof-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(limit))
    except OSError as error:
        told = f"no memory cgroup can be made ({error.strerror}): memory is measured, not bounded"
        sys.stderr.write(f"{told}\n")
        return None
    return Cgroup(folder, first)
