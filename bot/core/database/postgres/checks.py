"""Check that a PostgreSQL server can store a payment, and read facts for `doctor`."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import psycopg

from bot.core import errors
from bot.core.database import database, urls
from bot.core.database.postgres import connection, server

FILLER_BYTES = 1024 * 1024
"""Bytes that must fit after a failure: the WAL may have room when the tables have none."""


class FoundRoomError(Exception):
    """Rolls back the rows after they fitted."""


def write_log(tx: database.Transaction) -> None:
    """Write to the WAL alone, because replicas updating a row would block each other."""
    tx.query("SELECT pg_logical_emit_message(true, 'check', '')")


def find_room(tx: database.Transaction) -> None:
    """Write rows. Raises FoundRoomError after they fitted."""
    filler = secrets.token_hex(FILLER_BYTES // 2)  # random: it could be compressed otherwise
    number = secrets.randbelow(2**31)
    tx.execute(
        "INSERT INTO probe (number, filler) VALUES (:number, :filler)", number=number, filler=filler
    )
    raise FoundRoomError


SETTINGS = """
    SELECT current_setting('server_version') AS version,
        LEAST(
            current_setting('max_connections')::int
                - current_setting('superuser_reserved_connections')::int
                - COALESCE(current_setting('reserved_connections', true)::int, 0),
            (SELECT NULLIF(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
            (SELECT NULLIF(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
        ) AS usable,
        (SELECT SUM(numbackends) FROM pg_stat_database) AS used,
        (SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database())
            AS encoding,
        has_schema_privilege(current_schema(), 'CREATE')::int AS may_create,
        current_setting('fsync') AS fsync,
        current_setting('synchronous_commit') AS synchronous_commit
"""
COLUMNS = """
    SELECT table_name || '.' || column_name AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND data_type = 'text'
    AND COALESCE(collation_name, '') <> 'C'
    ORDER BY 1
"""
CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now"
BACKEND = "SELECT pg_backend_pid() AS pid"

CLOCK_LOOKS = 3
"""How often the clock is read; the fastest answer is the most accurate."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Facts about a server, as visible to the role of DATABASE_URL."""

    version: str
    timeline: int | None
    """None if the provider forbids the query."""
    usable: int
    """Connections that the server grants this role."""
    used: int
    """Current connections of all roles."""
    encoding: str
    columns: tuple[str, ...]
    """Text columns that are not sorted by bytes."""
    may_create: bool
    fsync: bool
    synchronous_commit: bool
    skew: int
    """Milliseconds by which our clock is ahead."""
    is_pooled: bool
    """True if a pooler may give each transaction a different connection."""


def read_facts(url: str, now: Callable[[], int]) -> ServerFacts:
    """Ask the server of a DATABASE_URL; `now` returns epoch ms. Raises StorageError."""
    asked = server.Server(urls.Address(urls.postgres_address(url).url, is_pooled=True))
    try:
        with closing(asked.connect()) as one, closing(asked.connect()) as other:
            (found,) = one.execute(SETTINGS).fetchall()
            return ServerFacts(
                version=found["version"],
                timeline=int(one.timeline, 16) if one.timeline else None,
                usable=found["usable"],
                used=found["used"],
                encoding=found["encoding"],
                columns=tuple(row["name"] for row in one.execute(COLUMNS)),
                may_create=bool(found["may_create"]),
                fsync=found["fsync"] == "on",
                synchronous_commit=found["synchronous_commit"] != "off",
                skew=round(min(_read_skew(one, now) for _ in range(CLOCK_LOOKS))[1]),
                is_pooled=is_pooled(one, other),
            )
    except (psycopg.Error, server.NotConnected) as error:
        raise errors.StorageError(server.advise(connection.describe(error))) from None
    finally:
        asked.close()


def _read_skew(one: connection.Connection, now: Callable[[], int]) -> tuple[int, float]:
    """Return the round-trip time of a clock query, and how far our clock is ahead, in ms."""
    began = now()
    (row,) = one.execute(CLOCK).fetchall()
    ended = now()
    return ended - began, (began + ended) / 2 - row["now"]


def is_pooled(one: connection.Connection, other: connection.Connection) -> bool:
    """Return whether one of our connections reaches two different connections of the server.

    A pooler hands out the most recently freed connection: while another client holds that
    connection, we get a second one.
    """
    before = one.execute(BACKEND).fetchall()
    other.execute("BEGIN; SELECT 1", prepare=False)
    try:
        return one.execute(BACKEND).fetchall() != before
    finally:
        other.roll_back()
