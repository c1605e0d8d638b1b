"""The worker: takes up what is put at once, neither spins nor oversleeps, and stops whole."""

from __future__ import annotations

import asyncio
import threading
import time
from itertools import count
from typing import TYPE_CHECKING

from structlog.testing import capture_logs

from bot.core.database.database import Database
from bot.core.outbox import worker
from bot.core.outbox.queue_policy import FAILURES, Pace, Queue
from bot.core.outbox.worker import QueueHandler, Worker
from tests.support.listeners import listening
from tests.support.outbox_queue import QueueHarness
from tests.support.product_process import until
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

if TYPE_CHECKING:
    import pytest


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


async def test_messages_of_a_lane_are_handled_one_after_the_other(
    post: QueueHarness, hands: RecordingHandler
) -> None:
    post.put("a", "a1", "a2")
    post.put("b", "b1")
    hands.may_go.clear()
    async with working(post, hands.handle):
        assert sorted(await hands.took(2)) == ["a1", "b1"]
        hands.may_go.set()
        assert (await hands.took(3))[2] == "a2"


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


async def test_a_rate_limited_lane_is_handled_at_its_rate_without_spinning(
    db: Database, hands: RecordingHandler
) -> None:
    """On the real clock, since it is about sleeping: each goes as its time has come."""
    looks = 0

    def now() -> int:
        nonlocal looks
        looks += 1
        return time.time_ns() // 1_000_000

    pace = Pace(20)
    post = QueueHarness(
        db, Queue("paced", lease=60_000, lane_pace=lambda _lane: pace), hands.post.clock
    )
    hands.post = post
    begun = post.clock.at = now()
    post.put("a", *"123456")
    async with working(post, hands.handle, now=now):
        assert await hands.took(6) == [*"123456"]
        took = now() - begun
    assert took >= 100
    assert looks <= 60


async def test_a_message_whose_handler_raises_is_retried(
    post: QueueHarness, hands: RecordingHandler, clock: Clock
) -> None:
    post.put("a", "one", "two")
    hands.failures = 1
    with capture_logs() as logs:
        async with working(post, hands.handle):
            await hands.took(1)
            await post_waits(post, FAILURES.delays[0])
            clock.advance(FAILURES.delays[0] / 1000)
            post.db.wake("test")
            assert await hands.took(3) == ["one", "one", "two"]
    assert [message.uncertain for message in hands.taken] == [False, True, False]
    assert [line["event"] for line in logs] == ["message failed"]


async def test_a_message_whose_handler_always_raises_does_not_block_its_lane_for_ever(
    post: QueueHarness, hands: RecordingHandler, clock: Clock
) -> None:
    post.put("a", "poison", "sound")
    hands.failures = ATTEMPTS
    with capture_logs():
        async with working(post, hands.handle):
            for number in range(1, ATTEMPTS):
                await hands.took(number)
                await post_waits(post, FAILURES.delays[number - 1])
                clock.advance(FAILURES.delays[number - 1] / 1000)
                post.db.wake("test")
            assert await hands.took(ATTEMPTS + 1) == ["poison"] * ATTEMPTS + ["sound"]
    (dead,) = post.rows()
    assert (dead["state"], dead["note"]) == ("dead", "LookupError")


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
            post.db.run(lambda tx: tx.execute("ALTER TABLE lanes RENAME TO away"))
            await until(logged)
            post.db.run(lambda tx: tx.execute("ALTER TABLE away RENAME TO lanes"))
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
    claiming, may_claim = threading.Event(), threading.Event()

    times = count(1)

    def now() -> int:
        if next(times) == 2:  # recovered, and claiming
            claiming.set()
            may_claim.wait(SECONDS)
        return post.clock()

    post.put("a", "one")
    made = Worker(post.db, QueueHandler(post.queue, hands.handle), now)
    running = asyncio.create_task(made.run())
    await asyncio.to_thread(claiming.wait, SECONDS)
    stopping = asyncio.create_task(made.stop(SECONDS))
    await asyncio.sleep(0)
    may_claim.set()
    await stopping
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
