"""Groups of lanes: a bound together, and who waits for it costs and delays nobody else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.core.database.database import Database, Transaction
from bot.core.outbox import groups, lanes, leases, outbox
from bot.core.outbox.queue_policy import Queue
from tests.support.databases import listening
from tests.support.outbox_queue import QueueHarness, claim
from tests.support.service_harness import Clock

WIDTH = 3


def team(lane: str) -> str | None:
    """Lanes are `group/number`; those without a stroke are in no group."""
    return lane.partition("/")[0] if "/" in lane else None


@pytest.fixture
def post(db: Database, clock: Clock) -> QueueHarness:
    queue = Queue(
        "test", lease=60_000, ordered=False, width=2, keep=True, group=team, group_width=WIDTH
    )
    return QueueHarness(db, queue, clock)


def parked(post: QueueHarness) -> list[str]:
    rows = post.db.run(
        lambda tx: tx.query("SELECT lane FROM lanes WHERE waits_for IS NOT NULL ORDER BY lane")
    )
    return [row["lane"] for row in rows]


def fill(post: QueueHarness, name: str, count: int) -> None:
    for number in range(count):
        post.put(f"{name}/{number:05d}", f"{name}{number}")


def test_lanes_of_a_group_have_at_most_its_width_of_leased_messages(post: QueueHarness) -> None:
    fill(post, "a", 5)
    assert post.words() == ["a0", "a1", "a2"]
    assert (post.words(), post.next_open()) == ([], None)


def test_a_lane_of_a_group_has_its_own_width_too(post: QueueHarness) -> None:
    post.put("a/0", *"123")
    post.put("a/1", "4")
    assert post.words() == ["1", "2", "4"]


def test_a_full_group_delays_no_other_group_and_no_lane_without_one(post: QueueHarness) -> None:
    fill(post, "a", 5)
    post.put("b/0", "b0")
    post.put("alone", *"12")
    assert sorted(post.words()) == ["1", "2", "a0", "a1", "a2", "b0"]


async def test_lanes_that_wait_in_another_queue_wake_nobody(post: QueueHarness) -> None:
    """Or each claim would cause the next one, as long as they wait."""
    (woken,) = await listening(post.db, post.queue.name)
    other = QueueHarness(post.db, replace(post.queue, name="other", group_width=1), post.clock)
    fill(other, "a", 2)
    assert other.words() == ["a0"]
    assert parked(post) == ["a/00001"]
    assert await post.db.transaction(lambda tx: claim(tx, post.queue, post.clock(), 1)) == []
    assert not woken.is_set()


def test_settling_admits_the_lane_that_waits_longest(post: QueueHarness, clock: Clock) -> None:
    fill(post, "a", 3)
    claimed = post.claim()
    post.put("a/9", "early")
    clock.advance(1)
    post.put("a/8", "late")
    assert post.claim() == []
    assert parked(post) == ["a/8", "a/9"]
    post.done(claimed[0])
    assert post.next_open() == -1000
    assert post.words() == ["early"]
    assert parked(post) == ["a/8"]


@pytest.mark.parametrize("how", ["done", "retry", "dead_letter", "expired", "recovered"])
async def test_every_end_of_a_message_frees_its_slot(
    post: QueueHarness, clock: Clock, how: str
) -> None:
    (woken,) = await listening(post.db, "test")
    fill(post, "a", WIDTH + 1)
    message, *_ = post.claim()
    assert (post.claim(), parked(post), woken.is_set()) == ([], ["a/00003"], False)

    def end(tx: Transaction) -> None:
        if how == "done":
            outbox.done(tx, post.queue, message, clock())
        elif how == "retry":
            outbox.retry(tx, post.queue, message, clock() + 9000, "later")
        elif how == "dead_letter":
            outbox.dead_letter(tx, post.queue, message, clock(), "no use")
        elif how == "recovered":
            leases.recover(tx, post.queue, clock())

    if how == "expired":
        clock.advance(60)
    else:
        await post.db.transaction(end)
        assert woken.is_set()
    claimed = post.claim() + post.claim()
    assert len(claimed) == (WIDTH if how in {"expired", "recovered"} else 1)
    post.done(*claimed)
    words = [one.body["word"] for one in (*claimed, *post.claim(), *post.claim())]
    assert "a3" in words


@pytest.mark.parametrize("how", ["paused", "held", "moved"])
def test_a_slot_that_a_lane_cannot_use_goes_to_the_next(
    post: QueueHarness, clock: Clock, how: str
) -> None:
    """The lane that was let in goes elsewhere or nowhere: nobody waits for it for ever."""

    def stop(tx: Transaction) -> None:
        if how == "paused":
            lanes.pause(tx, post.queue, "a/7", "stopped")
        elif how == "held":
            lanes.hold(tx, post.queue, "a/7", clock() + 5000)
        else:
            outbox.move_lane(tx, post.queue, "a/7", "elsewhere")

    post.put("a/0", "first", "second")
    post.put("a/1", "third")
    under_way = post.claim()
    for lane in ("a/7", "a/8"):
        post.put(lane, lane)
        clock.advance(1)
    assert (post.claim(), parked(post)) == ([], ["a/7", "a/8"])
    post.done(under_way[0])
    assert parked(post) == ["a/8"]
    post.db.run(stop)
    assert "a/8" in post.words()


def test_a_message_put_into_a_lane_that_waits_does_not_jump_the_bound(post: QueueHarness) -> None:
    fill(post, "a", WIDTH + 1)
    post.claim()
    post.claim()
    post.put("a/00003", "more")
    assert (post.claim(), parked(post)) == ([], ["a/00003"])


def test_no_sweep_drops_a_lane_that_waits_for_room(post: QueueHarness) -> None:
    fill(post, "a", WIDTH + 1)
    claimed = post.claim()
    post.claim()
    assert post.sweep() == 0
    post.done(*claimed)
    assert post.words() == ["a3"]


@pytest.mark.long
def test_a_claim_parks_many_lanes_and_never_reads_them_again(
    post: QueueHarness, clock: Clock
) -> None:
    """A thousand lanes of one group stand before another's: it waits for a few claims at most."""
    fill(post, "a", 1000)
    clock.advance(1)
    post.put("b/0", "b0")
    rounds = 0
    words: list[str] = []
    while "b0" not in words:
        words += post.words(room=5)
        rounds += 1
    assert rounds <= 1000 // groups.MAX_PARKED + 2
    assert words == ["a0", "a1", "a2", "b0"]
    assert len(parked(post)) == 1000 - WIDTH
    assert post.next_open() is None


def test_every_message_of_a_group_is_claimed_in_the_end(post: QueueHarness) -> None:
    for number in range(40):
        post.put(f"a/{number % 7}", f"{number}")
    words: list[str] = []
    while claimed := post.claim():
        assert len(claimed) <= WIDTH
        words += [message.body["word"] for message in claimed]
        post.done(*claimed)
    assert sorted(words, key=int) == [f"{number}" for number in range(40)]


def test_a_group_of_another_queue_is_another(post: QueueHarness, clock: Clock) -> None:
    other = QueueHarness(post.db, Queue("other", lease=9, group=team, group_width=1), clock)
    fill(other, "a", 2)
    assert len(other.claim()) == 1
    fill(post, "a", WIDTH + 1)
    assert len(post.claim()) == WIDTH
