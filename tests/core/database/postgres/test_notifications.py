"""Wake-ups between replicas, and what a pooler leaves of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest

from bot.core.database.database import Transaction
from bot.core.database.postgres.engine import PostgresDatabase, open_postgres
from tests.support.databases import SECONDS, listening
from tests.support.postgres_server import PostgresServer


@pytest.fixture
def other(url: str) -> Iterator[PostgresDatabase]:
    """Return the database as another replica opens it."""
    database = open_postgres(url)
    yield database
    database.close()


def wake(tx: Transaction, topic: str) -> None:
    tx.wake(topic)


async def test_whoever_begins_to_listen_is_woken_once(db: PostgresDatabase) -> None:
    """Notifications may have been missed: also where the first call is no transaction."""
    async with asyncio.timeout(SECONDS):
        await db.listen("mails").wait()


async def test_a_commit_wakes_listeners_in_other_replicas(
    db: PostgresDatabase, other: PostgresDatabase
) -> None:
    mails, looks = await listening(other, "mails", "looks")
    await db.transaction(partial(wake, topic="mails"))
    await asyncio.wait_for(mails.wait(), SECONDS)
    assert not looks.is_set()


async def test_an_own_writer_wakes_other_replicas_too(
    db: PostgresDatabase, other: PostgresDatabase
) -> None:
    (event,) = await listening(other, "leads")
    with closing(db.own_writer()) as writer:
        await asyncio.to_thread(writer.run, partial(wake, topic="leads"))
    await asyncio.wait_for(event.wait(), SECONDS)


async def test_a_command_that_ends_at_once_wakes_replicas_all_the_same(
    other: PostgresDatabase, url: str
) -> None:
    (event,) = await listening(other, "webhooks")
    with closing(open_postgres(url)) as command:
        command.run(partial(wake, topic="webhooks"))
    await asyncio.wait_for(event.wait(), SECONDS)


async def test_nobody_is_connected_for_notifications_who_neither_listens_nor_sends(
    url: str,
) -> None:
    with closing(open_postgres(url)) as command:
        before = [one.name for one in threading.enumerate()]
        command.listen("mails")
        after = [one.name for one in threading.enumerate()]
    assert [before.count("db-notifications"), after.count("db-notifications")] == [0, 1]


@pytest.mark.long
async def test_all_listeners_are_woken_after_a_loss_of_the_connection(
    db: PostgresDatabase, server: PostgresServer
) -> None:
    """What was committed meanwhile was not received."""
    (event,) = await listening(db, "mails")
    server.crash().start()
    await asyncio.wait_for(event.wait(), SECONDS)


def test_a_pooler_gets_no_prepared_statements_and_settings_for_a_transaction_alone(
    url: str,
) -> None:
    """Its next transaction has another connection of the server, and another client this one."""
    with closing(open_postgres(f"{url}&pooler=transaction")) as db:

        def ask(tx: Transaction) -> tuple[object, ...]:
            prepared = tx.one("SELECT COUNT(*) AS n FROM pg_prepared_statements WHERE :x = 1", x=1)
            return prepared, tx.one("SHOW lock_timeout"), tx.one("SHOW statement_timeout")

        found = db.run(ask)
        assert found == ({"n": 0}, {"lock_timeout": "5s"}, {"statement_timeout": "10s"})
        assert asyncio.run(db.one("SHOW lock_timeout")) == {"lock_timeout": "5s"}
