"""The worker beside a machine in trouble: a database that fails, a clock that is set."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from bot.core import db as db_module
from bot.core import outbox, owners, worker
from bot.core.errors import StorageError
from bot.core.worker import STORAGE_PAUSE, STUMBLES
from tests.queueing import Post
from tests.test_worker import QUEUE, Hands, ended, post_waits, put, working

if TYPE_CHECKING:
    from bot.core.db import Database
    from tests.serving import Clock


@pytest.fixture
def post(db: Database, clock: Clock) -> Post:
    return Post(db, QUEUE, clock)


@pytest.fixture
def hands(post: Post) -> Hands:
    return Hands(post)


async def test_trouble_of_the_machine_is_no_fault_of_a_message(
    post: Post, hands: Hands, clock: Clock
) -> None:
    """However often its handler meets it: it does not count, and nothing is set aside."""
    post.put("a", "one")
    hands.failure, hands.failures = StorageError("disk full"), STUMBLES + 5
    with capture_logs() as logs:
        async with working(post, hands.handle):
            for number in range(1, STUMBLES + 6):
                await hands.took(number)
                await post_waits(post, STORAGE_PAUSE)
                clock.pass_(STORAGE_PAUSE / 1000)
                post.db.wake("test")
            await hands.took(STUMBLES + 6)
            await ended(post)
    assert {(message.attempts, message.uncertain) for message in hands.taken} == {(1, False)}
    assert {line["event"] for line in logs} == {"message waits"}


async def test_what_came_of_a_call_is_written_down_as_soon_as_that_can_be_done(
    post: Post, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database takes nothing while the call is made: it is not made again for that."""
    monkeypatch.setattr(db_module, "INSIST_SECONDS", 0.01)
    await put(post, "a", "one")
    hands.may_go.clear()
    async with working(post, hands.handle):
        await hands.took(1)
        await asyncio.to_thread(read_only, post.db, "ON")
        hands.may_go.set()
        await asyncio.sleep(0.05)  # some tries
        assert await post.db.query("SELECT state FROM outbox") == [{"state": "leased"}]
        await asyncio.to_thread(read_only, post.db, "OFF")
        await ended(post)
    assert hands.words == ["one"]


def read_only(database: Database, how: str) -> None:
    """Let SQLite refuse to write on the writer's connection, or no more."""
    writer = database._writer
    writer._thread.submit(lambda: writer._db.conn.execute(f"PRAGMA query_only={how}")).result()


async def test_a_worker_is_at_work_until_it_has_stopped(post: Post, hands: Hands) -> None:
    """As long as it is, what it has under way is nobody else's."""
    post.put("a", "one")
    hands.may_go.clear()
    async with working(post, hands.handle):
        await hands.took(1)
        (owner,) = {str(row["lease"]).rpartition("/")[0] for row in post.rows()}
        assert owners.is_at_work(owner)
        post.clock.pass_(24 * 3600)
        assert post.claim() == []
        hands.may_go.set()
        await ended(post)
    assert not owners.is_at_work(owner)


async def test_a_worker_takes_over_what_another_one_leaves(
    post: Post, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at its own start alone: the other one may end later."""
    monkeypatch.setattr(worker, "INHERIT_SECONDS", 0.0)
    other = owners.begin()
    post.put("a", "one")
    post.db.run(lambda tx: outbox.claim(tx, post.queue, post.clock(), 1, other))
    async with working(post, hands.handle):
        await put(post, "b", "two")
        assert await hands.took(1) == ["two"]
        owners.end(other)
        post.db.wake("test")
        assert await hands.took(2) == ["two", "one"]
    assert hands.taken[1].uncertain is True


async def test_a_worker_follows_a_clock_that_is_set(post: Post, hands: Hands, clock: Clock) -> None:
    """What was to wait a minute does so, and not an hour."""
    post.put("a", "later")
    post.retry(post.first(), 60)
    began = clock()
    with capture_logs() as logs:
        async with working(post, hands.handle, steady=lambda: began):
            await asyncio.sleep(0)
            await put(post, "b", "now")
            await hands.took(1)
            clock.pass_(-3600)
            post.db.wake("test")
            await post_waits(post, 60_000)
    assert hands.words == ["now"]
    assert [line["by_seconds"] for line in logs if line["event"] == "the clock was set"] == [-3600]
