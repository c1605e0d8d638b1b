"""The worker: takes up what is put at once, neither spins nor oversleeps, and stops whole."""

from __future__ import annotations

import asyncio
import threading
import time
from itertools import count

import pytest
from structlog.testing import capture_logs

from bot.core.database import database
from bot.core.database.database import Database
from bot.core.errors import StorageError
from bot.core.outbox import leases, outbox, worker
from bot.core.outbox.leases import Owners
from bot.core.outbox.queue_policy import FAILURES, Pace, Queue
from bot.core.outbox.worker import STORAGE_PAUSE, QueueHandler, Worker
from tests.support.databases import listening, make_read_only, make_writable, rows
from tests.support.outbox_queue import (
    ATTEMPTS,
    SECONDS,
    QueueHarness,
    RecordingHandler,
    ended,
    post_waits,
    put,
    working,
)
from tests.support.product_process import until
from tests.support.service_harness import Clock


async def test_a_put_message_is_handled_at_once(
    post: QueueHarness, hands: RecordingHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit wakes the worker, not its next claim."""
    monkeypatch.setattr(worker, "LONGEST_WAIT", 3600.0)
    async with working(post, hands.handle):
        for number in range(20):
            await put(post, "a", f"{number}")
            assert await hands.took(number + 1) == [f"{n}" for n in range(number + 1)]
        await ended(post)


async def test_a_claim_that_found_messages_is_followed_by_the_pause_of_the_queue(
    post: QueueHarness, hands: RecordingHandler
) -> None:
    """A lower bound: the pause counts from the beginning of that claim."""
    asked: list[float] = []

    def now() -> int:
        asked.append(time.monotonic())
        return post.clock()

    found = []
    async with working(post, hands.handle, now=now, pause=0.2):
        for number in range(4):
            await put(post, f"{number}", "word")
            await hands.took(number + 1)
            found.append(len(asked))
    gaps = [asked[behind] - asked[behind - 1] for behind in found[:-1]]
    assert min(gaps) >= 0.1


async def test_no_wake_up_is_lost_between_two_rounds(
    post: QueueHarness, hands: RecordingHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many puts at once, from everywhere: all are taken though nobody looks by itself."""
    monkeypatch.setattr(worker, "LONGEST_WAIT", 3600.0)
    async with working(post, hands.handle, room=3):
        await asyncio.gather(*(put(post, f"{n % 7}", f"{n}") for n in range(60)))
        assert sorted(await hands.took(60), key=int) == [f"{n}" for n in range(60)]
        await ended(post)


async def test_a_message_put_between_claim_and_sleep_wakes_the_worker(
    post: QueueHarness, hands: RecordingHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "LONGEST_WAIT", 3600.0)
    times = count(1)

    def now() -> int:
        if next(times) == 3:  # asked for how long to sleep, recovered and claimed
            post.put("b", "late")
            post.db.wake("test")
        return post.clock()

    post.put("a", "far off")
    post.retry(post.first(), 3600)
    async with working(post, hands.handle, now=now):
        assert await hands.took(1) == ["late"]


async def test_messages_of_another_process_are_found(
    post: QueueHarness, hands: RecordingHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "LONGEST_WAIT", 0.01)
    async with working(post, hands.handle):
        post.put("a", "one")  # a transaction that wakes nobody here
        assert await hands.took(1) == ["one"]


async def test_no_more_messages_are_handled_than_there_is_room_for(
    post: QueueHarness, hands: RecordingHandler
) -> None:
    for lane in "abcd":
        post.put(lane, lane)
    hands.may_go.clear()
    async with working(post, hands.handle, room=2):
        await hands.took(2)
        await put(post, "e", "e")
        assert sorted(post.states().values()) == ["leased"] * 2 + ["waiting"] * 3
        hands.may_go.set()
        await hands.took(5)


async def test_messages_of_an_earlier_process_are_handled_first_as_uncertain(
    post: QueueHarness, hands: RecordingHandler
) -> None:
    post.put("a", "one", "two")
    post.claim()
    async with working(post, hands.handle):
        assert await hands.took(2) == ["one", "two"]
    assert [message.uncertain for message in hands.taken] == [True, False]


async def test_an_idle_worker_claims_once_and_sleeps(
    post: QueueHarness, hands: RecordingHandler
) -> None:
    """With nothing to do, with a lane that waits, and with a hand that is busy."""
    looks = 0

    def now() -> int:
        nonlocal looks
        looks += 1
        return post.clock()

    post.put("waits", "later")
    post.retry(post.first(), 3600)
    hands.may_go.clear()
    async with working(post, hands.handle, room=1, now=now):
        await put(post, "a", "one")
        await hands.took(1)
        before = looks
        await asyncio.sleep(0.1)
        assert looks - before <= 2
        hands.may_go.set()
    assert hands.words == ["one"]


@pytest.mark.parametrize(
    "queue",
    [
        Queue("paced", lease=60_000, lane_pace=lambda _lane: Pace(20)),
        Queue("paced", lease=60_000, pace=Pace(20)),
    ],
    ids=["lane", "queue"],
)
async def test_a_rate_limited_lane_is_handled_at_its_rate_without_spinning(
    db: Database, queue: Queue, hands: RecordingHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the real clock, since it is about sleeping: each goes as its time has come."""
    monkeypatch.setattr(worker, "LONGEST_WAIT", 3600.0)
    looks = 0

    def now() -> int:
        nonlocal looks
        looks += 1
        return time.time_ns() // 1_000_000

    hands.post = post = QueueHarness(db, queue, hands.post.clock)
    begun = post.clock.at = now()
    post.put("a", *"123456")
    async with working(post, hands.handle, now=now):
        assert await hands.took(6) == [*"123456"]
        took = now() - begun
    assert took >= 100
    assert looks <= 60


async def test_a_message_whose_handler_always_raises_does_not_block_its_lane_for_ever(
    post: QueueHarness, hands: RecordingHandler, clock: Clock
) -> None:
    post.put("a", "poison", "sound")
    hands.failures = ATTEMPTS
    with capture_logs() as logs:
        async with working(post, hands.handle):
            for number in range(1, ATTEMPTS):
                await hands.took(number)
                await post_waits(post, FAILURES.delays[number - 1])
                clock.advance(FAILURES.delays[number - 1] / 1000)
                post.db.wake("test")
            assert await hands.took(ATTEMPTS + 1) == ["poison"] * ATTEMPTS + ["sound"]
    (dead,) = post.rows()
    assert (dead["state"], dead["note"]) == ("dead", "LookupError")
    assert [message.uncertain for message in hands.taken] == [False, *[True] * 9, False]
    assert {line["event"] for line in logs} == {"message failed"}


async def test_a_database_that_fails_is_waited_out(
    post: QueueHarness, hands: RecordingHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "LONGEST_WAIT", 0.01)

    async def logged() -> bool:
        return bool(logs)

    async with working(post, hands.handle):
        await put(post, "a", "one")
        await hands.took(1)
        await ended(post)  # a message whose outcome can't be stored would keep its lane
        with capture_logs() as logs:
            await post.db.transaction(lambda tx: tx.execute("ALTER TABLE lanes RENAME TO away"))
            await until(logged)
            await post.db.transaction(lambda tx: tx.execute("ALTER TABLE away RENAME TO lanes"))
        await put(post, "a", "two")
        assert await hands.took(2) == ["one", "two"]
    assert {line["event"] for line in logs} == {"queue can't be read"}


async def test_a_stop_waits_for_current_messages_and_begins_none(
    post: QueueHarness, hands: RecordingHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker sleeps as the stop begins: a claim under way would be handled too."""
    monkeypatch.setattr(worker, "LONGEST_WAIT", 3600.0)
    await listening(post.db, "test")
    post.put("a", "one", "two")
    hands.may_go.clear()
    async with working(post, hands.handle) as made:
        await hands.took(1)
        stopping = asyncio.create_task(made.stop(SECONDS))
        await asyncio.sleep(0)
        hands.may_go.set()
        await stopping
        assert post.states() == {"two": "waiting"}


async def test_a_stop_waits_for_messages_of_the_current_claim(
    post: QueueHarness, hands: RecordingHandler
) -> None:
    """Otherwise a process would send a message that it no longer settles."""
    loop, times, begun = asyncio.get_running_loop(), count(1), threading.Event()
    stopping: list[asyncio.Task[None]] = []

    def stop() -> None:
        stopping.append(asyncio.create_task(made.stop(SECONDS)))
        begun.set()

    def now() -> int:
        if next(times) == 2:  # recovered, and claiming: in the loop's thread, or in another
            loop.call_soon_threadsafe(stop)
            if threading.current_thread() is not threading.main_thread():
                begun.wait(SECONDS)
        return post.clock()

    post.put("a", "one")
    hands.may_go.clear()
    made = Worker(post.db, QueueHandler(post.queue, hands.handle), now)
    running = asyncio.create_task(made.run())
    await hands.took(1)
    assert not stopping[0].done()
    hands.may_go.set()
    await stopping[0]
    assert (hands.words, post.rows()) == (["one"], [])
    await running


async def test_a_message_that_does_not_finish_before_the_stop_is_released_as_uncertain(
    post: QueueHarness, hands: RecordingHandler
) -> None:
    """Another worker may claim it at once; a stop is no crash."""
    post.put("a", "one")
    hands.may_go.clear()
    async with working(post, hands.handle) as made:
        await hands.took(1)
        await made.stop(0.01)
    assert post.states() == {"one": "waiting"}
    again = post.first()
    assert (again.uncertain, again.attempts, again.crashes) == (True, 2, 0)


async def test_a_worker_can_be_stopped_before_it_runs(
    post: QueueHarness, hands: RecordingHandler
) -> None:
    post.put("a", "one")
    made = Worker(post.db, QueueHandler(post.queue, hands.handle), post.clock)
    await made.stop(SECONDS)
    await made.run()
    assert (hands.words, post.states()) == ([], {"one": "waiting"})


# The worker beside a machine in trouble: a database that fails, a clock that is set.


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
    monkeypatch.setattr(Owners, "search_seconds", 0.0)
    other = leases.LOCAL.register()
    post.put("a", "one")
    post.db.run(lambda tx: outbox.claim(tx, post.queue, post.clock(), 1, other))
    async with working(post, hands.handle):
        await put(post, "b", "two")
        assert await hands.took(1) == ["two"]
        leases.LOCAL.unregister(other)
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
        assert post.db.run(lambda tx: leases.release_dead(tx, post.queue, post.clock())) == 0
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
    monkeypatch.setattr(worker, "LONGEST_WAIT", 0.1)  # a claim may meet the trouble too
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
