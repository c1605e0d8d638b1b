"""Whatever the whole product asks its database for in an hour is found by an index."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any
from unittest import mock

from bench.million import PARAMETER
from bot.core.database.migrations import MIGRATIONS
from bot.core.database.sqlite import in_memory
from bot.core.database.sqlite_writer import SqliteTransaction
from tests.simulation.monkeys.monkey_runner import play
from tests.simulation.schedule_runner import players

SEED, ACTS = 1, 300
FEWEST = 180
"""Statements that such an hour runs at least."""

SMALL = {
    "apps", "drafts", "kept_secrets", "migrations", "offered_rails", "sightings", "timelines",
}  # fmt: skip
"""Tables that stay small however much is sold."""

PASSING = {"checkouts_open", "checkouts_counted", "outbox_joined"}
"""Partial indexes of what is under way, which are read whole."""

STATEMENT = re.compile(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b")
SCAN = re.compile(r"SCAN (?!\d* ?CONSTANT)(\w+)(?:.* INDEX (\w+))?")
SUBQUERY = re.compile(r"(?:CO-ROUTINE|MATERIALIZE) (\w+)")


def test_no_statement_reads_a_whole_table() -> None:
    """It would cost more the more was sold; what operators run by command is not among them."""
    with players() as pool:
        problems, ran = pool.submit(_statements_of_an_hour).result()
    assert not problems
    assert len(ran) >= FEWEST
    with closing(in_memory(len(MIGRATIONS))) as empty:
        whole = {sql: found for sql in ran if (found := _read_whole(empty, sql))}
    assert not whole


def _statements_of_an_hour() -> tuple[list[str], list[str]]:
    """Play an hour in this process; return its problems and the statements that ran."""
    ran: set[str] = set()

    def noting(run: Callable[..., Any]) -> Callable[..., Any]:
        def note(tx: SqliteTransaction, sql: str, **params: object) -> Any:
            ran.add(sql)
            return run(tx, sql, **params)

        return note

    verbs: dict[str, Any] = {
        name: noting(getattr(SqliteTransaction, name)) for name in ("query", "execute")
    }
    with mock.patch.multiple(SqliteTransaction, **verbs):
        outcome = play(SEED, ACTS)
    return outcome.problems, sorted(sql for sql in ran if STATEMENT.match(sql))


def _read_whole(conn: sqlite3.Connection, sql: str) -> list[str]:
    """Return the steps of a statement's plan that read a whole table."""
    given = dict.fromkeys(PARAMETER.findall(sql), "")
    steps = [row[3] for row in conn.execute(f"EXPLAIN QUERY PLAN {sql}", given)]
    allowed = {*SMALL, *SUBQUERY.findall("\n".join(steps))}
    scans = [(step, found) for step in steps if (found := SCAN.match(step))]
    return [step for step, found in scans if found[1] not in allowed and found[2] not in PASSING]
