"""The worker beside a machine in trouble: a database that fails, a clock that is set."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from bot.core.database import database
from bot.core.errors import StorageError
from bot.core.outbox import leases, outbox, worker
from bot.core.outbox.leases import LocalOwners
from bot.core.outbox.queue_policy import FAILURES
from bot.core.outbox.worker import STORAGE_PAUSE
from tests.support.databases import rows
from tests.support.outbox_queue import QueueHarness
from tests.support.product_process import until
from tests.support.read_only import make_read_only, make_writable
from tests.support.service_harness import Clock
from tests.support.worker_harness import (
    ATTEMPTS,
    SECONDS,
    RecordingHandler,
    ended,
    post_waits,
    put,
    working,
)


@pytest.mark.long
async def test_a_storage_error_counts_as_no_attempt(
    post: QueueHarness, hands: RecordingHandler, clock: Clock
) -> None:
    """However often the handler raises one, no attempt counts and no message is a dead letter."""
    post.put("a", "one")
    hands.failure, hands.failures = StorageError("disk full"), ATTEMPTS + 5
    with capture_logs() as logs:
        async with working(post, hands.handle):
            for number in range(1, ATTEMPTS + 6):
                await hands.took(number)
                await post_waits(post, STORAGE_PAUSE)
                clock.advance(STORAGE_PAUSE / 1000)
                post.db.wake("test")
            await hands.took(ATTEMPTS + 6)
            await ended(post)
    assert {(message.attempts, message.uncertain) for message in hands.taken} == {(1, False)}
    assert {line["event"] for line in logs} == {"message waits"}


async def test_the_outcome_of_a_call_is_stored_as_soon_as_possible(
    post: QueueHarness,
    hands: RecordingHandler,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The database can't be written during the call, and the call is not repeated for that."""
    monkeypatch.setattr(database, "STORE_RETRY_SECONDS", 0.01)
    await put(post, "a", "one")
    hands.may_go.clear()
    async with working(post, hands.handle):
        await hands.took(1)
        await asyncio.to_thread(make_read_only, post.db)
        hands.may_go.set()
        await asyncio.sleep(0.05)  # some tries
        assert rows(database_url, "SELECT state FROM outbox") == [("leased",)]
        await asyncio.to_thread(make_writable, post.db)
        await ended(post)
    assert hands.words == ["one"]


async def test_a_worker_is_alive_until_it_has_stopped(
    post: QueueHarness, hands: RecordingHandler
) -> None:
    """Until then no other worker may claim its messages."""
    post.put("a", "one")
    hands.may_go.clear()
    async with working(post, hands.handle):
        await hands.took(1)
        (owner,) = {str(row["lease"]).rpartition("/")[0] for row in post.rows()}
        assert leases.is_alive(owner)
        post.clock.advance(24 * 3600)
        assert post.claim() == []
        hands.may_go.set()
        await ended(post)
    assert not leases.is_alive(owner)


async def test_a_worker_takes_over_the_messages_of_a_dead_one(
    post: QueueHarness, hands: RecordingHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does so not only at its own start: the other worker may end later."""
    monkeypatch.setattr(LocalOwners, "search_seconds", 0.0)
    other = leases.register_owner()
    post.put("a", "one")
    post.db.run(lambda tx: outbox.claim(tx, post.queue, post.clock(), 1, other))
    async with working(post, hands.handle):
        await put(post, "b", "two")
        assert await hands.took(1) == ["two"]
        leases.unregister_owner(other)
        post.db.wake("test")
        assert await hands.took(2) == ["two", "one"]
    assert hands.taken[1].uncertain is True


async def test_the_message_of_a_cancelled_handler_is_retried_as_uncertain(
    post: QueueHarness, hands: RecordingHandler, clock: Clock
) -> None:
    """While the worker works on: a library's own cancellation is no end of ours."""
    post.put("a", "one", "two")
    hands.failure, hands.failures = asyncio.CancelledError(), 1
    with capture_logs():
        async with working(post, hands.handle):
            await hands.took(1)
            await post_waits(post, FAILURES.delays[0])
            clock.advance(FAILURES.delays[0] / 1000)
            post.db.wake("test")
            assert await hands.took(3) == ["one", "one", "two"]
            await ended(post)
    assert [message.uncertain for message in hands.taken] == [False, True, False]


async def test_a_stopping_worker_is_alive_as_long_as_its_handlers_run(
    post: QueueHarness, hands: RecordingHandler
) -> None:
    post.put("a", "slow")
    hands.may_go.clear()
    async with working(post, hands.handle) as made:
        await hands.took(1)
        (owner,) = {str(row["lease"]).rpartition("/")[0] for row in post.rows()}
        stopping = asyncio.create_task(made.stop(SECONDS))
        await made._idle.wait()  # it claims no more
        assert leases.is_alive(owner)
        assert post.db.run(lambda tx: leases.release_dead(tx, post.queue)) == 0
        hands.may_go.set()
        await stopping
    assert not leases.is_alive(owner)
    assert (hands.words, post.rows()) == (["slow"], [])


@pytest.mark.long
async def test_a_message_is_released_as_soon_as_that_can_be_stored(
    post: QueueHarness,
    hands: RecordingHandler,
    clock: Clock,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The trouble that its handler met is still there: it is waited out."""
    monkeypatch.setattr(worker, "LONGEST_WAIT", 3600.0)
    monkeypatch.setattr(database, "STORE_RETRY_SECONDS", 0.01)
    post.put("a", "one")
    hands.failure, hands.failures = StorageError("disk full"), 1
    hands.may_go.clear()

    async def tried() -> bool:
        return "database not usable" in [line["event"] for line in logs]

    with capture_logs() as logs:
        async with working(post, hands.handle):
            await hands.took(1)
            await asyncio.to_thread(make_read_only, post.db)
            hands.may_go.set()
            await until(tried)
            assert rows(database_url, "SELECT state FROM outbox") == [("leased",)]
            await asyncio.to_thread(make_writable, post.db)
            await post_waits(post, STORAGE_PAUSE)
            clock.advance(STORAGE_PAUSE / 1000)
            post.db.wake("test")
            await hands.took(2)
            await ended(post)
    assert [(message.attempts, message.uncertain) for message in hands.taken] == [(1, False)] * 2
