"""Budgets of hosts: no more calls than the rate names, and to each purpose its share."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest

from bot.core.database.database import Database, Transaction
from bot.core.database.opening import open_database
from bot.core.net.rates import Rate
from bot.core.outbox import groups, outbox
from bot.core.outbox.groups import HOSTS
from bot.core.outbox.host_budgets import (
    ASKED,
    LATER,
    OPENING,
    OTHER,
    SHARES,
    HostBudget,
    Usage,
)
from bot.core.outbox.queue_policy import Pace, Queue
from tests.support.databases import PostgresDatabases
from tests.support.outbox_queue import QueueHarness
from tests.support.service_harness import Clock

NOW = 1_800_000_000_000
IDLE = Usage(0, 0, {})
BUDGET = HostBudget(Rate(300, 60))
FEW = Rate(20, 60)


def calls_of(budget: HostBudget, wanted: tuple[str, ...], seconds: int) -> list[tuple[int, str]]:
    """Return the calls where each purpose always wants one; who waits longest is asked first."""
    usage, calls, turns = IDLE, [], list(wanted)
    for now in range(NOW, NOW + seconds * 1000, 10):
        for purpose in [*turns]:
            while budget.opens_at(usage, purpose, now) <= now:
                usage = budget.take(usage, purpose, now)
                calls.append((now, purpose))
                turns.remove(purpose)
                turns.append(purpose)
    return calls


@pytest.mark.parametrize(
    "rate", [Rate(1, 60), Rate(2, 60), Rate(3, 1), Rate(10, 60), Rate(200, 60), Rate(300, 60)]
)
@pytest.mark.parametrize("wanted", [(ASKED,), tuple(SHARES)], ids=["asked", "all"])
def test_a_host_gets_no_more_calls_in_any_period_than_its_rate_names(
    rate: Rate, wanted: tuple[str, ...]
) -> None:
    """One purpose alone gets nearly all of it: what a burst of two costs is much of a few."""
    times = [at for at, _ in calls_of(HostBudget(rate), wanted, 5 * rate.seconds)]
    span = rate.seconds * 1000
    most = max(sum(at <= one < at + span for one in times) for at in times)
    assert most <= rate.count
    assert len(times) >= 5 * (rate.count - HostBudget(rate).burst + 1) * 0.93


@pytest.mark.parametrize(
    "wanted",
    [(ASKED, OPENING), (ASKED, LATER), (OPENING, OTHER), (LATER, OTHER), tuple(SHARES)],
    ids="-".join,
)
def test_each_purpose_has_at_least_its_share_whatever_the_others_want(
    wanted: tuple[str, ...],
) -> None:
    found = Counter(purpose for _, purpose in calls_of(BUDGET, wanted, 600))
    for purpose in wanted:
        assert found[purpose] >= 3000 * 0.93 * SHARES[purpose] / 1000
    assert found.total() >= 3000 * 0.93


def test_an_opening_goes_at_once_while_polls_use_all_that_is_left() -> None:
    usage = IDLE
    for now in range(NOW, NOW + 120_000, 10):
        for purpose in (LATER, ASKED, OTHER):
            while BUDGET.opens_at(usage, purpose, now) <= now:
                usage = BUDGET.take(usage, purpose, now)
    assert BUDGET.opens_at(usage, OPENING, now) == now


def test_a_host_that_asks_for_no_calls_gets_none_until_then() -> None:
    closed = replace(IDLE, closed_until=NOW + 30_000)
    for purpose in SHARES:
        assert BUDGET.opens_at(closed, purpose, NOW) == NOW + 30_000
        assert HostBudget(None).opens_at(closed, purpose, NOW) == NOW + 30_000
    assert BUDGET.starts_at(closed, NOW) == NOW + 30_000


def test_an_opening_does_not_wait_for_a_host_that_is_closed_for_long() -> None:
    """Its payer reads that it can't be paid now, instead of nothing; no call is made."""
    closed = replace(IDLE, closed_until=NOW + 61_000)
    assert BUDGET.opens_at(closed, OPENING, NOW) == NOW
    assert BUDGET.opens_at(closed, ASKED, NOW) == NOW + 61_000


def test_without_a_rate_everything_goes_at_once() -> None:
    free = HostBudget(None)
    assert free.take(IDLE, ASKED, NOW) == IDLE
    assert free.count_free(IDLE, LATER, NOW, 64) == 64
    assert free.starts_at(IDLE, NOW) == NOW


def host_of(lane: str) -> tuple[str, ...]:
    """Lanes are `purpose host/number`."""
    return (lane.partition("/")[0],)


def queue(budget: HostBudget, name: str = "test") -> Queue:
    return Queue(
        name, lease=60_000, ordered=False, width=4, lane_pace=lambda _: Pace(1), group=host_of,
        group_width=8, budget=budget, subjects_take_turns=True,
    )  # fmt: skip


@pytest.fixture
def post(db: Database, clock: Clock) -> QueueHarness:
    return QueueHarness(db, queue(HostBudget(FEW)), clock)


def test_a_claim_takes_what_the_budget_of_a_host_has_and_other_hosts_are_not_delayed(
    post: QueueHarness, clock: Clock
) -> None:
    """One, as half of a burst of two is kept for others, then one every three seconds and a bit."""
    for number in range(9):
        post.put(f"asked a.example/{number}", f"a{number}")
    post.put("asked b.example/0", "b0")
    assert sorted(post.words()) == ["a0", "b0"]
    assert post.words() == []
    wait = post.next_open()
    assert wait == 60_000 // 19 + 1
    clock.at += wait - 1
    assert post.words() == []
    clock.at += 1
    assert post.words() == ["a1"]


def test_queues_share_the_budget_of_a_host(post: QueueHarness, clock: Clock) -> None:
    other = QueueHarness(post.db, queue(HostBudget(FEW), "other"), clock)
    for number in range(3):
        post.put(f"asked a.example/{number}", f"look{number}")
        other.put(f"opening a.example/{number}", f"opening{number}")
    assert (len(post.claim()), len(post.claim())) == (1, 0)
    assert (len(other.claim()), len(other.claim())) == (1, 0)
    clock.at += 2 * (60_000 // 19 + 1)
    assert (len(other.claim()), len(post.claim())) == (1, 0)


def test_lanes_take_turns_and_a_lane_that_was_not_served_for_long_goes_first(
    post: QueueHarness, clock: Clock
) -> None:
    for lane in "abc":
        post.put(f"asked h.example/{lane}", *[lane] * 9)
    served = []
    for _ in range(7):
        words = post.words()
        served += words
        clock.at += max(0, post.next_open() or 0)
    post.put("asked h.example/new", "new")
    served += post.words()
    clock.at += max(0, post.next_open() or 0)
    served += post.words()
    assert "new" in served[-2:]
    assert max(Counter(served[:6]).values()) <= 2


def test_subjects_take_turns_within_a_lane(post: QueueHarness, clock: Clock) -> None:
    """A hundred checkouts of one link delay no payer of another behind the same address."""
    lane = "asked h.example/network"

    def put(tx: Transaction) -> None:
        for number in range(8):
            body = {"word": f"many{number}"}
            outbox.put(tx, post.queue, lane, body, clock(), subject="many")
        outbox.put(tx, post.queue, lane, {"word": "few"}, clock() + 1, subject="few")

    post.db.run(put)
    clock.at += 1
    served: list[str] = []
    while len(served) < 4:
        claimed = post.claim()
        served += [one.body["word"] for one in claimed]
        post.done(*claimed)
        clock.at += max(0, post.next_open() or 0)
    assert served == ["many0", "few", "many1", "many2"]


def test_a_closed_host_gets_no_call_and_no_lane_is_forgotten(
    post: QueueHarness, clock: Clock
) -> None:
    post.put("asked a.example/0", "a")
    post.put("asked b.example/0", "b")
    post.db.run(lambda tx: groups.close_host(tx, "a.example", clock() + 30_000, clock()))
    assert post.words() == ["b"]
    assert post.next_open() == 30_000
    clock.advance(30)
    assert post.words() == ["a"]


def test_what_is_used_survives_a_restart_and_is_swept_once_it_is_past(
    post: QueueHarness, clock: Clock
) -> None:
    for number in range(3):
        post.put(f"asked a.example/{number}", f"a{number}")
    assert len(post.claim()) == 1
    again = QueueHarness(post.db, queue(HostBudget(FEW)), clock)
    assert again.claim() == []
    kept = QueueHarness(post.db, HOSTS, clock)
    assert kept.sweep() == 0
    clock.advance(3600)
    assert kept.sweep() == 2


@pytest.mark.long
def test_processes_that_claim_at_once_take_no_more_than_the_budget(
    postgres: PostgresDatabases,
) -> None:
    """Three processes with queues full of lanes: half of a burst, and not one call more."""
    url = postgres.new()
    databases = [open_database(url) for _ in range(3)]
    it = queue(HostBudget(Rate(200, 60)))

    def fill(tx: Transaction) -> None:
        for number in range(60):
            lane = f"asked {'ab'[number % 2]}.example/{number}"
            outbox.put(tx, replace(it, payloads=None), lane, {"word": lane}, NOW)

    databases[0].run(fill)
    start = threading.Barrier(3)

    def work(database: Database) -> list[str]:
        start.wait()
        found = []
        for _ in range(40):
            for message in database.run(lambda tx: outbox.claim(tx, it, NOW + 1, 5)):
                found.append(message.lane)
                database.run(partial(outbox.done, queue=it, message=message, now=NOW + 1))
        return found

    with ThreadPoolExecutor(3) as pool:
        claimed = [lane for found in pool.map(work, databases) for lane in found]
    for database in databases:
        database.close()
    assert Counter(lane.partition("/")[0] for lane in claimed) == {
        "asked a.example": 5,
        "asked b.example": 5,
    }
