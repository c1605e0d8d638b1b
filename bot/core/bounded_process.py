"""Work on untrusted bytes in a child process with memory and time limits.

A picture decoder takes as much memory as the file demands, and no header check covers every format.
So the work runs in a child process, one piece at a time. The kernel limits the child's address
space and processor time, and we limit its wall-clock time. If memory runs out anyway, the kernel
kills the child first. The child's memory is released when it ends.

    child = BoundedChild("bot.chat.pictures.decoder_process", Budget(...))
    answer = await child.run(data)

The module calls `serve` with a function from bytes to bytes. The child doesn't inherit our
environment, so the process that reads untrusted bytes has no secrets.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from bot.core import errors

ROOT = Path(__file__).parents[2]
"""The folder of the package `bot`."""

NICENESS = 10
"""The nice value: payers waiting for a page come before sellers waiting for a picture."""

HIGHEST_OOM_SCORE = "1000"
"""The highest `oom_score_adj` (proc(5))."""

OUT_OF_MEMORY = 3
"""The exit status of a child that ran out of memory."""

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a child."""

    memory: int
    """Bytes, in addition to the memory that the child uses before it reads anything."""
    processor: int
    """Seconds of processor time."""
    seconds: float
    """Wall-clock time."""
    answer: int
    """Bytes."""


PICTURE_BUDGET = Budget(memory=218 * MEGABYTE, processor=10, seconds=30.0, answer=4 * MEGABYTE)
"""The limits for decoding a picture. The largest accepted pictures need 200 MB, and four seconds if
they are progressive JPEGs."""


class BoundedChild:
    """Runs a module as a child process for each piece of work, one at a time."""

    def __init__(self, module: str, budget: Budget) -> None:
        self._module = module
        self._budget = budget
        self._turn = asyncio.Lock()

    async def run(self, data: bytes | bytearray, *words: str) -> bytes:
        """Return the child's answer to `data` and the arguments `words`.

        Cancelling the call kills the child. Raises OverBudget if the child fails or exceeds a
        limit, StorageError if no process can be started now.
        """
        async with self._turn:
            child = self._start(words)
            try:
                return await asyncio.to_thread(_exchange, child, data, self._budget)
            finally:
                child.kill()

    def _start(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        limits = (str(self._budget.memory), str(self._budget.processor))
        try:
            return subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", self._module, *limits, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=ROOT,
                env={"PYTHONPATH": str(ROOT)},
                start_new_session=True,  # Ctrl-C in a terminal reaches only the parent
            )
        except OSError as error:
            raise errors.StorageError(
                f"no child process can be started: {error.strerror}"
            ) from error


def _exchange(child: subprocess.Popen[bytes], data: bytes | bytearray, budget: Budget) -> bytes:
    """Send a child its work and return its answer. Raises OverBudget."""
    began = time.monotonic()
    timer = threading.Timer(budget.seconds, child.kill)
    timer.start()
    stdin, stdout = cast("IO[bytes]", child.stdin), cast("IO[bytes]", child.stdout)
    try:
        with child:
            with suppress(BrokenPipeError), stdin:  # the child has ended: its status says why
                stdin.write(data)
            answer = stdout.read(budget.answer + 1)
            if too_much := len(answer) > budget.answer:
                child.kill()
    finally:
        timer.cancel()
    if too_much:
        raise errors.OverBudget(f"an answer of more than {budget.answer} bytes")
    if child.returncode:
        raise errors.OverBudget(_reason(child.returncode, time.monotonic() - began, budget))
    return answer


def _reason(status: int, took: float, budget: Budget) -> str:
    """Return why a child failed, for the log."""
    if status == OUT_OF_MEMORY:
        return f"more than {budget.memory // MEGABYTE} MB of memory"
    if status == -signal.SIGXCPU:
        return f"more than {budget.processor} seconds of processor time"
    if status == -signal.SIGKILL and took >= budget.seconds:
        return f"no end within {budget.seconds:.0f} seconds"
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"


def serve(work: Callable[..., bytes]) -> None:
    """Apply `work` to standard input, within the limits given first on the command line.

    A module that BoundedChild starts calls this once its imports are loaded.
    """
    memory, processor, *words = sys.argv[1:]
    _set_limits(int(memory), int(processor))
    try:
        answer = work(sys.stdin.buffer.read(), *words)
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    sys.stdout.buffer.write(answer)


def _set_limits(memory: int, processor: int) -> None:
    """Permanently limit memory and processor time, and forbid files and core dumps."""
    os.nice(NICENESS)
    limits = {resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0}
    with suppress(OSError):  # refused if Python has file capabilities, as for a low port
        Path("/proc/self/oom_score_adj").write_text(HIGHEST_OOM_SCORE)
    with suppress(OSError):  # only Linux has it
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limits[resource.RLIMIT_AS] = pages * resource.getpagesize() + memory
    for kind, limit in limits.items():
        resource.setrlimit(kind, (limit, limit))
    # At the first limit the kernel sends SIGXCPU, which tells the reason; at the second, SIGKILL.
    resource.setrlimit(resource.RLIMIT_CPU, (processor, processor + 1))
