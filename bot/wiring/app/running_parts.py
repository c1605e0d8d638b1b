"""Workers and loops at work, which are started and stopped together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import structlog

from bot.core.errors import NoLongerLead

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from bot.core.database.database import Database
    from bot.core.outbox.worker import Job, Worker

log = structlog.get_logger()

CANCEL_SECONDS = 0.2
"""Seconds until a task that has not ended is cancelled once more."""


class RunningParts:
    """Parts at work; `failed` is called for each that ended by an error.

    A part that finds another replica to lead did not fail: it waits for its stop.
    """

    def __init__(
        self, make_worker: Callable[[Database, Job], Worker], failed: Callable[[], None]
    ) -> None:
        self.working: dict[str, asyncio.Task[None]] = {}
        self.closers: list[Callable[[], Awaitable[None]]] = []
        self._make_worker = make_worker
        self._failed = failed
        self._workers: list[Worker] = []
        self._loops: set[asyncio.Task[None]] = set()

    def work(self, db: Database, jobs: Sequence[Job]) -> None:
        """Start a worker for each job, whose transactions are those of `db`."""
        for job in jobs:
            worker = self._make_worker(db, job)
            self._workers.append(worker)
            self.working[job.queue.name] = self._watched(worker.run())

    def start(self, loop: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start what runs until it ends or is cancelled."""
        task = self._watched(loop)
        self._loops.add(task)
        task.add_done_callback(self._loops.discard)
        return task

    def ended(self) -> list[str]:
        """Return the names of the queues whose workers were ended; those of a lost lead return."""
        return [name for name, task in self.working.items() if task.done() and _was_ended(task)]

    async def stop(self, patience: float) -> None:
        """Cancel the loops, stop the workers within `patience` seconds, and close the rest.

        Idempotent: a stop that was cancelled can be repeated.
        """
        loops = [*self._loops]
        for loop in loops:
            loop.cancel()
        stops = (worker.stop(patience) for worker in self._workers)
        for outcome in await asyncio.gather(*stops, return_exceptions=True):
            self._note(outcome)
        await _cancel([*loops, *self.working.values()])
        for outcome in await asyncio.gather(*(c() for c in self.closers), return_exceptions=True):
            self._note(outcome)

    def _watched(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and self._note(task.exception()):
            self._failed()

    def _note(self, outcome: BaseException | None) -> bool:
        """Log an error; return whether it is one."""
        if outcome is None or isinstance(outcome, NoLongerLead | asyncio.CancelledError):
            return False
        log.error("a part of the application failed", exc_info=outcome)
        return True


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel tasks until all have ended: `asyncio.wait_for` loses a cancellation now and then."""
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=CANCEL_SECONDS)


def _was_ended(task: asyncio.Task[None]) -> bool:
    return task.cancelled() or task.exception() is not None
