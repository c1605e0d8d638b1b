"""The server: open, watch and give up its connections, and advise operators about errors.

When a connection is lost, all others are presumed lost too. A server is refused if its timeline is
lower than the highest known timeline: it was restarted with older data, or it is a standby that was
promoted without the newest commits.
"""

from __future__ import annotations

import re
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bot.core import errors
from bot.core.database import database, timelines, urls
from bot.core.database.postgres import connection

ADVICE = {
    "password authentication failed": "it refuses the user or the password: check both",
    "no password supplied": "it asks for a password: write postgresql://user:password@host/…",
    r"no pg_hba\.conf entry": (
        "it lets this user connect from here to no such database: allow it in its pg_hba.conf"
    ),
    "permission denied for database": (
        "the user may not connect to this database: GRANT CONNECT ON DATABASE … TO the user"
    ),
    "permission denied for schema": (
        "the user may not create tables in it: make it the owner of the database, or GRANT CREATE"
        " ON SCHEMA public TO the user"
    ),
    "permission denied for": (
        "its tables are another user's: name that user in the URL, or GRANT its rights"
    ),
    "must be owner of": "its tables are another user's: name that user in the URL",
    'database ".*" does not exist': (
        "there is no such database: create it (CREATE DATABASE), or check its name"
    ),
    'role ".*" does not exist': (
        "there is no such user (role): create it (CREATE ROLE … LOGIN), or check its name"
    ),
    "resolve host|translate host name": "its host is not known: check the name",
    "connection refused": "nothing answers at its host and port: start the server, or check both",
    "no such file or directory": "nothing answers there: start the server, or check the path",
    "no route to host|network is unreachable": (
        "its host can't be reached: check the address and the network"
    ),
    "timeout expired": (
        "no answer came in time: the server stands still, or a firewall drops the packets"
    ),
    "session is read-only|read-only transaction|session is in hot standby": (
        "the server is a standby, which stores nothing: name the primary, or all hosts as"
        " host1,host2; where a pooler stands between, add pooler=transaction to the parameters, and"
        " restart the pooler"
    ),
    "does not support ssl": "the server has no TLS: enable it there, or set sslmode=prefer",
    "certificate": "its TLS certificate can't be checked: see sslmode and sslrootcert",
    "invalid port number": "its port is not a number from 1 to 65535",
    "connection slots|too many clients": (
        "all its connections are in use: raise max_connections, or use a pooler"
    ),
    "too many connections": "all its connections are in use: raise the user's or database's limit",
    "starting up": "the server is starting: try again in a moment",
    "shutting down": "the server is stopping: start it again",
    "recovery mode": "the server recovers from a crash: try again in a moment",
}
"""Advice for operators, by patterns of the error text; the first match counts.

A refused connection has no SQLSTATE: only the text from PostgreSQL, libpq or psycopg has the
reason.
"""


def advise(reason: str) -> str:
    """Return the problem and its remedy in one line; an unknown text stays unchanged."""
    for pattern, advice in ADVICE.items():
        if re.search(pattern, reason, re.IGNORECASE):
            return advice
    return " ".join(reason.split())


def unusable(url: str, reason: str) -> errors.ConfigProblem:
    """Return the error for a DATABASE_URL whose server can't be used."""
    return errors.ConfigProblem(
        f"DATABASE_URL: {urls.safe_url(url)} can't be used: {advise(reason)}"
    )


# Connections.


CONNECTING: dict[str, Any] = {
    "connect_timeout": 3,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "target_session_attrs": "read-write",
    "client_encoding": "utf8",
    "application_name": "paylink-bot",
}
"""Default parameters of libpq, which the URL may override."""

OLDEST = 160_000
"""The oldest tested version (PostgreSQL 16), as servers report it; version 15 rejects some of our
statements."""

MOST_PREPARED = 1000
"""Prepared statements per connection, each for one combination of parameter types."""

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"

LIMITS = {
    "lock_timeout": "5s",
    "statement_timeout": "10s",
    "idle_in_transaction_session_timeout": "3s",
    "client_connection_check_interval": "2s",
    "transaction_timeout": "10s",
}
"""Limits that the server enforces, to free the locks of a hanging replica."""

WITH_TRANSACTION_TIMEOUT = 170_000
"""The version that introduced it."""

ONE_PLAN = {"plan_cache_mode": "force_generic_plan"}
"""One plan for each statement, whatever its parameters: the plan that the tests check."""

DURABLE = (
    "SELECT CASE current_setting('synchronous_commit') WHEN 'off'"
    " THEN set_config('synchronous_commit', 'on', {is_local}) END"
)
"""A role may have it switched off, so that a crash of the server would lose commits."""

AWAY_SECONDS = 3.0
"""How long the server counts as away after a failed attempt to connect."""

WATCH_SECONDS = 0.5
"""The time between two checks for late answers."""


class NotConnected(errors.StorageError):
    """No connection to the server can be made now."""


def connect(url: str) -> psycopg.Connection[Any]:
    """Open a connection in autocommit mode. Raises psycopg.Error and NotConnected."""
    params = make_conninfo(**(CONNECTING | conninfo_to_dict(url)))
    made = psycopg.connect(params, autocommit=True, context=connection.TYPES)
    made.prepared_max = MOST_PREPARED
    if (version := made.info.server_version) < OLDEST:
        made.close()
        raise NotConnected(
            f"PostgreSQL {version // 10_000} is too old: upgrade the server to"
            f" {OLDEST // 10_000} or later"
        )
    return made


class Server:
    """Makes connections, and watches them."""

    def __init__(self, address: urls.Address) -> None:
        """Raise ConfigProblem if libpq can't read the address; the error doesn't quote it."""
        try:
            conninfo_to_dict(address.url)
        except psycopg.ProgrammingError:
            raise urls.unreadable() from None
        self._url = address.url
        self.is_pooled = address.is_pooled
        self.count: Callable[..., None] = database.count_nothing
        """Counts opened, lost and refused connections."""
        self._generation = 0
        self._timelines: dict[str, str] = {}
        self._refused_at, self._refusal = float("-inf"), ""
        self._open: weakref.WeakSet[connection.Connection] = weakref.WeakSet()
        self._lock = threading.Lock()
        self.closing = threading.Event()
        threading.Thread(target=self._watch, name="db-watcher", daemon=True).start()

    def connect(
        self, *, reads: bool = False, patience: float = connection.ANSWER_SECONDS
    ) -> connection.Connection:
        """Return a new connection that waits `patience` s for answers. Raises NotConnected."""
        if self.closing.is_set():
            raise RuntimeError("the database is closed")
        made = None
        try:
            made = connect(self._url)
            if self.is_pooled:
                made.prepare_threshold = None
            opened = connection.Connection(made, patience)
            with self._lock:
                opened.generation = self._generation
                self._open.add(opened)
            self._check_timeline(opened)
            self._limit(opened, reads=reads)
        except (psycopg.Error, NotConnected) as error:
            if made is not None:
                made.close()
            self._refused_at, self._refusal = time.monotonic(), connection.describe(error)
            self.count("database_connections", "refused")
            raise NotConnected(self._refusal) from None
        self._refused_at = float("-inf")
        self.count("database_connections", "opened")
        return opened

    def check_presence(self) -> None:
        """Raise NotConnected if the last attempt failed recently."""
        if time.monotonic() - self._refused_at < AWAY_SECONDS:
            raise NotConnected(self._refusal)

    def lost(self, lost: connection.Connection) -> None:
        """Close a lost connection: connections of its generation are no longer trusted."""
        lost.close()
        with self._lock:
            self._generation = max(self._generation, lost.generation + 1)
        self.count("database_connections", "lost")

    def trusts(self, opened: connection.Connection) -> bool:
        """Return whether a connection can be used, as far as we know."""
        return not opened.conn.closed and opened.generation == self._generation

    def close(self) -> None:
        """Stop watching, refuse new connections, and end every wait for an answer."""
        self.closing.set()
        with self._lock:
            waiting = list(self._open)
        for one in waiting:
            one.shut()

    def _watch(self) -> None:
        while not self.closing.wait(WATCH_SECONDS):
            with self._lock:
                late = [one for one in self._open if one.until < time.monotonic()]
            for one in late:
                one.shut()

    def _check_timeline(self, opened: connection.Connection) -> None:
        try:
            (row,) = opened.execute(timelines.ASK).fetchall()
        except psycopg.Error as error:
            if connection.is_storage(error):
                raise
            return  # the provider forbids the query, or the server is a standby
        name, number = row["system"], row["timeline"]
        opened.timeline = number
        with self._lock:
            highest = self._timelines.get(name, "")
            self._timelines[name] = max(highest, number)
        if number < highest:
            raise NotConnected(
                f"the server is on timeline {int(number, 16)}, but {int(highest, 16)} was seen"
                " before: this is a former primary"
            )

    def _limit(self, opened: connection.Connection, *, reads: bool) -> None:
        """Limit what a connection may do: behind a pooler at the beginning of each transaction."""
        opened.begin = f"{BEGIN} READ ONLY" if reads else BEGIN
        settings, scope = dict(LIMITS), "LOCAL " if self.is_pooled else ""
        if reads or opened.conn.info.server_version < WITH_TRANSACTION_TIMEOUT:
            del settings["transaction_timeout"]
        if not self.is_pooled:
            settings |= ONE_PLAN | ({"default_transaction_read_only": "on"} if reads else {})
        commands = [f"SET {scope}{name} = '{value}'" for name, value in settings.items()]
        commands.append(DURABLE.format(is_local="true" if self.is_pooled else "false"))
        if self.is_pooled:
            opened.begin = "; ".join([opened.begin, *commands])
        else:
            opened.execute("; ".join(commands), prepare=False)
