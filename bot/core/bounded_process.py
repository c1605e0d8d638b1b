"""Work on strangers' bytes in a child process that is bounded in memory and time.

A decoder of pictures takes as much memory as the file asks for, and no check of a file's head holds
for every format. So the work is done by a process of its own, one at a time: the kernel bounds its
address space and its processor time, we bound its wall-clock time, and where memory runs out all
the same it is the first to be killed. Its memory is given back when it ends.

    child = BoundedChild("bot.chat.pictures.decoder_process", Budget(...))
    answer = await child.run(data)

The module calls `serve` with a function from bytes to bytes. It is started without our environment,
so no secret of ours is in the process that reads what strangers made.
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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from bot.core.errors import OverBudget, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
"""Where the package `bot` lies."""

NICENESS = 10
"""Others go first: nobody waits for a picture as a payer waits for a page."""

HIGHEST_OOM_SCORE = "1000"
"""The highest `oom_score_adj` (proc(5))."""

OUT_OF_MEMORY = 3
"""The exit status of a child whose memory was not enough."""

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Budget:
    """What a child may use, and the most bytes that it may answer.

    `memory` is in bytes, beyond what the child has before it reads anything; `processor` is in
    seconds of work, `seconds` in those of the wall clock.
    """

    memory: int
    processor: int
    seconds: float
    answer: int


PICTURE_BUDGET = Budget(memory=218 * MEGABYTE, processor=10, seconds=30.0, answer=4 * MEGABYTE)
"""For decoding a picture: the largest that are accepted need 200 MB and, as a progressive JPEG,
four seconds."""


class BoundedChild:
    """Runs a module as a child process for each piece of work, one at a time."""

    def __init__(self, module: str, budget: Budget) -> None:
        self._module = module
        self._budget = budget
        self._turn = asyncio.Lock()

    async def run(self, data: bytes | bytearray) -> bytes:
        """Return what the child answers to `data`; a cancelled call kills it.

        Raises OverBudget where it did not come to its end, StorageError where none can be started
        now.
        """
        async with self._turn:
            child = self._start()
            try:
                return await asyncio.to_thread(_exchange, child, data, self._budget)
            finally:
                child.kill()

    def _start(self) -> subprocess.Popen[bytes]:
        limits = (str(self._budget.memory), str(self._budget.processor))
        try:
            return subprocess.Popen(  # noqa: S603 - a module of ours, named by us
                [sys.executable, "-m", self._module, *limits],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=ROOT,
                env={"PYTHONPATH": str(ROOT)},
                start_new_session=True,  # a terminal's Ctrl-C is for us
            )
        except OSError as error:
            raise StorageError(f"no child process can be started: {error.strerror}") from error


def _exchange(child: subprocess.Popen[bytes], data: bytes | bytearray, budget: Budget) -> bytes:
    """Send a child its work and return its answer; raises OverBudget."""
    began = time.monotonic()
    timer = threading.Timer(budget.seconds, child.kill)
    timer.start()
    stdin, stdout = cast("IO[bytes]", child.stdin), cast("IO[bytes]", child.stdout)
    try:
        with child:
            with suppress(BrokenPipeError), stdin:  # a child that is gone: its status says why
                stdin.write(data)
            answer = stdout.read(budget.answer + 1)
            if too_much := len(answer) > budget.answer:
                child.kill()
    finally:
        timer.cancel()
    if too_much:
        raise OverBudget(f"an answer of more than {budget.answer} bytes")
    if child.returncode:
        raise OverBudget(_reason(child.returncode, time.monotonic() - began, budget))
    return answer


def _reason(status: int, took: float, budget: Budget) -> str:
    """Return why a child did not come to its end, for the log."""
    if status == OUT_OF_MEMORY:
        return f"more than {budget.memory // MEGABYTE} MB of memory"
    if status == -signal.SIGXCPU:
        return f"more than {budget.processor} seconds of processor time"
    if status == -signal.SIGKILL and took >= budget.seconds:
        return f"no end within {budget.seconds:.0f} seconds"
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"


def serve(work: Callable[[bytes], bytes]) -> None:
    """Answer what stands at the standard input, within the limits of the command line.

    To be called by the module that a BoundedChild starts, once it has loaded what it works with.
    """
    memory, processor = map(int, sys.argv[1:])
    _set_limits(memory, processor)
    try:
        answer = work(sys.stdin.buffer.read())
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    sys.stdout.buffer.write(answer)


def _set_limits(memory: int, processor: int) -> None:
    """Bound this process for good; nothing is written to files, nor dumped."""
    os.nice(NICENESS)
    limits = {resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0}
    with suppress(OSError):  # not where Python has file capabilities, as for a low port
        Path("/proc/self/oom_score_adj").write_text(HIGHEST_OOM_SCORE)
    with suppress(OSError):  # only Linux says how much there is
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limits[resource.RLIMIT_AS] = pages * resource.getpagesize() + memory
    for kind, limit in limits.items():
        resource.setrlimit(kind, (limit, limit))
    # Beyond the first SIGXCPU comes, which says why; beyond the second SIGKILL.
    resource.setrlimit(resource.RLIMIT_CPU, (processor, processor + 1))
