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

import psycopg

from bot.core.database import database, urls
from bot.core.database.postgres.connection import (
    ANSWER_SECONDS,
    Connection,
    NotConnected,
    SqlError,
    register_loaders,
)

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
    "resolve host": "its host is not known: check the name",
    "translate host name": "its host is not known: check the name",
    "connection refused": "nothing answers at its host and port: start the server, or check both",
    "no such file or directory": "nothing answers there: start the server, or check the path",
    "no route to host": "its host can't be reached: check the address and the network",
    "network is unreachable": "its host can't be reached: check the address and the network",
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
    "connection slots": "all its connections are in use: raise max_connections, or use a pooler",
    "too many clients": "all its connections are in use: raise max_connections, or use a pooler",
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


CONNECTING = {
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

BEGIN = b"BEGIN ISOLATION LEVEL READ COMMITTED"
BEGIN_READING = BEGIN + b" READ ONLY"

LIMITS = {
    "lock_timeout": "5s",
    "statement_timeout": "10s",
    "idle_in_transaction_session_timeout": "3s",
}
"""Limits that the server enforces, to free the locks of a hanging replica."""

NEWER_LIMITS = {
    140000: ("client_connection_check_interval", "2s"),
    170000: ("transaction_timeout", "10s"),
}
"""Limits by the version that introduced them."""

PLAN_ONCE = "SET plan_cache_mode = 'force_generic_plan'"
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

IDENTITY = (
    b"SELECT (SELECT system_identifier FROM pg_control_system())::text,"
    b" CASE WHEN NOT pg_is_in_recovery()"
    b" THEN substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END"
)
"""The id of the database cluster, and its hexadecimal timeline; null at a standby."""


class Server:
    """Makes connections, and watches them."""

    def __init__(self, address: urls.Address) -> None:
        """Raise ConfigProblem if libpq can't read the address; the error doesn't quote it."""
        try:
            given = psycopg.conninfo.conninfo_to_dict(address.url)
        except psycopg.ProgrammingError:
            raise urls.unreadable() from None
        self._address = address
        self._missing = {name: value for name, value in CONNECTING.items() if name not in given}
        self.is_pooled = address.is_pooled
        self.count: Callable[..., None] = database.count_nothing
        """Counts opened, lost and refused connections."""
        self._generation = 0
        self._timelines: dict[str, str] = {}
        self._refused_at, self._refusal = float("-inf"), ""
        self._open: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="db-watcher", daemon=True)
        self._watcher.start()

    def connect(self, *, reads: bool = False, patience: float = ANSWER_SECONDS) -> Connection:
        """Return a new connection that waits `patience` s for answers. Raises NotConnected."""
        if self.closing.is_set():
            raise RuntimeError("the database is closed")
        try:
            made = psycopg.connect(self._address.url, autocommit=True, **self._missing)  # type: ignore[arg-type]
        except psycopg.Error as error:
            raise self._refused(" ".join(str(error).split())) from None
        register_loaders(made.adapters)
        connection = Connection(made, prepares=not self.is_pooled, patience=patience)
        with self._lock:
            connection.generation = self._generation
            self._open.add(connection)
        try:
            refuse_old(connection.server_version)
            self._check_timeline(connection)
            if not self.is_pooled:
                connection.command(self._settings(connection, "", reads=reads))
        except (SqlError, NotConnected) as error:
            connection.close()
            raise self._refused(str(error)) from None
        self._refused_at = float("-inf")
        self.count("database_connections", "opened")
        return connection

    def opening(self, connection: Connection, *, reads: bool = False) -> bytes:
        """Return the statements that begin a transaction, in one round trip."""
        begin = BEGIN_READING if reads else BEGIN
        if not self.is_pooled:
            return begin
        return begin + b"; " + self._settings(connection, "LOCAL ", reads=False)

    def check_presence(self) -> None:
        """Raise NotConnected if the last attempt failed recently."""
        if time.monotonic() - self._refused_at < AWAY_SECONDS:
            raise NotConnected(self._refusal)

    def lost(self, connection: Connection) -> None:
        """Record a lost connection: connections of its generation are no longer trusted."""
        with self._lock:
            self._generation = max(self._generation, connection.generation + 1)
        self.count("database_connections", "lost")

    def trusts(self, connection: Connection) -> bool:
        """Return whether a connection can be used, as far as we know."""
        return not connection.is_lost and connection.generation == self._generation

    def close(self) -> None:
        """Stop watching."""
        self.closing.set()

    def shut_all(self) -> None:
        """End every wait for an answer."""
        with self._lock:
            waiting = list(self._open)
        for one in waiting:
            one.shut()

    def _refused(self, reason: str) -> NotConnected:
        self._refused_at, self._refusal = time.monotonic(), reason
        self.count("database_connections", "refused")
        return NotConnected(reason)

    def _watch(self) -> None:
        while not self.closing.wait(WATCH_SECONDS):
            with self._lock:
                late = [one for one in self._open if one.until < time.monotonic()]
            for one in late:
                one.shut()

    def _check_timeline(self, connection: Connection) -> None:
        try:
            result = connection.command(IDENTITY)
        except SqlError as error:
            if error.is_storage:
                raise
            return  # the provider forbids the query
        cluster, timeline = result.get_value(0, 0), result.get_value(0, 1)
        if cluster is None or timeline is None:
            return
        name, number = cluster.decode(), timeline.decode()
        connection.timeline = number
        with self._lock:
            highest = self._timelines.get(name, "")
            self._timelines[name] = max(highest, number)
        if number < highest:
            raise NotConnected(
                f"the server is on timeline {int(number, 16)}, but {int(highest, 16)} was seen"
                " before: this is a former primary"
            )

    def _settings(self, connection: Connection, scope: str, *, reads: bool) -> bytes:
        limits = dict(LIMITS)
        limits |= {
            name: value
            for version, (name, value) in NEWER_LIMITS.items()
            if connection.server_version >= version
        }
        if reads:
            limits.pop("transaction_timeout", None)
            limits["default_transaction_read_only"] = "on"
        commands = [f"SET {scope}{name} = '{value}'" for name, value in limits.items()]
        if not self.is_pooled:
            commands.append(PLAN_ONCE)
        commands.append(DURABLE.format(is_local="true" if scope else "false"))
        return "; ".join(commands).encode()


def refuse_old(version: int) -> None:
    """Raise NotConnected for a version of PostgreSQL that this program doesn't support."""
    if version < OLDEST:
        oldest = OLDEST // 10_000
        raise NotConnected(
            f"PostgreSQL {version // 10_000} is too old: upgrade the server to {oldest} or later"
        )
