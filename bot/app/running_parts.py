"""Workers and loops that start and stop together, for a process or for each lead that it wins."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import structlog

from bot.core import errors
from bot.core.database import database
from bot.core.outbox import worker
from bot.core.replicas import replica

log = structlog.get_logger()

CANCEL_SECONDS = 0.2
"""Seconds until a task that has not ended is cancelled again."""


class RunningParts:
    """Running parts; `failed` is called for each part that ends with an error.

    If a part finds that another replica leads, it hasn't failed: it waits until it is stopped.
    """

    def __init__(
        self,
        make_worker: Callable[[database.Database, worker.QueueHandler], worker.Worker],
        failed: Callable[[], None],
    ) -> None:
        self.working: dict[str, asyncio.Task[None]] = {}
        self.closers: list[Callable[[], Awaitable[None]]] = []
        self._make_worker = make_worker
        self._failed = failed
        self._workers: list[worker.Worker] = []
        self._loops: set[asyncio.Task[None]] = set()

    def work(self, db: database.Database, queue_handlers: Sequence[worker.QueueHandler]) -> None:
        """Start a worker for each queue, whose transactions are those of `db`."""
        for queue_handler in queue_handlers:
            worker = self._make_worker(db, queue_handler)
            self._workers.append(worker)
            self.working[queue_handler.queue.name] = self._watched(worker.run())

    def start(self, loop: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a loop, which runs until it ends or is cancelled."""
        task = self._watched(loop)
        self._loops.add(task)
        task.add_done_callback(self._loops.discard)
        return task

    def ended(self) -> list[str]:
        """Return the queues whose workers ended with an error; workers of a lost lead return."""
        return [
            name
            for name, task in self.working.items()
            if task.done() and (task.cancelled() or task.exception() is not None)
        ]

    async def stop(self, patience: float) -> None:
        """Cancel the loops, stop the workers within `patience` seconds, and close the other parts.

        Idempotent: a stop that was cancelled can be repeated.
        """
        loops = [*self._loops]
        for loop in loops:
            loop.cancel()
        stops = (worker.stop(patience) for worker in self._workers)
        for outcome in await asyncio.gather(*stops, return_exceptions=True):
            self._note(outcome)
        # `asyncio.wait_for` sometimes loses a cancellation.
        while pending := [one for one in (*loops, *self.working.values()) if not one.done()]:
            for task in pending:
                task.cancel()
            await asyncio.wait(pending, timeout=CANCEL_SECONDS)
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
        """Log the outcome if it is an error; return True in that case."""
        if outcome is None or isinstance(outcome, errors.NoLongerLead | asyncio.CancelledError):
            return False
        log.error("a part of the application failed", exc_info=outcome)
        return True


LOST_PATIENCE = 0.5
"""Seconds for unfinished calls after the lead is lost; two seconds later another replica leads."""


class Leadership:
    """Runs the lead's parts whenever `election` is won.

    `begin` is called with the lead and a new set of parts, and starts them.
    """

    def __init__(
        self,
        election: replica.LeaderElection,
        begin: Callable[[database.WriteLease, RunningParts], None],
        parts: Callable[[], RunningParts],
    ) -> None:
        self.parts: RunningParts | None = None
        self._election = election
        self._begin = begin
        self._make_parts = parts
        self._task: asyncio.Task[None] | None = None

    @property
    def leads(self) -> bool:
        """True if this process leads."""
        return self.parts is not None

    def holds(self, lead: database.WriteLease) -> bool:
        """True if this process still holds a lead that it won."""
        return self._election.holds(lead)

    def ended(self) -> list[str]:
        """Return the lead's queues whose workers have ended before they were stopped."""
        return self.parts.ended() if self.parts is not None else []

    async def run(self) -> None:
        """Run the parts whenever the lead is won, until `stop`."""
        self._task = asyncio.current_task()
        while True:
            lead = await self._election.won()
            if lead.term:  # a single process has no election
                log.info("lead won", term=lead.term)
            self.parts = self._make_parts()
            self._begin(lead, self.parts)
            await self._election.lost.wait()
            log.warning("lead lost", term=lead.term)
            await self._end(LOST_PATIENCE)

    async def stop(self, patience: float) -> None:
        """Stop the lead's parts, and hand the lead over."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        try:
            await self._end(patience)
        finally:
            await self._election.hand_over()

    async def _end(self, patience: float) -> None:
        if self.parts is not None:
            await self.parts.stop(patience)
            self.parts = None
