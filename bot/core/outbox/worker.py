"""The worker: claims the messages of a queue, handles them and waits, in a loop."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import structlog

from bot.core.errors import StorageError
from bot.core.outbox import lease_owners, leases, outbox

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.outbox import Message
    from bot.core.outbox.queue_policy import Queue

log = structlog.get_logger()

LONGEST_WAIT = 1.0
"""Seconds between two claims: other processes put messages too."""

DEAD_CHECK_SECONDS = 30.0
"""Seconds between two searches for leases of dead workers."""

RELEASE_SECONDS = 1.0
"""Seconds to release unfinished messages at a stop."""

CRASHED = "its attempts ended the process"
"""Note of a dead letter whose attempts all ended with their worker."""

STORAGE_PAUSE = 1_000
"""Milliseconds until the next attempt after the database could not be used."""


@dataclass(frozen=True, slots=True)
class Job:
    """A queue and its handler; `handle` settles each message in a transaction.

    `handle` raises StorageError only if nothing has been done yet: the outcome of a call that was
    made is settled by `Database.transaction_until_stored`. `buried` is called in
    the transaction in which the worker makes a message a dead letter. `room` messages are handled
    at once.
    """

    queue: Queue
    handle: Callable[[Message], Awaitable[None]]
    room: int = 8
    buried: Callable[[Transaction, Message], None] = field(default=lambda _tx, _message: None)


class Worker:
    """Performs one queue in this process; `now` in epoch ms."""

    def __init__(self, db: Database, job: Job, now: Callable[[], int]) -> None:
        self._db = db
        self._job = job
        self._now = now
        self._owner = lease_owners.register()
        self._wake = db.listen(job.queue.name)
        self._tasks: set[asyncio.Task[None]] = set()
        self._full = False
        self._checked_dead_at = 0.0
        self._stopping = False
        self._idle = asyncio.Event()
        self._idle.set()

    async def run(self) -> None:
        """Perform messages until `stop`; leases of dead workers are released first."""
        self._idle.clear()
        try:
            await self._recover()
            while not self._stopping:
                self._wake.clear()
                wait = await self._round()
                if not self._stopping and wait > 0:
                    await self._sleep(wait)
        finally:
            self._idle.set()
            if not self._stopping:
                lease_owners.unregister(self._owner)

    async def stop(self, patience: float) -> None:
        """Stop claiming, and wait up to `patience` seconds for the current messages.

        Those that have not finished by then are cancelled and released, for any worker to claim.
        """
        self._stopping = True
        self._wake.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._idle.wait()  # the current claim still starts tasks
                if self._tasks:
                    await asyncio.wait(self._tasks)
        try:
            if self._tasks:
                await self._release_unfinished()
        finally:
            lease_owners.unregister(self._owner)

    async def _release_unfinished(self) -> None:
        """Cancel the current messages and release them: a stop is no crash."""
        for task in self._tasks:
            task.cancel()
        queue = self._job.queue
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                await self._db.transaction(lambda tx: leases.release_own(tx, queue, self._owner))
        except (StorageError, TimeoutError) as error:  # the next start releases them
            log.debug("messages stay leased", queue=queue.name, reason=str(error))

    async def _recover(self) -> None:
        queue = self._job.queue
        while not self._stopping:
            try:
                await self._db.transaction(lambda tx: leases.recover(tx, queue, self._now()))
            except StorageError as error:
                log.debug("queue can't be read", queue=queue.name, reason=str(error))
                await self._sleep(LONGEST_WAIT)
            else:
                return

    async def _round(self) -> float:
        room = self._job.room - len(self._tasks)
        self._full = room <= 0
        if self._full:
            return LONGEST_WAIT
        elapsed = asyncio.get_running_loop().time()
        checks_dead = elapsed >= self._checked_dead_at + DEAD_CHECK_SECONDS
        self._checked_dead_at = elapsed if checks_dead else self._checked_dead_at
        try:
            messages, next_open, self._full = await self._db.transaction(
                lambda tx: self._claim(tx, room, checks_dead=checks_dead)
            )
        except StorageError as error:
            log.debug("queue can't be read", queue=self._job.queue.name, reason=str(error))
            await asyncio.sleep(LONGEST_WAIT)
            return 0
        except Exception:
            log.exception("queue can't be read", queue=self._job.queue.name)
            return LONGEST_WAIT
        for message in messages:
            task = asyncio.create_task(self._handle(message))
            self._tasks.add(task)
            task.add_done_callback(self._finished)
        if next_open is None:
            return LONGEST_WAIT
        return (next_open - self._now()) / 1000

    def _claim(
        self, tx: Transaction, room: int, *, checks_dead: bool
    ) -> tuple[list[Message], int | None, bool]:
        """Return the messages, when the next claim may find some, and whether a class is full."""
        now, queue = self._now(), self._job.queue
        if checks_dead:
            leases.release_dead(tx, queue)
        messages = outbox.claim(tx, queue, now, room, self._owner)
        next_open, is_full = outbox.next_claim(tx, queue, now)
        return messages, next_open, is_full

    async def _handle(self, message: Message) -> None:
        if message.crashes >= self._job.queue.crashes:
            log.error("message set aside", queue=self._job.queue.name, id=message.id, why=CRASHED)
            await self._set_aside(message, CRASHED)
            return
        try:
            await self._job.handle(message)
        except StorageError as error:
            log.debug("message waits", queue=self._job.queue.name, reason=str(error))
            await self._settle(message, self._release)
        except asyncio.CancelledError:
            if self._stopping:
                raise
            log.exception("message cancelled", queue=self._job.queue.name, id=message.id)
            await self._failed(message, "cancelled")
        except Exception as error:
            log.exception("message failed", queue=self._job.queue.name, id=message.id)
            await self._failed(message, type(error).__name__)

    async def _failed(self, message: Message, note: str) -> None:
        delay = self._job.queue.failures.delay(message.failures + 1)
        if delay is None:
            await self._set_aside(message, note)
            return
        due_at = self._now() + delay
        await self._settle(
            message, lambda tx, it: outbox.fail(tx, self._job.queue, it, due_at, note)
        )

    async def _set_aside(self, message: Message, note: str) -> None:
        """Make a message a dead letter and call `buried`; without it if that fails."""
        try:
            await self._db.transaction_until_stored(partial(self._bury, message=message, note=note))
        except Exception:
            log.exception("message buried alone", queue=self._job.queue.name, id=message.id)
            await self._settle(
                message,
                lambda tx, message: outbox.bury(tx, self._job.queue, message, self._now(), note),
            )

    async def _settle(
        self, message: Message, how: Callable[[Transaction, Message], object]
    ) -> None:
        try:
            await self._db.transaction_until_stored(lambda tx: how(tx, message))
        except Exception:
            log.exception("message stays leased", queue=self._job.queue.name, id=message.id)

    def _release(self, tx: Transaction, message: Message) -> None:
        outbox.release(tx, self._job.queue, message, self._now() + STORAGE_PAUSE)

    def _bury(self, tx: Transaction, message: Message, note: str) -> None:
        if outbox.bury(tx, self._job.queue, message, self._now(), note):
            self._job.buried(tx, message)

    def _finished(self, task: asyncio.Task[None]) -> None:
        """Wake the loop if messages waited for room; its own lane wakes it by itself."""
        self._tasks.discard(task)
        if self._full:
            self._wake.set()

    async def _sleep(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(min(seconds, LONGEST_WAIT)):
                await self._wake.wait()
        except TimeoutError:
            return
