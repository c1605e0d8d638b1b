"""Lanes: the pace holds in every window, also across a restart; what waits is never forgotten."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.chat.model.queues import make_queues
from bot.core.database.database import Database, Transaction
from bot.core.database.opening import open_database
from bot.core.net.rates import Rate
from bot.core.outbox import claiming, lanes, leases, outbox
from bot.core.outbox.claiming import next_claim
from bot.core.outbox.lanes import WHOLE_QUEUE
from bot.core.outbox.queue_policy import ALERT, NOTICE, PRIORITIES, REPLY, Pace, Queue
from tests.support.databases import SQLITE, listening
from tests.support.outbox_queue import ANN, BOB, GROUP, MESSAGES, SECOND, QueueHarness, sent_at
from tests.support.service_harness import NOON, Clock

CHATS = ("7", "8", "-7", "-8", *(f"{number}" for number in range(100, 140)))


def paced(db: Database, clock: Clock, interval: int, burst: int = 1) -> QueueHarness:
    pace = Pace(interval, burst)
    return QueueHarness(db, Queue("paced", lease=60_000, lane_pace=lambda _lane: pace), clock)


def test_a_chat_takes_four_at_once_and_then_one_a_second(chats: QueueHarness) -> None:
    chats.put(ANN, *"1234567")
    times = sent_at(chats)
    # The four of the burst go as fast as 30 a second in all allows.
    assert times == [0, 0, 35, 70, 1000, 2000, 3000]


def test_a_group_takes_four_at_once_and_then_17_a_minute(chats: QueueHarness) -> None:
    chats.put(GROUP, *map(str, range(7)))
    assert sent_at(chats) == [0, 0, 35, 70, 3530, 7060, 10_590]


def test_the_pace_of_a_lane_is_kept_across_a_restart(
    db: Database, clock: Clock, database_url: str
) -> None:
    post = paced(db, clock, SECOND, 2)
    post.put("a", *"1234")
    assert sent_at(post, most=2) == [0, 0]
    again = open_database(database_url)
    restarted = QueueHarness(again, post.queue, clock)
    assert restarted.claim() == []
    assert sent_at(restarted) == [1000, 2000]
    again.close()


def test_without_rates_nothing_waits(db: Database, clock: Clock) -> None:
    free = QueueHarness(db, make_queues(None, None, None).messages, clock)
    free.put(ANN, *map(str, range(50)))
    free.put(GROUP, *map(str, range(50)))
    assert sent_at(free) == [0] * 100


def test_a_lane_that_was_just_served_goes_behind_the_open_ones(db: Database, clock: Clock) -> None:
    post = paced(db, clock, SECOND, burst=9)
    for lane in "ab":
        post.put(lane, f"{lane}1", f"{lane}2")
        clock.advance(0.1)
    order = []
    for _ in range(4):
        message = post.first()
        order.append(message.body["word"])
        post.done(message)
        clock.advance(0.1)
    assert order == ["a1", "b1", "a2", "b2"]


def test_a_claim_takes_no_more_of_a_wide_lane_than_its_pace_allows(
    db: Database, clock: Clock
) -> None:
    pace = Pace(SECOND, 2)
    queue = Queue("wide", lease=60_000, ordered=False, width=9, lane_pace=lambda _lane: pace)
    post = QueueHarness(db, queue, clock)
    post.put("a", *"1234")
    assert (post.words(), post.next_open()) == ([*"12"], SECOND)


@pytest.mark.parametrize(
    ("rate", "count", "seconds"),
    [(Rate(20, 60), 20, 60), (Rate(3, 60), 3, 60), (Rate(1, 60), 1, 60), (Rate(5, 1), 5, 1)],
)
def test_a_group_rate_holds_in_every_window_its_burst_included(
    db: Database, clock: Clock, rate: Rate, count: int, seconds: int
) -> None:
    post = QueueHarness(db, make_queues(None, None, rate).messages, clock)
    post.put(GROUP, *map(str, range(3 * count)))
    assert not crowded(count, seconds * SECOND, sent_at(post))


def crowded(count: int, window: int, times: list[int]) -> list[tuple[int, int]]:
    """Where a half-open window of so many ms holds more: its first, and the first beyond."""
    pairs = zip(times, times[count:], strict=False)
    return [(first, beyond) for first, beyond in pairs if beyond - first < window]


FATES = st.sampled_from(["done"] * 6 + ["retry", "held", "lost"])
PUTS = st.lists(
    st.tuples(
        st.sampled_from(CHATS[:4]) | st.sampled_from(CHATS),
        st.integers(1, 30),
        st.sampled_from([0, 0, 1, 40, 999, 1000, 5000, 61_000]),
        st.none() | st.integers(-500, 500),
    ),
    min_size=1,
    max_size=8,
)


class Run:
    """Processes at work on the messages: they put, send by `fates`, and follow each other.

    `now` is the time of the one at work, whose clock is wrong by `skew` ms. `sent` has the real
    times.
    """

    def __init__(self, path: str, fates: list[str]) -> None:
        self.path = path
        self.now = NOON
        self.skew = 0
        self.fates = cycle([*fates, "done"])
        self.sent: list[tuple[int, str]] = []
        self.ended: list[str] = []

    def live(self, puts: list[tuple[str, int, int, int | None]]) -> None:
        """One life of a process after the other, on one file."""
        number = 0
        database = open_database(f"sqlite:///{self.path}/bot.db")
        for lane, count, gap, skew in puts:
            words = [f"{number + more}" for more in range(count)]
            number += count
            database.run(partial(self.put, lane=lane, words=words))
            database.run(partial(self.work, until=self.now + gap))
            if skew is not None:
                database.close()
                database = open_database(f"sqlite:///{self.path}/bot.db")
                self.now, self.skew = self.now - self.skew + skew, skew
                database.run(lambda tx: leases.recover(tx, MESSAGES, self.now))
                database.run(lambda tx: lanes.postpone(tx, MESSAGES, self.now, SECOND))
                database.run(lambda tx: lanes.sweep(tx, MESSAGES, self.now))
        database.run(partial(self.work, until=None))
        database.close()
        assert sorted(self.ended, key=int) == [f"{word}" for word in range(number)]

    def put(self, tx: Transaction, lane: str, words: list[str]) -> None:
        for word in words:
            outbox.put(tx, MESSAGES, lane, {"word": word}, self.now)

    def work(self, tx: Transaction, until: int | None) -> None:
        """Work until then, or until nothing is left, from one opening to the next."""
        while True:
            for message in outbox.claim(tx, MESSAGES, self.now, 8):
                self.sent.append((self.now - self.skew, message.lane))
                self.settle(tx, message)
            opens = next_claim(tx, MESSAGES, self.now).at
            if opens is None or (until is not None and opens > until):
                break
            self.now = max(self.now, opens)
        self.now = max(self.now, until or 0)

    def settle(self, tx: Transaction, message: outbox.Message) -> None:
        fate = next(self.fates)
        if fate == "done":
            outbox.done(tx, MESSAGES, message, self.now)
            self.ended.append(message.body["word"])
            return
        outbox.retry(tx, MESSAGES, message, self.now + 700, fate, uncertain=fate == "lost")
        if fate == "held":
            lanes.hold(tx, MESSAGES, message.lane, self.now + 3000)


@settings(max_examples=40)
@given(puts=PUTS, fates=st.lists(FATES, max_size=9))
def test_no_limit_of_telegram_is_ever_broken_and_everything_is_sent(
    puts: list[tuple[str, int, int, int | None]], fates: list[str]
) -> None:
    """In every window, whatever is put when, retried, held, or taken over by another clock."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(folder, fates)
        run.live(puts)
    assert not crowded(30, SECOND, [at for at, _ in run.sent])
    for chat in {lane for _, lane in run.sent}:
        times = [at for at, lane in run.sent if lane == chat]
        if chat.startswith("-"):
            assert not crowded(20, 60 * SECOND, times)
            continue
        for seconds in range(1, len(times)):
            assert not crowded(3 + seconds, seconds * SECOND, times)


def test_a_held_lane_waits_and_no_other(post: QueueHarness) -> None:
    post.put("a", "a1")
    post.db.run(lambda tx: lanes.hold(tx, post.queue, "a", post.clock() + 5000))
    post.put("a", "a2")
    post.put("b", "b1")
    assert post.words() == ["b1"]
    assert post.next_open() == 5000
    post.clock.advance(5)
    assert post.words() == ["a1"]


def test_a_shorter_hold_does_not_end_a_longer_one(post: QueueHarness) -> None:
    post.put("a", "a1")
    for seconds in (5, 1):
        until = post.clock() + seconds * SECOND
        post.db.run(partial(lanes.hold, queue=post.queue, lane="a", until=until))
    assert post.next_open() == 5000


async def test_a_paused_lane_keeps_its_messages_until_it_is_resumed(post: QueueHarness) -> None:
    (woken,) = await listening(post.db, "test")
    post.put("a", "a1")
    post.db.run(lambda tx: lanes.pause(tx, post.queue, "a", "blocked"))
    post.put("a", "a2")
    assert (post.claim(), post.next_open()) == ([], None)
    assert not woken.is_set()
    await post.db.transaction(lambda tx: lanes.resume(tx, post.queue, "a"))
    assert woken.is_set()
    first = post.claim()
    post.done(*first)
    assert [message.body["word"] for message in (*first, *post.claim())] == ["a1", "a2"]


async def test_resuming_a_lane_that_is_not_paused_changes_nothing(post: QueueHarness) -> None:
    (woken,) = await listening(post.db, "test")
    post.put("a", "a1")
    await post.db.transaction(lambda tx: lanes.resume(tx, post.queue, "a"))
    await post.db.transaction(lambda tx: lanes.resume(tx, post.queue, "never used"))
    assert not woken.is_set()
    lanes_there = post.db.run(lambda tx: tx.query("SELECT lane, paused FROM lanes"))
    assert lanes_there == [{"lane": "a", "paused": None}]


def test_next_open_is_none_where_nothing_waits_and_now_where_something_may_go(
    post: QueueHarness,
) -> None:
    assert post.next_open() is None
    post.put("a", "a1", "a2")
    assert post.next_open() == 0
    (first,) = post.claim()
    assert post.next_open() is None  # a2 waits for a1, not for a time
    post.done(first)
    assert post.next_open() == 0


def test_a_more_urgent_message_opens_a_lane_whose_head_waits(post: QueueHarness) -> None:
    post.put("a", "alert", priority=ALERT)
    post.retry(post.first(), 60)
    post.put("a", "reply")
    assert post.next_open() == 0
    assert post.words() == ["reply"]


def test_next_open_knows_the_pace_of_the_whole_queue(chats: QueueHarness) -> None:
    chats.put(ANN, "1")
    chats.put(BOB, "2")
    chats.put("9", "3")
    assert chats.words() == ["1", "2"]
    assert chats.next_open() == 35


def lane_names(post: QueueHarness) -> set[str]:
    return {row["lane"] for row in post.db.run(lambda tx: tx.query("SELECT lane FROM lanes"))}


def test_a_sweep_deletes_unused_lanes(post: QueueHarness) -> None:
    post.put("a", "a1")
    post.done(*post.claim())
    assert post.sweep() == 1
    assert lane_names(post) == set()
    post.put("a", "a2")
    assert post.words() == ["a2"]


@pytest.mark.parametrize("why", ["waiting", "leased", "retried", "held", "paused", "paced"])
def test_a_sweep_deletes_no_lane_in_use(db: Database, clock: Clock, why: str) -> None:
    post = (
        paced(db, clock, SECOND) if why == "paced" else QueueHarness(db, Queue("q", lease=9), clock)
    )
    post.put("a", "a1")
    if why in {"leased", "retried", "paced"}:
        claimed = post.claim()
        if why == "retried":
            post.retry(claimed[0], 60)
        if why == "paced":
            post.done(*claimed)
    if why == "held":
        post.done(*post.claim())
        post.db.run(lambda tx: lanes.hold(tx, post.queue, "a", clock() + 1))
    if why == "paused":
        post.done(*post.claim())
        post.db.run(lambda tx: lanes.pause(tx, post.queue, "a", "blocked"))
    assert post.sweep() == 0
    assert lane_names(post) == {"a"}


def test_sweeping_leaves_other_queues_alone(post: QueueHarness, chats: QueueHarness) -> None:
    chats.put(ANN, "1")
    chats.done(*chats.claim())
    chats.clock.advance(3600)
    assert post.sweep() == 0
    assert lane_names(chats) == {ANN, WHOLE_QUEUE}
    assert chats.sweep() == 2


def test_a_reply_that_waits_for_its_retry_delays_no_alert(post: QueueHarness) -> None:
    """Order is kept within a priority class, not across them."""
    post.put("a", "reply")
    post.retry(post.first(), 60)
    post.put("a", "later reply")
    post.put("a", "alert", priority=ALERT)
    post.done(post.first())
    assert (post.claim(), post.next_open()) == ([], 60_000)
    assert [row["state"] for row in post.rows()] == ["waiting", "waiting"]


def test_the_next_opening_is_found_in_every_class_of_urgency(post: QueueHarness) -> None:
    """The most urgent class is not the one that opens first."""
    for lane, priority, seconds in (("a", REPLY, 9), ("b", ALERT, 7), ("c", NOTICE, 8)):
        post.put(lane, lane, priority=priority)
        post.retry(post.first(), seconds)
    assert post.next_open() == 7000


@pytest.mark.only(SQLITE, "its query plans; PostgreSQL's are in test_query_plans.py")
def test_lanes_are_found_by_an_index_however_many_wait_for_later(post: QueueHarness) -> None:
    """A claim looks neither at lanes that wait for a time nor at those that wait for room.

    And none is sorted: the index has them in the order in which they go.
    """
    ways = {
        lanes.select_open("open_at"): "lanes_open (queue=? AND priority=? AND open_at<?)",
        lanes.select_open("rank"): "lanes_ranked (queue=? AND priority=? AND rank>?)",
    }
    for sql, index in ways.items():
        plan = post.db.run(partial(explain, sql=sql))
        looks = [line for line in plan if line.startswith(("SEARCH lanes", "SCAN lanes"))]
        assert {line.replace("COVERING ", "") for line in looks} == {
            f"SEARCH lanes USING INDEX {index}"
        }
        assert len(looks) == len(PRIORITIES)
        found = [plan[plan.index(line) + 1] for line in looks]
        assert all(line.startswith("SCAN class") for line in found), "it sorts what it found"


@pytest.mark.only(SQLITE, "PostgreSQL's plans are in tests/core/database/test_query_plans.py")
@pytest.mark.parametrize("sql", [lanes.NEXT_DUE, claiming.DUE])
def test_the_next_message_of_a_lane_without_order_is_found_unsorted(
    post: QueueHarness, sql: str
) -> None:
    """A host that answers nothing for hours has thousands: each new one would sort them all."""
    plan = post.db.run(partial(explain, sql=sql))
    assert any("INDEX outbox_due" in line for line in plan)
    assert not [line for line in plan if "TEMP B-TREE" in line]


def explain(tx: Transaction, sql: str) -> list[str]:
    rows = tx.query(f"EXPLAIN QUERY PLAN {sql}", queue="q", lane="l", by=1, most=1, now=1, free=1)
    return [row["detail"] for row in rows]


SKEWS = [(0, 0, 0), (-20, 0, 50), (-500, 0, 500), (0, -1000, 0), (1000, 0, -1000)]


@pytest.mark.long
@pytest.mark.only(SQLITE, "arithmetic, one claim after the other; test_races has the races")
@pytest.mark.parametrize("skews", SKEWS)
@pytest.mark.parametrize(
    ("pace", "lanes_used"), [(Pace(33, burst=2), 400), (Pace(SECOND), 1)], ids=["queue", "lane"]
)
def test_claimers_with_skewed_clocks_keep_the_pace(
    post: QueueHarness, skews: tuple[int, ...], pace: Pace, lanes_used: int
) -> None:
    """Thirty a second, or one a second of a lane, once the fastest clock had its first turns."""
    limits = {"pace": pace} if lanes_used > 1 else {"lane_pace": lambda _: pace}
    queue = replace(post.queue, **limits)
    start, went = post.clock(), list[int]()
    for number in range(400):
        post.db.run(lambda tx: outbox.put(tx, queue, str(number % lanes_used), {}, start))  # noqa: B023 - run at once
    for turn in range(500):
        moment = start + 10 * turn
        shown = moment + skews[turn % len(skews)]
        for message in post.db.run(lambda tx: outbox.claim(tx, queue, shown, 8)):  # noqa: B023 - run at once
            went.append(moment)
            post.db.run(lambda tx: outbox.done(tx, queue, message, shown))  # noqa: B023 - run at once
    steady = [moment for moment in went if moment >= start + 2 * SECOND]
    windows = [sum(one <= other < one + SECOND for other in steady) for one in steady]
    most = SECOND // pace.interval
    assert 0.8 * most <= max(windows) <= most + 1
