"""Accounts: whoever was served least goes first, over all lanes; order in a lane stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import pytest

from bot.core.database.database import Database, Row, Transaction
from bot.core.database.opening import open_database
from bot.core.outbox import leases, outbox
from bot.core.outbox.fairness import MAX_LAG
from bot.core.outbox.queue_policy import Pace, Queue
from tests.support.outbox_queue import QueueHarness, claim
from tests.support.service_harness import Clock

SECOND = 1_000
BURST = 3
QUEUE = Queue("test", lease=60_000, account_pace=Pace(SECOND, BURST))


class Crowd(QueueHarness):
    """Messages with accounts: `put` names who causes them, before the lane."""

    def cause(self, account: str, lane: str, *words: str) -> None:
        self.db.run(partial(self._cause, account=account, lane=lane, words=words))

    def _cause(self, tx: Transaction, account: str, lane: str, words: Iterable[str]) -> None:
        for word in words:
            outbox.put(tx, self.queue, lane, {"word": word}, self.clock(), account=account)

    def flood(self, accounts: int, times: int = 1) -> None:
        """Put messages of many accounts, each in a lane of its own, in turn; words name them."""

        def put(tx: Transaction) -> None:
            for number in range(accounts):
                self._cause(tx, f"{number}", f"{number:03d}", [f"{number}"])

        for _ in range(times):
            self.db.run(put)

    def serves(self, count: int = 1000) -> list[str]:
        """Claim and settle one after the other while something may go; the words."""
        words: list[str] = []
        while len(words) < count and (word := self.db.run(self._serve)):
            words.append(word)
        return words

    def _serve(self, tx: Transaction) -> str:
        for message in claim(tx, self.queue, self.clock(), 1):
            outbox.done(tx, self.queue, message, self.clock())
            return str(message.body["word"])
        return ""


@pytest.fixture
def crowd(db: Database, clock: Clock) -> Crowd:
    return Crowd(db, QUEUE, clock)


def groups(count: int) -> Iterable[str]:
    return (f"-{number:03d}" for number in range(count))


def test_an_account_has_a_clock_in_each_queue(crowd: Crowd) -> None:
    other = Crowd(crowd.db, replace(QUEUE, name="other"), crowd.clock)
    other.cause("ann", "a", *["flood"] * 20)
    crowd.cause("ann", "a", "first")
    (row,) = crowd.rows()
    assert row["rank"] == other.rows()[0]["rank"] < other.rows()[-1]["rank"]


@pytest.mark.long
def test_an_idle_account_goes_before_accounts_that_never_pause(crowd: Crowd) -> None:
    crowd.flood(40, 20)
    crowd.serves(200)
    crowd.cause("pat", "zzz", "1", "2", "3")
    assert crowd.serves(3) == ["1", "2", "3"]


def test_a_new_account_starts_at_what_was_last_served_while_others_wait(
    crowd: Crowd, clock: Clock
) -> None:
    """However far the backlog lags behind the clock."""
    crowd.cause("ann", "a", *["flood"] * 20)
    assert crowd.serves(6) == ["flood"] * 6
    clock.advance(10)
    crowd.cause("bob", "b", "hello")
    assert crowd.serves(1) == ["hello"]


@pytest.mark.long
def test_an_account_in_two_hundred_lanes_has_the_turns_of_one_account(
    crowd: Crowd,
) -> None:
    for group in groups(200):
        crowd.cause("everywhere", group, "everywhere")
    for number in range(9):
        crowd.cause(f"{number}", f"chat {number}", *[f"{number}"] * 40)
    served = Counter(crowd.serves(200))
    everywhere = served.pop("everywhere")
    assert everywhere <= 2 * min(served.values())
    assert max(served.values()) - min(served.values()) <= 1


def test_an_account_just_before_a_flood_waits_no_longer_than_the_flood(crowd: Crowd) -> None:
    crowd.cause("pat", "zzz", "1")
    crowd.flood(30, 9)
    crowd.serves(31)
    crowd.cause("pat", "zzz", "2")
    assert crowd.serves(1) == ["2"]


def test_idle_accounts_are_served_in_the_order_of_coming(crowd: Crowd) -> None:
    crowd.cause("ann", "ann", *["flood"] * 30)
    crowd.serves(10)
    for name in ("c", "a", "b"):
        crowd.cause(name, name, name)
        crowd.serves(1)
        crowd.clock.advance(1)
    crowd.cause("d", "d", "d")
    assert crowd.serves(1) == ["d"]


@pytest.mark.long
def test_endless_new_accounts_make_nobody_wait_for_ever(crowd: Crowd) -> None:
    """Each new account precedes the flood once; waiting messages get their turns nevertheless."""
    crowd.cause("flood", "flood", *["flood"] * 10)
    served: list[str] = []
    for number in range(200):
        crowd.cause(f"new {number % 20}", f"lane {number % 20}", "new")
        crowd.clock.at += 100
        served += crowd.serves(1)
    assert served.count("flood") >= 3


def test_the_order_in_a_lane_is_that_of_putting_whatever_the_account(crowd: Crowd) -> None:
    crowd.cause("ann", "group", *["flood"] * 10)
    crowd.cause("bob", "group", "bob")
    assert crowd.serves() == [*["flood"] * 10, "bob"]


def test_a_retry_keeps_its_rank(crowd: Crowd) -> None:
    crowd.cause("ann", "ann", "ann")
    (message,) = crowd.claim(1)
    crowd.cause("bob", "bob", *["flood"] * 10)
    crowd.retry(message, 1)
    crowd.clock.advance(1)
    assert crowd.serves(1) == ["ann"]


@pytest.mark.long
def test_an_account_with_a_growing_backlog_comes_behind_occasional_ones(crowd: Crowd) -> None:
    """Both accounts were idle before, and each causes more than the queue can serve."""
    lags = []
    for second in range(60):
        crowd.clock.advance(1)
        crowd.flood(30)
        if second % 3 == 0:
            crowd.cause("pat", "zzz", "pat")
        served = crowd.serves(10)
        if second % 3 == 0:
            lags.append("pat" in served)
    assert all(lags[1:])


@pytest.mark.long
def test_accounts_with_equal_backlogs_are_served_equally(crowd: Crowd) -> None:
    served: Counter[str] = Counter()
    for _ in range(60):
        crowd.clock.advance(1)
        crowd.flood(30)
        served.update(crowd.serves(10))
    assert max(served.values()) - min(served.values()) <= 4
    assert len(served) == 30


def test_a_duplicate_costs_its_account_nothing(crowd: Crowd) -> None:
    def again(tx: Transaction) -> bool:
        return outbox.put(tx, QUEUE, "ann", {}, crowd.clock(), key="k", account="ann")

    assert [crowd.db.run(again) for _ in range(3)] == [True, False, False]
    crowd.cause("bob", "bob", "bob")
    ranks = {row["lane"]: row["arrival_at"] for row in accounts_of(crowd)}
    assert ranks["@ann"] == ranks["@bob"]


def accounts_of(crowd: Crowd) -> list[Row]:
    sql = "SELECT lane, arrival_at FROM lanes WHERE lane LIKE '@%'"
    return crowd.db.run(lambda tx: tx.query(sql))


def test_the_clock_of_an_account_survives_a_restart(
    crowd: Crowd, clock: Clock, database_url: str
) -> None:
    crowd.cause("ann", "ann", *["flood"] * 20)
    again = open_database(database_url)
    again.run(lambda tx: leases.recover(tx, QUEUE, clock()))
    restarted = Crowd(again, QUEUE, clock)
    restarted.cause("ann", "elsewhere", "ann again")
    restarted.cause("bob", "bob", *["bob"] * 20)
    words = restarted.serves(20)
    again.close()
    assert "ann again" not in words
    assert words.count("bob") >= 9


def test_a_clock_that_was_ahead_does_not_delay_an_account_for_ever(
    crowd: Crowd, clock: Clock
) -> None:
    clock.advance(10 * MAX_LAG)
    crowd.cause("ann", "ann", "early")
    clock.advance(-10 * MAX_LAG)
    crowd.db.run(lambda tx: leases.recover(tx, QUEUE, clock()))
    (row,) = accounts_of(crowd)
    assert row["arrival_at"] <= clock() + MAX_LAG * SECOND


def test_lanes_opened_before_accounts_were_known_are_served_too(db: Database, clock: Clock) -> None:
    """This is the state after a run without Telegram's limits."""
    QueueHarness(db, Queue("test", lease=60_000), clock).put("old", "old")
    crowd = Crowd(db, QUEUE, clock)
    db.run(lambda tx: leases.recover(tx, QUEUE, clock()))
    crowd.cause("ann", "ann", "ann")
    assert sorted(crowd.serves()) == ["ann", "old"]


def test_a_sweep_deletes_idle_accounts_alone(crowd: Crowd) -> None:
    crowd.cause("ann", "ann", "once")
    crowd.cause("bob", "bob", *["flood"] * 20)
    crowd.serves()
    crowd.clock.advance(2)
    crowd.sweep()
    assert [row["lane"] for row in accounts_of(crowd)] == ["@bob"]
