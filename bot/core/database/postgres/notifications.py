"""Send topics of commits between replicas, by NOTIFY on a separate connection.

Within a transaction, NOTIFY serializes all commits of the server. So topics are sent after the
commit, several per notification. A lost notification costs at most a second, because workers then
look for work anyway. Notifications don't work behind a pooler.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterable
from contextlib import closing

import structlog

from bot.core.database import database
from bot.core.database.postgres import server
from bot.core.database.postgres.connection import Connection, NotConnected, SqlError

log = structlog.get_logger()

LISTEN = b"LISTEN bot_wake"
NOTIFY = "SELECT pg_notify('bot_wake', :topics)"

COALESCING_SECONDS = 0.02
"""The pause between two notifications; topics are collected in the meantime."""

RECONNECT_SECONDS = 1.0


class Notifications:
    """Sends the topics of our commits to other replicas, and receives theirs.

    It connects at the first use, because most commands neither send nor listen.
    """

    def __init__(
        self, server: server.Server, received: Callable[[Iterable[str] | None], None]
    ) -> None:
        """`received` is called in the connection's thread; with None if topics may be missing."""
        self._server, self._received = server, received
        self._lock = threading.Lock()
        self._unsent: set[str] = set()
        self._closing = threading.Event()
        self._awake, self._nudge = os.pipe()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Connect if not yet connected; may be called from any thread."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._serve, name="db-notifications", daemon=True
                )
                self._thread.start()

    def send(self, topics: Iterable[str]) -> None:
        """Send topics soon; may be called from any thread."""
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
                with closing(self._server.connect()) as connection:
                    connection.command(LISTEN)
                    self._received(None)
                    self._exchange(connection)
            except (NotConnected, SqlError) as error:
                log.debug("replicas not notified", reason=str(error))
            except Exception:
                log.exception("replicas not notified")
            is_closing = self._closing.wait(database.jittered(RECONNECT_SECONDS))

    def _exchange(self, connection: Connection) -> None:
        while not self._closing.is_set():
            ready, _, _ = select.select([connection.fileno(), self._awake], [], [])
            if self._awake in ready:
                os.read(self._awake, 1024)
                self._send_unsent(connection)
            for sender, text in connection.notifications():
                if sender != connection.backend:
                    self._received(text.split())
        self._send_unsent(connection)

    def _send_unsent(self, connection: Connection) -> None:
        with self._lock:
            topics, self._unsent = self._unsent, set()
        if topics:
            connection.execute(NOTIFY, {"topics": " ".join(sorted(topics))})
            self._closing.wait(COALESCING_SECONDS)
