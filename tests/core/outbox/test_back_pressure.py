"""Back-pressure: updates wait, stored and in order, while their replies could not be sent soon."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pytest

from bot.chat.model.queues import REPLIES_WAITING, make_queues
from bot.core.database.database import Database, Transaction
from bot.core.net.rates import Rate
from bot.core.outbox import lanes, outbox
from bot.core.outbox.claiming import next_claim
from bot.core.outbox.fairness import CHECK_INTERVAL
from bot.core.outbox.queue_policy import ALERT, REPLY
from tests.support.outbox_queue import QueueHarness
from tests.support.service_harness import Clock

QUEUES = make_queues(Rate(30, 1), Rate(1, 1), Rate(20, 60))
MOST_OPEN = 15


@dataclass
class House:
    """Updates that each cause one reply in their chat, and the messages that are to be sent."""

    updates: QueueHarness
    messages: QueueHarness

    def hears(self, person: str, chat: str, count: int = 1) -> None:
        for _ in range(count):
            self.updates.db.run(partial(self._hear, person=person, chat=chat))

    def _hear(self, tx: Transaction, person: str, chat: str) -> None:
        outbox.put(tx, QUEUES.updates, chat, {"word": person}, self.updates.clock(), account=person)

    def handles(self) -> list[str]:
        """Handle all that may be handled now, as a worker does; who is answered."""
        answered = []
        while claimed := self.updates.claim(8):
            for message in claimed:
                answered.append(message.body["word"])
                self.messages.put(message.lane, f"to {message.body['word']}")
                self.updates.done(message)
        return answered

    def sends(self) -> list[str]:
        """Send all that may go now; the words."""
        words = []
        while claimed := self.messages.claim(8):
            words += [message.body["word"] for message in claimed]
            self.messages.done(*claimed)
        return words

    def waiting(self, priority: int = REPLY) -> int:
        rows = self.messages.rows()
        return sum(row["state"] == "waiting" and row["priority"] == priority for row in rows)


@pytest.fixture
def house(db: Database, clock: Clock) -> House:
    return House(QueueHarness(db, QUEUES.updates, clock), QueueHarness(db, QUEUES.messages, clock))


def test_a_burst_of_twenty_presses_is_handled_at_once(house: House) -> None:
    house.hears("pat", "7", 20)
    assert len(house.handles()) == 20


def test_a_chat_with_as_many_replies_as_may_wait_is_held(house: House) -> None:
    house.hears("pat", "7", REPLIES_WAITING + 1)
    assert len(house.handles()) == REPLIES_WAITING


@pytest.mark.long
def test_updates_beyond_the_reply_limit_of_a_chat_wait_in_order(house: House, clock: Clock) -> None:
    house.hears("pat", "7", 60)
    handled = len(house.handles())
    assert handled == REPLIES_WAITING
    for _ in range(120):
        clock.at += 500
        house.sends()
        handled += len(house.handles())
        assert house.waiting() <= REPLIES_WAITING
    assert handled == 60
    assert set(house.updates.states().values()) == {"done"}


def test_a_paused_chat_delays_no_update(house: House) -> None:
    """It may be the one that opens it again."""
    house.hears("pat", "7", REPLIES_WAITING)
    house.handles()
    house.messages.db.run(lambda tx: lanes.pause(tx, QUEUES.messages, "7", "blocked"))
    house.hears("pat", "7")
    assert house.handles() == ["pat"]


def test_updates_wait_while_more_chats_could_be_answered_than_half_a_second_allows(
    house: House, clock: Clock
) -> None:
    for number in range(25):
        house.hears(f"{number}", f"{100 + number}")
    assert len(house.handles()) == MOST_OPEN
    now = clock()
    look = house.updates.db.run(lambda tx: next_claim(tx, QUEUES.updates, now))
    assert (look.at, look.is_full) == (now + CHECK_INTERVAL, False)
    assert len(house.sends()) == 2
    assert len(house.handles()) == 2


def test_waiting_alerts_delay_no_update(house: House) -> None:
    for number in range(100):
        house.messages.put(f"{number}", "paid", priority=ALERT)
    house.hears("pat", "7")
    assert house.handles() == ["pat"]


def test_updates_altogether_keep_to_the_rate_of_messages(house: House, clock: Clock) -> None:
    """Those that nothing is answered to cost time as well."""
    for number in range(100):
        house.hears(f"{number}", f"{number}")

    def take() -> int:
        taken = 0
        while claimed := house.updates.claim(8):
            taken += len(claimed)
            house.updates.done(*claimed)
        return taken

    assert take() == 30
    clock.advance(1)
    assert take() == 29  # every 34 ms


@pytest.mark.long
def test_one_person_in_a_hundred_and_twenty_groups_delays_neither_alerts_nor_anybody(
    house: House, clock: Clock
) -> None:
    for number in range(120):
        house.hears("everywhere", f"-{number + 1}", 3)
    lags: dict[str, list[int]] = {"paid": [], "to pat": []}
    began: dict[str, int] = {}
    for step in range(120):
        clock.at += 35
        if step % 10 == 5:
            house.messages.put(f"{1000 + step}", f"paid {step}", priority=ALERT)
            house.hears(f"pat {step}", f"{2000 + step}")
            began |= {f"paid {step}": clock(), f"to pat {step}": clock()}
        house.handles()
        for word in house.sends():
            if word in began:
                lags[word.rpartition(" ")[0]].append(clock() - began.pop(word))
    assert max(lags["paid"]) <= 70
    assert max(lags["to pat"]) <= 1000
    assert len(lags["to pat"]) >= 9


@pytest.mark.parametrize(
    ("total", "chat", "expected"),
    [(None, None, (None, None)), (None, Rate(1, 1), (None, REPLIES_WAITING))],
)
def test_without_a_rate_limit_nobody_waits(
    total: Rate | None, chat: Rate | None, expected: tuple[int | None, int | None]
) -> None:
    updates = make_queues(total, chat, None).updates
    back_pressure = updates.back_pressure
    assert updates.pace is None
    assert (
        back_pressure.most_open if back_pressure else None,
        back_pressure.most_waiting if back_pressure else None,
    ) == expected
