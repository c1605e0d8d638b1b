"""One message for many: what a lane may not send in time is brought together and stays so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from bot.core.database.database import Database, Transaction
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import ALERT, Pace, Queue
from tests.support.databases import statements_of
from tests.support.outbox_queue import QueueHarness
from tests.support.service_harness import Clock

BURST, MOST = 3, 5


def gather(bodies: Iterable[Mapping[str, Any]]) -> tuple[int, dict[str, Any]] | None:
    """Join words, as many as five of them; what begins with ! stays alone."""
    words = [str(body["word"]) for body in islice(bodies, MOST)]
    alone = next((n for n, word in enumerate(words) if word.startswith("!")), len(words))
    return (alone, {"word": "+".join(words[:alone])}) if alone > 1 else None


def paced(total: Pace | None = None) -> Queue:
    lane = Pace(1_000, BURST)
    return Queue("test", lease=60_000, pace=total, lane_pace=lambda _lane: lane, gather=gather)


@pytest.fixture
def post(db: Database, clock: Clock) -> QueueHarness:
    return QueueHarness(db, paced(), clock)


def sent(post: QueueHarness) -> list[str]:
    """Claim and settle until nothing more may go at this moment."""
    words = []
    while found := post.claim(1):
        words.append(found[0].body["word"])
        post.done(*found)
    return words


def use_up(post: QueueHarness) -> None:
    """Send the first two, so that after the next one the lane has to wait."""
    for _ in range(BURST - 1):
        post.done(post.first())


def test_messages_of_a_burst_go_alone_and_the_rest_with_its_last_one(
    post: QueueHarness,
) -> None:
    post.put("a", *"123456")
    assert sent(post) == ["1", "2", "3+4+5+6"]
    assert post.rows() == []


def test_a_rate_limited_lane_joins_messages_that_came_meanwhile(post: QueueHarness) -> None:
    post.put("a", *"123")
    sent(post)
    post.put("a", *"456")
    assert sent(post) == []
    post.clock.advance(1)
    assert sent(post) == ["4+5+6"]


def test_without_a_rate_limit_nothing_is_joined(db: Database, clock: Clock) -> None:
    post = QueueHarness(db, Queue("test", lease=60_000, gather=gather), clock)
    post.put("a", *"123456")
    assert sent(post) == [*"123456"]


def test_messages_beyond_the_limit_are_joined_to_the_next(post: QueueHarness) -> None:
    post.put("a", "1", "2", *"3456789")
    assert sent(post) == ["1", "2", "3+4+5+6+7"]
    post.clock.advance(1)
    assert sent(post) == ["8+9"]


def test_a_message_takes_up_a_hundred_others(db: Database, clock: Clock) -> None:
    def gather_all(bodies: Iterable[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:
        words = [str(body["word"]) for body in bodies]
        return len(words), {"word": "+".join(words)}

    post = QueueHarness(db, replace(paced(), gather=gather_all), clock)
    post.put("a", *"x" * (BURST - 1 + 120))
    use_up(post)
    assert post.first().body["word"].count("x") == 1 + 100


def test_a_message_that_stays_alone_keeps_its_place(post: QueueHarness) -> None:
    post.put("a", "1", "2", "3", "4", "!5", "6", "7")
    assert sent(post) == ["1", "2", "3+4"]
    post.clock.advance(1)
    assert sent(post) == ["!5"]
    post.clock.advance(1)
    assert sent(post) == ["6+7"]


def test_only_messages_of_one_class_are_joined(post: QueueHarness) -> None:
    post.put("a", "1", "2", "3", "4", priority=ALERT)
    post.put("a", "reply")
    assert sent(post) == ["reply", "1", "2+3+4"]


def test_a_message_at_work_is_neither_joined_nor_lost(db: Database, clock: Clock) -> None:
    """It lies between those that are joined, because the first one was put back."""
    post = QueueHarness(db, replace(paced(), ordered=False, width=2), clock)
    post.put("a", "1")
    first = post.first()
    post.put("a", "2")
    second = post.first()
    post.retry(first, 0)
    post.put("a", "3", "4")
    (joined,) = post.claim(1)
    assert joined.body["word"] == "1+3+4"
    assert post.states()["2"] == "leased"
    post.done(joined, second)
    assert post.rows() == []


def test_only_messages_that_may_go_now_are_joined(post: QueueHarness) -> None:
    post.put("a", "1", "2", "3")
    post.put_later("a", "4", 60)
    assert sent(post) == ["1", "2", "3"]


def test_lanes_join_messages_if_the_queue_cannot_serve_them_within_a_second(
    db: Database, clock: Clock
) -> None:
    """Each lane has its own burst left, but the queue's rate limit would delay them all."""
    post = QueueHarness(db, paced(Pace(500)), clock)
    for lane in "abcd":
        post.put(lane, f"{lane}1", f"{lane}2")
    words: list[str] = []
    for _ in range(12):
        words += sent(post)
        clock.advance(0.5)
    assert words == ["a1+a2", "b1+b2", "c1", "d1", "c2", "d2"]


def test_a_lost_answer_repeats_the_same_joined_messages(post: QueueHarness) -> None:
    """The joined body is stored at the claim: later messages are not added to an uncertain one."""
    post.put("a", *"12345")
    use_up(post)
    lost = post.first()
    assert lost.body == {"word": "3+4+5"}
    post.put("a", "6")
    post.clock.advance(61)
    again = post.first()
    assert (again.body, again.uncertain) == ({"word": "3+4+5"}, True)
    post.done(again)
    post.clock.advance(1)
    assert sent(post) == ["6"]


def test_uncertain_messages_are_not_joined(post: QueueHarness) -> None:
    """Behind one that is not, in a lane that it was moved into: what follows it waits too."""
    post.put("new", *"123")
    post.put("old", "4")
    first, doubtful = sorted(post.claim(), key=lambda message: message.lane)
    assert (first.lane, doubtful.lane) == ("new", "old")
    post.retry(first, 0)
    post.db.run(
        lambda tx: outbox.retry(tx, post.queue, doubtful, post.clock(), "lost", uncertain=True)
    )
    post.db.run(lambda tx: outbox.move_lane(tx, post.queue, "old", "new"))
    post.put("new", "5")
    assert sent(post) == ["1", "2+3"]
    for word in ("4", "5"):
        post.clock.advance(1)
        assert sent(post) == [word]


def test_a_message_that_was_not_sent_may_join_more_on_its_retry(post: QueueHarness) -> None:
    post.put("a", *"1234")
    use_up(post)
    post.retry(post.first(), 0)
    post.put("a", "5")
    post.clock.advance(1)
    assert sent(post) == ["3+4+5"]


def test_joining_is_undone_with_its_transaction(post: QueueHarness) -> None:
    """The joining and the lease are one transaction: a crash between them leaves all as it was."""
    post.put("a", *"12345")
    use_up(post)

    class Crash(Exception):
        pass

    def claim(tx: Any) -> None:
        assert outbox.claim(tx, post.queue, post.clock(), 1)[0].body == {"word": "3+4+5"}
        raise Crash

    with pytest.raises(Crash):
        post.db.run(claim)
    assert post.states() == {"3": "waiting", "4": "waiting", "5": "waiting"}


def test_four_messages_are_joined_by_as_many_statements_as_two(post: QueueHarness) -> None:
    def claim(tx: Transaction) -> None:
        outbox.claim(tx, post.queue, post.clock(), 1)

    counts = []
    for lane, words in (("a", "1234"), ("b", "123456")):
        post.put(lane, *words)
        for _ in range(BURST - 1):
            post.done(post.first())
        counts.append(len(post.db.run(statements_of(claim))))
    assert counts[0] == counts[1]
    assert [row["body"] for row in post.rows()] == ['{"word":"3+4"}', '{"word":"3+4+5+6"}']
