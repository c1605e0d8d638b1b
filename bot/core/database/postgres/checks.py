"""What the doctor asks a PostgreSQL server: its settings, its clock, and who stands between."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from bot.core import errors
from bot.core.database import database, urls
from bot.core.database.postgres.connection import Connection, NotConnected, SqlError
from bot.core.database.postgres.server import Server, advise

# The check that a payment can be stored: a commit that reaches the server's disk.


PROVEN_SECONDS = 1.0
"""The time for which a result is returned again, so that frequent checks cost nothing."""

WRITE = "SELECT pg_logical_emit_message(true, 'check', '')"
"""A commit in the server's log alone: replicas that update one row would wait for each other."""

FILL = "INSERT INTO probe (number, filler) VALUES (:number, :filler)"

FILLER_BYTES = 1024 * 1024
"""What has to find room after a failure: the log may have some where the tables have none."""


class StorageCheck:
    """A check on a connection of its own; after a failure rows have to find room too."""

    def __init__(self, writer: database.OwnWriter, health: database.Health) -> None:
        self._writer, self._health = writer, health
        self._probing = asyncio.Lock()
        self._failures = 0
        self._asked_at = float("-inf")
        self._reason: str | None = None

    async def __call__(self) -> str | None:
        """Return None, or the database's reason why nothing can be stored."""
        async with self._probing:
            is_old = time.monotonic() - self._asked_at >= PROVEN_SECONDS
            if is_old or (self._reason is None and self._failures != self._health.failures):
                self._reason = await asyncio.to_thread(self._ask)
                self._asked_at = time.monotonic()
            return self._reason

    def _ask(self) -> str | None:
        failures = self._health.failures
        try:
            self._writer.run(lambda tx: tx.query(WRITE))
            if failures != self._failures:
                self._writer.run(_fill)
        except errors.StorageError as error:
            return str(error)
        except _FoundRoomError:
            pass
        self._failures = failures
        return None


class _FoundRoomError(Exception):
    """Rolls back the rows that found room."""


def _fill(tx: database.Transaction) -> None:
    filler = secrets.token_hex(FILLER_BYTES // 2)  # random: it could be compressed otherwise
    tx.execute(FILL, number=secrets.randbelow(2**31), filler=filler)
    raise _FoundRoomError


SETTINGS = b"""
    SELECT current_setting('server_version') AS version,
        current_setting('max_connections')::int AS max_connections,
        current_setting('superuser_reserved_connections')::int
            + COALESCE(current_setting('reserved_connections', true)::int, 0) AS reserved,
        (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS role_limit,
        (SELECT datconnlimit FROM pg_database WHERE datname = current_database())
            AS database_limit,
        (SELECT SUM(numbackends) FROM pg_stat_database) AS used,
        (SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database())
            AS encoding,
        has_schema_privilege(current_schema(), 'CREATE')::int AS may_create,
        current_setting('fsync') AS fsync,
        current_setting('synchronous_commit') AS synchronous_commit
"""
COLUMNS = b"""
    SELECT table_name || '.' || column_name AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND data_type = 'text'
    AND COALESCE(collation_name, '') <> 'C'
    ORDER BY 1
"""
CLOCK = b"SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now"
TIMELINE = b"SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline"
BACKEND = b"SELECT pg_backend_pid() AS pid"

CLOCK_LOOKS = 3
"""Times that the clock is asked; the quickest answer is the truest."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server says of itself to the role of DATABASE_URL.

    `usable` are the connections that it grants the role, `used` those of everybody. `skew` are the
    milliseconds that our clock is ahead. `columns` of text sort otherwise than by their bytes.
    `is_pooled`: a pooler gives each transaction another connection. `timeline` is None if the
    server tells nobody.
    """

    version: str
    timeline: int | None
    usable: int
    used: int
    encoding: str
    columns: tuple[str, ...]
    may_create: bool
    fsync: bool
    synchronous_commit: bool
    skew: int
    is_pooled: bool


def read_facts(url: str, now: Callable[[], int]) -> ServerFacts:
    """Ask the server of a DATABASE_URL; `now` returns epoch ms. Raises StorageError."""
    server = Server(urls.Address(urls.postgres_address(url).url, is_pooled=True))
    try:
        with closing(server.connect()) as one, closing(server.connect()) as other:
            return _read(one, other, now)
    except (SqlError, NotConnected) as error:
        raise errors.StorageError(advise(str(error))) from None
    finally:
        server.close()


def _read(connection: Connection, other: Connection, now: Callable[[], int]) -> ServerFacts:
    found = _one(connection, SETTINGS)
    limits = [found["max_connections"] - found["reserved"]]
    limits += [one for one in (found["role_limit"], found["database_limit"]) if one >= 0]
    return ServerFacts(
        version=found["version"],
        timeline=_timeline(connection),
        usable=min(limits),
        used=found["used"],
        encoding=found["encoding"],
        columns=tuple(row["name"] for row in connection.rows(connection.command(COLUMNS))),
        may_create=bool(found["may_create"]),
        fsync=found["fsync"] == "on",
        synchronous_commit=found["synchronous_commit"] != "off",
        skew=_skew(connection, now),
        is_pooled=is_pooled(connection, other),
    )


def _one(connection: Connection, sql: bytes) -> dict[str, Any]:
    (row,) = connection.rows(connection.command(sql))
    return row


def _timeline(connection: Connection) -> int | None:
    """Return the number of the timeline, None if the provider forbids to ask."""
    with suppress(SqlError):
        return int(_one(connection, TIMELINE)["timeline"], 16)
    return None


def _skew(connection: Connection, now: Callable[[], int]) -> int:
    looks = [_look(connection, now) for _ in range(CLOCK_LOOKS)]
    return round(min(looks)[1])


def _look(connection: Connection, now: Callable[[], int]) -> tuple[int, float]:
    """Return for how long the clock's answer took, and how far ahead we are, in ms."""
    began = now()
    theirs = _one(connection, CLOCK)["now"]
    ended = now()
    return ended - began, (began + ended) / 2 - theirs


def is_pooled(connection: Connection, other: Connection) -> bool:
    """Return whether one connection of ours reaches two of the server.

    A pooler hands out the one that was free last: while another client holds it, we get a second.
    """
    before = _one(connection, BACKEND)["pid"]
    other.command(b"BEGIN; SELECT 1")
    try:
        return bool(_one(connection, BACKEND)["pid"] != before)
    finally:
        other.roll_back()
