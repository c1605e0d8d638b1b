"""The threads of an engine: each takes the next piece of work and performs it on its connection.

Transactions of one slice would wait for each other at the slice's row, and hold every thread; so
would those about the same thing, such as the payments of one request. So of a slice one is in a
thread at a time, and two about the same thing: the second has begun when the first is over. The
next one is queued then.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, defaultdict, deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import structlog

from bot.core.database.interface import raisable
from bot.core.database.postgres.transactions import Runner
from bot.core.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bot.core.database.interface import Transaction
    from bot.core.database.postgres.server import Server
    from bot.core.database.postgres.transactions import Entry, PostgresTransaction

log = structlog.get_logger()

PATIENCE_SECONDS = 5.0
"""The longest time, from the moment of queueing, in which work runs again or waits for a server."""

ABOUT_THE_SAME = 2
"""Transactions about the same thing that are in threads at once: one more would only wait."""

STOP_SECONDS = 5.0
"""The longest wait for threads at a stop; then their connections are shut."""


@dataclass(slots=True, eq=False)
class QueuedWork:
    """Work for a thread; `loop` is None where its caller has none, and `future` is for a thread.

    `place` is the slice or the thing where only `width` at once get anywhere, empty for none.
    """

    work: Callable[[Transaction], Any]
    entry: Entry | None
    loop: asyncio.AbstractEventLoop | None
    future: Future[Any] | asyncio.Future[Any]
    about: str = ""
    deadline: float = field(default_factory=lambda: time.monotonic() + PATIENCE_SECONDS)

    @property
    def place(self) -> str:
        return f"slice {self.entry.name}" if self.entry else self.about

    @property
    def width(self) -> int:
        return 1 if self.entry else ABOUT_THE_SAME

    def begin(self) -> bool:
        """Return False where it was cancelled."""
        if isinstance(self.future, Future):
            return self.future.set_running_or_notify_cancel()
        return not self.future.cancelled()


class Threads:
    """Some threads over one queue; `committed` and `failed` get the outcome of each."""

    def __init__(
        self,
        server: Server,
        number: int,
        name: str,
        *,
        reads: bool,
        committed: Callable[[PostgresTransaction], None],
        wake: Callable[[Iterable[str]], None],
        failed: Callable[[str], None],
    ) -> None:
        self._server, self._reads = server, reads
        self._committed, self._wake, self._failed = committed, wake, failed
        self._queue: SimpleQueue[QueuedWork | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._waiting: defaultdict[str, deque[QueuedWork]] = defaultdict(deque)
        self._begun: Counter[str] = Counter()
        self._is_closed = False
        self._number, self._name = number, name
        self._threads: list[threading.Thread] = []
        self._idle = threading.Semaphore(0)

    async def ask(
        self, work: Callable[[Transaction], Any], entry: Entry | None = None, about: str = ""
    ) -> Any:
        """Perform `work` in a thread; return its result once it is durable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._put(QueuedWork(work, entry, loop, future, about))
        return await future

    def run(self, work: Callable[[Transaction], Any], entry: Entry | None = None) -> Any:
        """Perform `work` in a thread, and wait for it in this one."""
        future: Future[Any] = Future()
        self._put(QueuedWork(work, entry, None, future))
        return future.result()

    def close(self) -> None:
        """Finish the queue; end the waits of threads that don't finish in time."""
        with self._lock:
            self._is_closed = True
        for _ in self._threads:
            self._queue.put(None)
        until = time.monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        if any(thread.is_alive() for thread in self._threads):
            self._server.shut_all()

    def _put(self, queued: QueuedWork) -> None:
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the database is closed")
            if place := queued.place:
                if self._begun[place] == queued.width:
                    self._waiting[place].append(queued)
                    return
                self._begun[place] += 1
            self._dispatch(queued)

    def _dispatch(self, queued: QueuedWork) -> None:
        """Queue work, and start a thread for it unless one is idle; the caller has the lock.

        So work that comes one by one has one connection.
        """
        self._queue.put(queued)
        if self._idle.acquire(blocking=False) or len(self._threads) == self._number:
            return
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _leave(self, place: str) -> QueuedWork | None:
        """Queue the next transaction of a place; return it where no thread would come to it."""
        with self._lock:
            waiting = self._waiting[place]
            if waiting and self._is_closed:
                return waiting.popleft()
            if waiting:
                self._dispatch(waiting.popleft())
                return None
            self._begun[place] -= 1
            if not self._begun[place]:
                del self._begun[place], self._waiting[place]
        return None

    def _serve(self) -> None:
        runner = Runner(self._server, reads=self._reads)
        while (taken := self._queue.get()) is not None:
            queued: QueuedWork | None = taken
            while queued is not None:
                self._handle(runner, queued)
                queued = self._leave(queued.place) if queued.place else None
        runner.close()

    def _handle(self, runner: Runner, queued: QueuedWork) -> None:
        """Perform queued work; no exception keeps the next one from its turn."""
        try:
            if queued.begin():
                self._perform(runner, queued)
        except Exception:
            log.exception("transaction not answered")

    def _perform(self, runner: Runner, queued: QueuedWork) -> None:
        try:
            try:
                result, tx = runner.perform(queued.work, queued.entry, queued.deadline)
            finally:
                self._idle.release()  # first: what the answer leads to can have this thread
        except BaseException as error:  # noqa: BLE001 - its caller gets it
            if isinstance(error, StorageError) and queued.loop is not None:
                self._failed(str(error))
            self._answer(queued, None, raisable(error), ())
        else:
            if not self._reads:
                self._committed(tx)
            self._answer(queued, result, None, tx.topics)

    def _answer(
        self, queued: QueuedWork, result: Any, error: BaseException | None, topics: Iterable[str]
    ) -> None:
        if queued.loop is None:
            _settle(queued, result, error)
            return
        with suppress(RuntimeError):  # the loop is closed
            queued.loop.call_soon_threadsafe(self._answer_there, queued, result, error, topics)

    def _answer_there(
        self, queued: QueuedWork, result: Any, error: BaseException | None, topics: Iterable[str]
    ) -> None:
        """Wake the listeners of a transaction on their event loop, then answer its caller."""
        try:
            self._wake(topics)
        except Exception:
            log.exception("listeners not woken")
        _settle(queued, result, error)


def _settle(queued: QueuedWork, result: Any, error: BaseException | None) -> None:
    if queued.future.done():
        return
    if error is None:
        queued.future.set_result(result)
    else:
        queued.future.set_exception(error)
