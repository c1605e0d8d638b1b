"""The worker: a loop that claims the messages of a queue, handles them and waits."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import structlog

from bot.core import errors
from bot.core.database import database
from bot.core.outbox import claiming, lanes, leases, outbox, queue_policy

log = structlog.get_logger()
T = TypeVar("T")

LONGEST_WAIT = 1.0
"""The most seconds between two claims, because other processes also put messages."""

LOCKED_PAUSE = 0.02
"""Seconds until the next claim if other transactions have locked all open lanes."""

RELEASE_SECONDS = 1.0
"""Seconds to release unfinished messages during a stop."""

CRASHED = "its attempts ended the process"
"""Note of a dead letter whose attempts all ended with the death of their worker."""

BATCH_SECONDS = 1.0
"""Seconds after which a batch ends early, so that a slow receiver holds few messages."""

STORAGE_PAUSE = 1_000
"""Milliseconds until the next attempt if the database could not be used."""


@dataclass(frozen=True, slots=True)
class QueueHandler:
    """A queue and its handler."""

    queue: queue_policy.Queue

    handle: Callable[[outbox.Message], Awaitable[Awaitable[None] | None]]
    """Handles a message and settles it in a transaction. It may return an awaitable that stores the
    outcome while the next message of a batch is handled. It may raise StorageError only if nothing
    has been done yet: `Database.transaction_until_stored` stores the outcome of a completed
    call."""

    concurrency: int = 8
    """Messages or batches that are handled concurrently."""

    on_dead_letter: Callable[[database.Transaction, outbox.Message], None] = field(
        default=lambda _tx, _message: None
    )
    """Called in the transaction in which the worker makes a message a dead letter."""

    ahead: int = 0
    """Messages are claimed up to this many ms before they may go; `handle` waits for the slots."""

    pause: float = 0.0
    """Seconds from a claim that found messages to the next claim, so that a claim finds several
    messages under load. The first message of an idle queue is claimed immediately."""


class Worker:
    """Processes one queue in this process; `now` returns epoch ms.

    It stops by itself once its transactions raise NoLongerLead.
    """

    def __init__(
        self,
        db: database.Database,
        handler: QueueHandler,
        now: Callable[[], int],
        owners: leases.Owners = leases.LOCAL,
    ) -> None:
        self._db = db
        self._handler = handler
        self._queue = handler.queue
        self._now = now
        self._owners = owners
        self._key = owners.register()
        self._owner = ""
        self._wake = db.listen(handler.queue.name)
        self._tasks: dict[asyncio.Task[None], str] = {}  # with their leases
        self._full = False
        self._rests_until = 0  # epoch ms
        self._checked_dead_at = 0.0  # by the loop's clock, like the next line
        self._pauses_until = 0.0
        self._stopping = False
        self._idle = asyncio.Event()
        self._idle.set()

    async def run(self) -> None:
        """Process messages until `stop`; first release the leases of dead workers."""
        self._idle.clear()
        try:
            await self._recover()
            while not self._stopping:
                self._wake.clear()
                wait = await self._round()
                if not self._stopping and wait > 0:
                    await self._sleep(wait)
                    pause = self._pauses_until - asyncio.get_running_loop().time()
                    if pause > 0 and not self._stopping:
                        await asyncio.sleep(pause)
                await self._rest()
        except errors.NoLongerLead as error:  # another replica now has the messages
            log.debug("queue is another's", queue=self._queue.name, reason=str(error))
            self._stopping = True
            for task in self._tasks:
                task.cancel()
            self._owners.unregister(self._key)
        finally:
            self._idle.set()
            if not self._stopping:
                self._owners.unregister(self._key)

    async def _rest(self) -> None:
        """Wait while the rate limit allows no claim, even if messages are put."""
        if not self._rests_until:
            return
        loop = asyncio.get_running_loop()
        until = loop.time() + min((self._rests_until - self._now()) / 1000, LONGEST_WAIT)
        while not self._stopping and (rest := until - loop.time()) > 0:
            self._wake.clear()
            await self._sleep(rest)

    async def stop(self, patience: float) -> None:
        """Stop claiming, and wait up to `patience` seconds for the current messages.

        Messages that are still unfinished are cancelled and released.
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
            self._owners.unregister(self._key)

    async def _release_unfinished(self) -> None:
        """Cancel and release the current messages without counting a crash."""
        for task in self._tasks:
            task.cancel()
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                await self._db.transaction(
                    lambda tx: leases.release_own(tx, self._queue, self._owner)
                )
        except (errors.StorageError, errors.NoLongerLead, TimeoutError) as error:
            # The next start releases them.
            log.debug("messages stay leased", queue=self._queue.name, reason=str(error))

    async def _recover(self) -> None:
        while not self._stopping:
            try:
                await self._db.transaction(
                    lambda tx: leases.recover(tx, self._queue, self._now(), self._owners)
                )
            except errors.StorageError as error:
                log.debug("queue can't be read", queue=self._queue.name, reason=str(error))
                await self._sleep(LONGEST_WAIT)
            else:
                return

    async def _round(self) -> float:
        """Claim messages and start handling them; return the seconds until the next claim."""
        room = self._handler.concurrency - len(self._tasks)
        name = self._owners.name_of(self._key)
        self._full = room <= 0
        if self._full or name is None:
            return LONGEST_WAIT
        self._owner = name
        elapsed = asyncio.get_running_loop().time()
        checks_dead = elapsed >= self._checked_dead_at + self._owners.search_seconds
        self._checked_dead_at = elapsed if checks_dead else self._checked_dead_at
        held = frozenset(self._tasks.values()) if checks_dead else None
        try:
            messages, coming = await self._db.transaction(lambda tx: self._claim(tx, room, held))
        except errors.NoLongerLead:
            raise
        except errors.StorageError as error:
            log.debug("queue can't be read", queue=self._queue.name, reason=str(error))
            await asyncio.sleep(LONGEST_WAIT)
            return 0
        except Exception:
            log.exception("queue can't be read", queue=self._queue.name)
            return LONGEST_WAIT
        if messages:
            self._pauses_until = elapsed + self._handler.pause
        for lease, batch in itertools.groupby(messages, key=lambda message: message.lease):
            task = asyncio.create_task(self._handle_batch([*batch]))
            self._tasks[task] = lease
            task.add_done_callback(self._finished)
        self._full, self._rests_until = coming.is_full, coming.rests_until
        if coming.at is None:
            return LONGEST_WAIT
        wait = (coming.at - self._now()) / 1000
        return wait if messages else max(wait, LOCKED_PAUSE)

    def _claim(
        self, tx: database.Transaction, room: int, held: frozenset[str] | None
    ) -> tuple[list[outbox.Message], claiming.NextClaim]:
        """Return claimed messages, and when the next claim may find more.

        If `held` is given (the leases held here), also release the leases of dead workers, and this
        worker's leases from claims that were committed but whose answer was lost.
        """
        queue = self._queue
        lanes.lock_paces(tx, queue)
        now = self._now()  # not earlier: after waiting for the lock, one message too many could go
        if held is not None:
            leases.release_dead(tx, queue, now, self._owners)
            leases.release_own(tx, queue, self._owner, keep=held)
        leases.release_expired(tx, queue, now, self._owners)
        ahead = self._handler.ahead
        messages = outbox.claim(tx, queue, now, room, self._owner, ahead=ahead)
        return messages, claiming.next_claim(tx, queue, now, ahead)

    async def _handle_batch(self, batch: list[outbox.Message]) -> None:
        """Handle messages one after another while time remains; give the rest back.

        A message that a crash left uncertain is handled alone: it may be the cause.
        """
        until = asyncio.get_running_loop().time() + BATCH_SECONDS
        storing: list[tuple[outbox.Message, Awaitable[None]]] = []
        for place, message in enumerate(batch):
            is_alone = message.uncertain or batch[place - 1].uncertain
            is_late = self._stopping or asyncio.get_running_loop().time() >= until
            if place and (is_alone or is_late):
                await self._store(message, partial(self._give_back, batch[place:]))
                break
            stored = await self._guard(message, self._handle(message))
            if stored is not None:
                storing.append((message, stored))
        for message, stored in storing:
            await self._guard(message, stored)

    def _give_back(self, messages: list[outbox.Message], tx: database.Transaction) -> None:
        for message in messages:
            outbox.release(tx, self._queue, message)

    async def _handle(self, message: outbox.Message) -> Awaitable[None] | None:
        if message.crashes < self._queue.max_crashes:
            return await self._handler.handle(message)
        log.error("message set aside", queue=self._queue.name, id=message.id, why=CRASHED)
        await self._set_aside(message, CRASHED)
        return None

    async def _guard(self, message: outbox.Message, work: Awaitable[T]) -> T | None:
        """Await a step of handling a message; settle the message if the step raises."""
        try:
            return await work
        except errors.NoLongerLead as error:
            log.debug("message is another's", queue=self._queue.name, reason=str(error))
        except errors.StorageError as error:
            log.debug("message waits", queue=self._queue.name, reason=str(error))
            await self._store(
                message,
                lambda tx: outbox.release(tx, self._queue, message, self._now() + STORAGE_PAUSE),
            )
        except asyncio.CancelledError:
            if self._stopping:
                raise
            log.exception("message cancelled", queue=self._queue.name, id=message.id)
            await self._failed(message, "cancelled")
        except Exception as error:
            log.exception("message failed", queue=self._queue.name, id=message.id)
            await self._failed(message, type(error).__name__)
        return None

    async def _failed(self, message: outbox.Message, note: str) -> None:
        delay = self._queue.failures.delay(message.failures + 1)
        if delay is None:
            await self._set_aside(message, note)
        else:
            due_at = self._now() + delay
            await self._store(
                message, lambda tx: outbox.fail(tx, self._queue, message, due_at, note)
            )

    async def _set_aside(self, message: outbox.Message, note: str) -> None:
        """Dead-letter a message and call `on_dead_letter`; if the call raises, omit it."""

        def dead_letter(tx: database.Transaction) -> bool:
            return outbox.dead_letter(tx, self._queue, message, self._now(), note)

        def dead_letter_and_call(tx: database.Transaction) -> None:
            if dead_letter(tx):
                self._handler.on_dead_letter(tx, message)

        if not await self._store(message, dead_letter_and_call, "message buried alone"):
            await self._store(message, dead_letter)

    async def _store(
        self,
        message: outbox.Message,
        change: Callable[[database.Transaction], object],
        failed_event: str = "message stays leased",
    ) -> bool:
        """Store how the lease of a message ends; return False if `change` raised an error."""
        try:
            await self._db.transaction_until_stored(change)
        except errors.NoLongerLead as error:
            log.debug("message is another's", queue=self._queue.name, reason=str(error))
        except Exception:
            log.exception(failed_event, queue=self._queue.name, id=message.id)
            return False
        return True

    def _finished(self, task: asyncio.Task[None]) -> None:
        """Wake the loop if messages wait for room; the end of the lease wakes it for the lane."""
        del self._tasks[task]
        if self._full:
            self._wake.set()

    async def _sleep(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(min(seconds, LONGEST_WAIT)):
                await self._wake.wait()
        except TimeoutError:
            return


async def sweep(db: database.Database, queue: queue_policy.Queue, now: int) -> None:
    """Delete the expired messages and unused lanes of a queue, hourly.

    Transactions are short so that others need not wait long. Lanes constantly fall out of use, so
    the sweep ends with the first transaction that deletes fewer than SWEPT rows.
    """
    while await db.bulk(partial(outbox.sweep, queue=queue, before=now - queue.kept_for)):
        pass
    while await db.bulk(partial(lanes.sweep, queue=queue, now=now)) == lanes.SWEPT:
        pass
