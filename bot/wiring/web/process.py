"""Settings of the process: memory, open files, threads, signals."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import resource
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIGNALS = (signal.SIGTERM, signal.SIGINT)

SWITCH_SECONDS = 0.0005
"""A tenth of Python's own interval."""

MOST_FILES = 65_536
"""Open files that we ask for, as each connection is one; the usual limit is 1,024."""

M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
"""Parameters of glibc's mallopt(3)."""

ARENAS = 1
"""Heaps of the process. Nearly all allocations happen under the interpreter's lock: heaps of their
own gain threads nothing, and each keeps the most memory that its thread ever needed."""

MAPPED_BYTES = 256 * 1024
"""From this size on an allocation is a mapping of its own, which is returned when it is freed."""


def shorten_switch_interval() -> None:
    """Shorten the time for which a busy thread keeps the interpreter from others.

    A reader's and the writer's thread release it at each call of SQLite, and would then wait for a
    whole interval of the event loop's thread.
    """
    sys.setswitchinterval(SWITCH_SECONDS)


def freeze_memory() -> None:
    """Hide all present objects from the garbage collector: they live as long as the process.

    Otherwise each full collection, several a minute under load, examines them all and stops the
    process for a tenth of a second. For the same reason nothing is collected here: a start leaves
    hardly any garbage.
    """
    gc.freeze()


def return_freed_memory() -> None:
    """Set glibc to return the memory of peaks; other allocators stay as they are.

    Call it before the process starts its first thread.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, ARENAS)
        mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES)


def raise_file_limit() -> None:
    """Raise the limit of open files as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextlib.contextmanager
def stop_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on SIGTERM and SIGINT while the block runs."""
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
