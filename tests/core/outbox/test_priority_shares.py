"""Shares: classes take turns by weight, none starves another, no restart grants a turn twice."""

from __future__ import annotations

from collections import Counter

import pytest

from bot.chat.model.queues import CLASS_WIDTH, SENT_AT_ONCE, make_queues
from bot.core.database.database import Database
from bot.core.database.opening import open_database
from bot.core.net.rates import Rate
from bot.core.outbox import leases
from bot.core.outbox.claiming import NextClaim, next_claim
from bot.core.outbox.fairness import NOTICE_PATIENCE
from bot.core.outbox.queue_policy import ALERT, NOTICE, REPLY, Pace, Queue
from tests.support.outbox_queue import QueueHarness
from tests.support.service_harness import Clock

NAMES = {REPLY: "R", ALERT: "A", NOTICE: "N"}


def sends(post: QueueHarness, count: int) -> str:
    """Claim and settle one after the other; the classes, a letter each."""
    classes = ""
    for _ in range(count):
        (message,) = post.claim(1)
        classes += NAMES[message.priority]
        post.done(message)
    return classes


def waiting(post: QueueHarness, **counts: int) -> None:
    """Put so many lanes with a message of each class: replies, alerts, notices.

    The notices have waited long enough to take turns.
    """
    for (name, count), priority in zip(counts.items(), (REPLY, ALERT, NOTICE), strict=False):
        for number in range(count):
            post.put(f"{name}{number:03d}", name, priority=priority)
    post.clock.advance(NOTICE_PATIENCE / 1000)


TURNS = [
    # replies, alerts and notices that wait, and the order in which they go
    (16, 16, 16, "RAARAANARAARAANA"),
    (16, 16, 0, "RAARAAARAARAAARA"),
    (16, 0, 16, "RRNRRNRRNRRN"),
    (0, 16, 16, "AAAANAAAAANAAAAA"),
    (16, 2, 0, "RAARRRRRRRRR"),
    (0, 0, 8, "NNNNNNNN"),
]


def test_waiting_classes_take_turns_and_unused_turns_go_to_the_others(
    db: Database, clock: Clock
) -> None:
    for replies, alerts, notices, order in TURNS:
        post = QueueHarness(db, Queue(order, lease=60_000), clock)
        waiting(post, reply=replies, alert=alerts, notice=notices)
        assert sends(post, len(order)) == order


def test_a_new_notice_leaves_its_turns_to_alerts_and_not_to_replies(post: QueueHarness) -> None:
    waiting(post, reply=0, alert=9)
    for number in range(3):
        post.put(f"card {number}", "card", priority=NOTICE)
    assert sends(post, 6) == "AAAAAA"
    post.put("pat", *"1234")
    assert sends(post, 5) == "RAARA"
    assert sends(post, 5) == "NRRNN"


def test_turns_are_those_of_the_whole_queue_at_its_pace(db: Database, clock: Clock) -> None:
    """One claim a turn, as Telegram's rate has it: the cycle goes on from claim to claim."""
    post = QueueHarness(db, Queue("test", lease=60_000, pace=Pace(35)), clock)
    waiting(post, reply=8, alert=8)
    classes = ""
    for _ in range(8):
        (message,) = post.claim(8)
        classes += NAMES[message.priority]
        clock.at += 35
    assert classes == "RAARAAAR"


def test_a_restart_grants_no_class_a_turn_twice(
    post: QueueHarness, clock: Clock, database_url: str
) -> None:
    waiting(post, reply=9, alert=9, notice=9)
    assert sends(post, 3) == "RAA"
    again = open_database(database_url)
    restarted = QueueHarness(again, post.queue, clock)
    again.run(lambda tx: leases.recover(tx, post.queue, clock()))
    assert sends(restarted, 5) == "RAANA"
    again.close()


def test_turns_in_a_lane_and_among_lanes_are_counted_apart(post: QueueHarness) -> None:
    post.put("a", *"1234")
    post.put("a", *"1234", priority=ALERT)
    post.put("b", *"1234")
    assert Counter(sends(post, 12)) == {"R": 8, "A": 4}


def test_a_class_alone_costs_no_statement(post: QueueHarness) -> None:
    post.put("a", "1")
    post.put("b", "2")
    sends(post, 2)
    rows = post.db.run(lambda tx: tx.query("SELECT lane, turn FROM lanes ORDER BY lane"))
    assert rows == [{"lane": "a", "turn": 0}, {"lane": "b", "turn": 0}]


@pytest.fixture
def messages(db: Database, clock: Clock) -> QueueHarness:
    """The product's own queue of messages, with Telegram's rates lifted."""
    return QueueHarness(db, make_queues(None, None, None).messages, clock)


@pytest.mark.parametrize("priority", [REPLY, NOTICE])
def test_calls_that_hang_leave_alerts_connections_that_are_theirs(
    messages: QueueHarness, priority: int
) -> None:
    for number in range(20):
        messages.put(f"{number}", "slow", priority=priority)
    hanging = messages.claim(SENT_AT_ONCE)
    assert len(hanging) == CLASS_WIDTH[priority]
    assert messages.claim(SENT_AT_ONCE - len(hanging)) == []
    for number in range(20, 40):
        messages.put(f"{number}", "paid", priority=ALERT)
    alerts = messages.claim(SENT_AT_ONCE - len(hanging))
    assert {message.priority for message in alerts} == {ALERT}
    assert len(hanging) + len(alerts) == SENT_AT_ONCE


def test_a_full_class_is_waited_for_until_one_of_it_ends(messages: QueueHarness) -> None:
    for number in range(20):
        messages.put(f"{number:02d}", f"{number}")
    hanging = messages.claim(SENT_AT_ONCE)

    def coming() -> NextClaim:
        return messages.db.run(lambda tx: next_claim(tx, messages.queue, messages.clock()))

    assert coming() == NextClaim(None, is_full=True)
    messages.put("30", "paid", priority=ALERT)
    assert coming() == NextClaim(messages.clock(), is_full=True)
    messages.done(hanging[0])
    assert coming() == NextClaim(messages.clock(), is_full=False)
    assert len(messages.claim(SENT_AT_ONCE)) == 2


@pytest.mark.long
def test_telegrams_limits_do_not_change_the_shares(db: Database, clock: Clock) -> None:
    """Forty chats that are always answered, one alert a second: each goes within two turns."""
    post = QueueHarness(db, make_queues(Rate(30, 1), Rate(1, 1), Rate(20, 60)).messages, clock)
    for number in range(40):
        post.put(f"{1000 + number}", *map(str, range(20)))
    lags = []
    for number in range(5):
        clock.advance(1)
        post.put(f"{number + 1}", "paid", priority=ALERT)
        began = clock()
        while (message := post.first()).priority != ALERT:
            post.done(message)
            clock.at += max(0, post.next_open() or 0)
        post.done(message)
        lags.append(clock() - began)
    assert max(lags) <= 70


@pytest.mark.long
@pytest.mark.parametrize("urgent", [ALERT, REPLY])
def test_alerts_and_replies_wait_for_no_older_notice_of_their_chat(
    messages: QueueHarness, clock: Clock, urgent: int
) -> None:
    """Otherwise it would wait among the notices of all chats: 600 of them take 20 seconds."""
    for number in range(600):
        messages.put(f"{number}", "refresh", priority=NOTICE)
    clock.advance(1)
    messages.put("seller", "refresh", priority=NOTICE)
    clock.advance(1)
    messages.put("seller", "urgent", priority=urgent)
    assert messages.claim(1)[0].body["word"] == "urgent"


def test_an_alert_waits_for_no_older_reply_of_its_own_chat(
    post: QueueHarness, clock: Clock
) -> None:
    for number in range(40):
        post.put(f"{number}", "reply")
    post.put("seller", "reply")
    clock.advance(1)
    post.put("seller", "paid", priority=ALERT)
    assert "A" in sends(post, 4)
