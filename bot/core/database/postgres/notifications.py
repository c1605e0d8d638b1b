"""Send topics of commits between replicas, by NOTIFY on a separate connection.

Within a transaction, NOTIFY serializes all commits of the server. So topics are sent after the
commit, several per notification. A lost notification costs at most a second, because workers then
look for work anyway. Notifications don't work behind a pooler.
"""

from __future__ import annotations

import asyncio
import os
import select
import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import closing, suppress

import psycopg
import structlog

from bot.core.database import database
from bot.core.database.postgres import connection, server

log = structlog.get_logger()

NOTIFY = "SELECT pg_notify('bot_wake', :topics)"

COALESCING_SECONDS = 0.02
"""The pause between two notifications; topics are collected in the meantime."""

RECONNECT_SECONDS = 1.0


class Notifications:
    """Sends the topics of our commits to other replicas, and receives theirs.

    It connects at the first use, because most commands neither send nor listen; behind a pooler
    never.
    """

    def __init__(
        self, server: server.Server, received: Callable[[Iterable[str] | None], None]
    ) -> None:
        """`received` is called on the `loop`; with None if topics may be missing."""
        self._server, self._received = server, received
        self.loop: asyncio.AbstractEventLoop | None = None
        """The event loop of the listeners, once it runs."""
        self._lock = threading.Lock()
        self._unsent: set[str] = set()
        self._closing = threading.Event()
        self._awake, self._nudge = os.pipe()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Connect if not yet connected; may be called from any thread."""
        with self._lock:
            if self._thread is None and not self._server.is_pooled:
                self._thread = threading.Thread(
                    target=self._serve, name="db-notifications", daemon=True
                )
                self._thread.start()

    def send(self, topics: Collection[str]) -> None:
        """Send topics soon, if there are any; may be called from any thread."""
        if not topics or self._server.is_pooled:
            return
        self.start()
        with self._lock:
            is_asleep = not self._unsent
            self._unsent.update(topics)
            if is_asleep and not self._closing.is_set():
                os.write(self._nudge, b".")

    def close(self) -> None:
        """Stop; other replicas find unannounced work when they next look."""
        with self._lock:
            if self._closing.is_set():
                return
            self._closing.set()
            os.write(self._nudge, b".")
        if self._thread is not None:
            self._thread.join(COALESCING_SECONDS + 1)
        with self._lock:
            for end in (self._awake, self._nudge):
                os.close(end)

    def _serve(self) -> None:
        is_closing = False
        while not is_closing:
            try:
                with closing(self._server.connect()) as opened:
                    opened.execute("LISTEN bot_wake")
                    self._receive(None)
                    self._exchange(opened)
            except (server.NotConnected, psycopg.Error) as error:
                log.debug("replicas not notified", reason=connection.describe(error))
            except Exception:
                log.exception("replicas not notified")
            is_closing = self._closing.wait(database.jittered(RECONNECT_SECONDS))

    def _exchange(self, opened: connection.Connection) -> None:
        while not self._closing.is_set():
            ready, _, _ = select.select([opened.conn.fileno(), self._awake], [], [])
            if self._awake in ready:
                os.read(self._awake, 1024)
                self._send_unsent(opened)
            for notification in opened.conn.notifies(timeout=0):
                if notification.pid != opened.conn.info.backend_pid:
                    self._receive(notification.payload.split())
        self._send_unsent(opened)

    def _send_unsent(self, opened: connection.Connection) -> None:
        with self._lock:
            topics, self._unsent = self._unsent, set()
        if topics:
            opened.execute(NOTIFY, {"topics": " ".join(sorted(topics))})
            self._closing.wait(COALESCING_SECONDS)

    def _receive(self, topics: Iterable[str] | None) -> None:
        if self.loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self.loop.call_soon_threadsafe(self._received, topics)
