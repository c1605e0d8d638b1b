"""Checks of the server: advice for operators, room for a payment, its facts, and its timeline."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import psycopg

from bot.core import errors
from bot.core.database import database, urls
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


# Room for a payment.


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


# What `doctor` reads.


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
    asked = connection.Server(urls.Address(urls.postgres_address(url).url, is_pooled=True))
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
    except (psycopg.Error, connection.NotConnected) as error:
        raise errors.StorageError(advise(connection.describe(error))) from None
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


# The timeline, by which we detect that a database went back in time without `restore`.
#
# Every promotion and every point-in-time recovery begins a new timeline. The database records the
# timeline on which its messages are known to be complete. On any other timeline, messages that were
# already sent may be waiting again. A restored disk snapshot keeps its timeline, so it is not
# detected.


NOTED = "SELECT system, timeline FROM timelines"

MAY_ASK = """
SELECT CAST(NOT pg_is_in_recovery()
  AND has_function_privilege('pg_control_system()', 'EXECUTE')
  AND has_function_privilege('pg_walfile_name(pg_lsn)', 'EXECUTE') AS INTEGER) AS may
"""
"""Some providers forbid the query."""


def note_timeline(tx: database.Transaction) -> str | None:
    """Record the server's timeline if none is recorded; return the result of `find_change`."""
    if tx.one(NOTED) is None:
        accept_timeline(tx)
    return find_change(tx)


def find_change(tx: database.Transaction) -> str | None:
    """Return an explanation if the server is not on the recorded timeline, else None.

    The text is for operators, and names the command to run.
    """
    now, noted = read_timeline(tx), tx.one(NOTED)
    if now is None or noted is None or noted == now:
        return None
    if noted["system"] != now["system"]:
        change = "the database was moved to another server"
    else:
        change = f"the server went from timeline {noted['timeline']} to {now['timeline']}"
    return (
        f"{change}: a failover or a recovery may have lost its newest changes, and messages that"
        " were sent may wait again. Stop the bot everywhere, run restore --in-place, start it again"
    )


def accept_timeline(tx: database.Transaction) -> None:
    """Record that the database is complete on its server's current timeline."""
    if now := read_timeline(tx):
        tx.execute("DELETE FROM timelines")
        tx.execute("INSERT INTO timelines (system, timeline) VALUES (:system, :timeline)", **now)


def read_timeline(tx: database.Transaction) -> database.Row | None:
    """Return the row to record: the server's timeline, or None if the server doesn't reveal it."""
    may = tx.one(MAY_ASK)
    row = tx.one(connection.TIMELINE) if may and may["may"] else None
    return row and row | {"timeline": int(row["timeline"], 16)}
