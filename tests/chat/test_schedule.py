"""What happens by time alone: at its time, once, also after a stop, also when the clock is set."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from bot.chat.alerts import schedule
from bot.chat.alerts.schedule import LONGEST_WAIT, Schedule
from bot.chat.model.jobs import CheckRequest
from bot.chat.model.remote_request import RESERVATION_LAPSE, RemoteRequest
from bot.chat.store import post_rows
from bot.chat.store.link_rows import STOPPED, PaymentLink
from tests.support.chat_harness import DROP, ChatHarness, service_answer
from tests.support.product_process import until
from tests.support.shared_cards import SharedCards

HOUR = 3600


@pytest.fixture
def work(chat: ChatHarness) -> Schedule:
    return Schedule(chat.db, chat.queues, chat.clock)


def listed(cards: SharedCards, told: RemoteRequest) -> PaymentLink:
    link = cards.chat.add_link(cards.chat.add_person("Sam"), DROP, told)
    cards.change(link, lambda _tx: None)
    return link


async def test_a_card_opens_and_expires_by_itself(cards: SharedCards, work: Schedule) -> None:
    now = cards.chat.clock()
    told = service_answer(enabled_at=now + HOUR * 1000, expires_at=now + 2 * HOUR * 1000)
    link = listed(cards, told)
    card = await cards.card(link)
    assert "Scheduled: not open yet" in card.text
    assert await work.tick() == LONGEST_WAIT[cards.chat.db.engine]
    cards.chat.clock.advance(HOUR)
    await work.tick()
    await cards.work_later(1)
    assert "🟢 5 of 5 left" in card.text
    cards.chat.clock.advance(HOUR)
    await work.tick()
    await cards.work_later(1)
    assert "Expired: can't be paid any more" in card.text


async def test_the_next_check_is_when_something_is_due(cards: SharedCards, work: Schedule) -> None:
    listed(cards, service_answer(expires_at=cards.chat.clock() + 12_000))
    assert await work.tick() == min(12, LONGEST_WAIT[cards.chat.db.engine])
    cards.chat.clock.advance(12)
    assert await work.tick() == LONGEST_WAIT[cards.chat.db.engine]


async def test_overdue_work_is_done_once_at_the_start(
    cards: SharedCards, chat: ChatHarness
) -> None:
    card = await cards.card(listed(cards, service_answer(expires_at=chat.clock() + HOUR * 1000)))
    chat.clock.advance(24 * HOUR)
    for _ in range(2):
        await Schedule(chat.db, chat.queues, chat.clock).tick()
        await cards.work_later(1)
    assert "Expired" in card.text
    assert cards.edits() == 1


async def test_the_service_is_asked_when_a_reservation_may_have_lapsed(
    cards: SharedCards, work: Schedule
) -> None:
    """Only the service knows whether the unit was sold."""
    told = service_answer(total_units=5, remaining_units=4, reserved_units=1)
    link = listed(cards, told)
    cards.chat.clock.advance(RESERVATION_LAPSE / 1000 - 1)
    await work.tick()
    assert cards.chat.jobs == []
    cards.chat.clock.advance(1)
    await work.tick()
    await work.tick()
    assert cards.chat.jobs == [CheckRequest(link.id)]


async def test_a_stopped_request_is_not_checked(cards: SharedCards, work: Schedule) -> None:
    link = listed(cards, service_answer(total_units=5, remaining_units=4, reserved_units=1))
    cards.state(link, STOPPED)
    cards.chat.clock.advance(RESERVATION_LAPSE / 1000)
    await work.tick()
    assert cards.chat.jobs == []


async def test_several_batches_are_done_at_once(
    cards: SharedCards, work: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "BATCH", 2)
    for number in range(5):
        listed(cards, service_answer(id=f"{number}" * 24, expires_at=cards.chat.clock() + 1000))
    cards.chat.clock.advance(1)
    await work.tick()
    assert cards.chat.db.run(post_rows.next_due) is None


async def test_a_new_time_wakes_the_schedule(chat: ChatHarness, work: Schedule) -> None:
    """A request that ends in seconds does not wait for the next check in half a minute."""

    async def is_over(link_id: str) -> bool:
        sql = "SELECT due_at FROM listings WHERE id = :id"
        return (await chat.db.query(sql, id=link_id))[0]["due_at"] is None

    running = asyncio.create_task(work.run())
    for letter in "ab":  # at the second it has looked, and waits
        told = service_answer(id=letter * 24, expires_at=chat.clock() + 1)
        link = chat.add_link(chat.add_person("Sam"), DROP, told)
        await chat.db.transaction(
            partial(post_rows.refresh, queues=chat.queues, link_id=link.id, now=chat.clock())
        )
        chat.clock.advance(1)
        await until(partial(is_over, link.id))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
