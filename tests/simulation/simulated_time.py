"""Time for the schedules: an event loop that skips waiting, and a clock that can be set.

Where nothing is ready and nothing is on its way, the loop does not wait for its next timer but
goes on as if the time had passed: an answer that comes after 20 seconds costs none. What is meant
for a thread, such as a transaction, is done by the loop after a moment drawn by the seed, so that
other things happen in between. So one seed gives one course of events, however busy the machine is.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import selectors
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any
from unittest import mock

from bot.core.database import sqlite_writer

NOON = 1_800_000_000_000  # 2027-01-15T08:00:00Z
COMMIT, STALL, STALLS = 0.003, 0.3, 0.05
"""Seconds that a disk takes on average, those that it takes at worst, and how often it does."""


class _Skipping(selectors.DefaultSelector):
    """Never waits for a timer: tells `skip` how long it would have taken."""

    skip: Callable[[float], None]

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            return super().select()
        ready = super().select(0)
        if not ready and timeout > 0:
            self.skip(timeout)
        return ready


class Loop(asyncio.SelectorEventLoop):
    """The event loop of one schedule; its time begins at 0.

    `witness` is called after each job that was meant for a thread, before anybody hears of it.
    """

    witness: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, seed: int) -> None:
        self._passed = 0.0
        self._chance = Random(f"{seed}/loop")
        self._jobs: dict[int, deque[_Job]] = {}
        selector = _Skipping()
        selector.skip = self._skip
        super().__init__(selector)

    def time(self) -> float:
        return self._passed

    def _skip(self, seconds: float) -> None:
        self._passed += seconds

    def take(self, executor: ThreadPoolExecutor, work: Callable[[], Any]) -> Future[Any]:
        """Run what is meant for a thread of `executor`, in its turn.

        A job that the executor's end came before is never run.
        """
        if executor._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
        jobs = self._jobs.setdefault(id(executor), deque())
        jobs.append(_Job(executor, work))
        if len(jobs) == 1:
            self.call_later(self._moment(), self._work, jobs)
        return jobs[-1].future

    def run_pending(self) -> None:
        """Run all that was taken: somebody waits for it and stops the loop meanwhile."""
        for jobs in self._jobs.values():
            while jobs:
                jobs.popleft().run()

    def _work(self, jobs: deque[_Job]) -> None:
        if jobs:
            jobs.popleft().run()
            self.witness()
        if jobs:
            self.call_later(self._moment(), self._work, jobs)

    def _moment(self) -> float:
        stalls = self._chance.random() < STALLS
        return self._chance.uniform(0, STALL) if stalls else self._chance.expovariate(1 / COMMIT)


@dataclass(frozen=True, slots=True)
class _Job:
    """What is meant for a thread, and where its result is told."""

    executor: ThreadPoolExecutor
    work: Callable[[], Any]
    future: Future[Any] = field(default_factory=Future)

    def run(self) -> None:
        if self.executor._shutdown or not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self.work()
        except Exception as error:  # noqa: BLE001 - whatever it is goes to who waits
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


@contextmanager
def run_threads_in_loop(loop: Loop) -> Iterator[None]:
    """Run the threads' work in the loop, so that the loop knows when nothing is under way."""
    result = Future.result

    def submit(
        self: ThreadPoolExecutor, work: Callable[..., Any], /, *args: Any, **more: Any
    ) -> Future[Any]:
        return loop.take(self, partial(work, *args, **more))

    def waited(self: Future[Any], timeout: float | None = None) -> Any:
        if not self.done():
            loop.run_pending()
        return result(self, timeout)

    with (
        mock.patch.object(ThreadPoolExecutor, "submit", submit),
        mock.patch.object(Future, "result", waited),
        mock.patch.object(sqlite_writer, "TURN_SECONDS", math.inf),  # statements take no time here
    ):
        yield


class Clock:
    """The wall clock of the parts, in epoch ms: the loop's time and leaps."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._leapt = 0

    def __call__(self) -> int:
        return NOON + self._leapt + int(self._loop.time() * 1000)

    def seconds(self) -> float:
        """Return the sandbox's time in seconds."""
        return self() / 1000

    def leap(self, until: int) -> None:
        """Move the clock to `until`, unless that is past."""
        self._leapt += max(0, until - self())


@contextmanager
def seeded_secrets(seed: int) -> Iterator[None]:
    """Draw the product's ids, tokens and jitter from the seed too."""
    chance = Random(f"{seed}/secrets")
    with (
        mock.patch.object(secrets, "token_bytes", lambda n=32: chance.randbytes(n)),
        mock.patch.object(secrets, "randbelow", chance.randrange),
        mock.patch.object(secrets, "randbits", chance.getrandbits),
    ):
        yield
