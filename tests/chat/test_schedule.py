"""What happens by time alone: at its time, once, also after a stop, also when the clock is set."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import pytest

from bot.chat import schedule
from bot.chat.schedule import LONGEST_WAIT, Clockwork
from bot.chat.store import posts
from bot.chat.store.listings import STOPPED
from bot.chat.store.posts import LAPSE
from tests.support.chat_harness import DROP, answer
from tests.support.product_process import until

if TYPE_CHECKING:
    from bot.chat.model.answers import Answer
    from bot.chat.store.listings import Listing
    from tests.support.chat_harness import ChatHarness
    from tests.support.shared_cards import SharedCards

HOUR = 3600


@pytest.fixture
def work(relay: ChatHarness) -> Clockwork:
    return Clockwork(relay.db, relay.queues, relay.clock)


def listed(show: SharedCards, told: Answer) -> Listing:
    listing = show.relay.add_listing(show.relay.add_person("Sam"), DROP, told)
    show.change(listing, lambda _tx: None)
    return listing


async def test_a_card_opens_and_expires_by_itself(show: SharedCards, work: Clockwork) -> None:
    now = show.relay.clock()
    told = answer(enabled_at=now + HOUR * 1000, expires_at=now + 2 * HOUR * 1000)
    listing = listed(show, told)
    card = await show.card(listing)
    assert "Scheduled: not open yet" in card.text
    assert await work.tick() == LONGEST_WAIT
    show.relay.clock.advance(HOUR)
    await work.tick()
    await show.work_later(1)
    assert "🟢 5 of 5 left" in card.text
    show.relay.clock.advance(HOUR)
    await work.tick()
    await show.work_later(1)
    assert "Expired: it can't be paid any more" in card.text


async def test_the_next_look_is_when_something_is_due(show: SharedCards, work: Clockwork) -> None:
    listed(show, answer(expires_at=show.relay.clock() + 12_000))
    assert await work.tick() == 12
    show.relay.clock.advance(12)
    assert await work.tick() == LONGEST_WAIT


async def test_what_came_due_while_nobody_ran_is_done_once_at_the_start(
    show: SharedCards, relay: ChatHarness
) -> None:
    card = await show.card(listed(show, answer(expires_at=relay.clock() + HOUR * 1000)))
    relay.clock.advance(24 * HOUR)
    for _ in range(2):
        await Clockwork(relay.db, relay.queues, relay.clock).tick()
        await show.work_later(1)
    assert "Expired" in card.text
    assert show.edits() == 1


async def test_the_service_is_asked_when_a_reservation_may_have_lapsed(
    show: SharedCards, work: Clockwork
) -> None:
    """Only it knows whether the unit was sold."""
    told = answer(total_units=5, remaining_units=4, reserved_units=1)
    listing = listed(show, told)
    show.relay.clock.advance(LAPSE / 1000 - 1)
    await work.tick()
    assert show.relay.calls == []
    show.relay.clock.advance(1)
    await work.tick()
    await work.tick()
    assert [(call["call"], call["listing"]) for call in show.relay.calls] == [("look", listing.id)]


async def test_a_stopped_request_is_not_asked_about(show: SharedCards, work: Clockwork) -> None:
    listing = listed(show, answer(total_units=5, remaining_units=4, reserved_units=1))
    show.state(listing, STOPPED)
    show.relay.clock.advance(LAPSE / 1000)
    await work.tick()
    assert show.relay.calls == []


async def test_more_than_one_batch_is_done_at_once(
    show: SharedCards, work: Clockwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "BATCH", 2)
    for number in range(5):
        listed(show, answer(id=f"{number}" * 24, expires_at=show.relay.clock() + 1000))
    show.relay.clock.advance(1)
    await work.tick()
    assert show.relay.db.run(posts.next_due) is None


async def test_a_clock_that_is_set_back_leaves_nothing_waiting_for_the_time_that_was(
    show: SharedCards, relay: ChatHarness
) -> None:
    """A reservation is looked at in time, though it was counted on a clock that ran ahead."""
    steady = relay.clock()
    work = Clockwork(relay.db, relay.queues, relay.clock, lambda: steady)
    listing = listed(show, answer(total_units=5, remaining_units=4, reserved_units=1))
    await work.tick()
    relay.clock.advance(-24 * HOUR)
    await work.tick()
    row = next(row for row in relay.rows("listings") if row["id"] == listing.id)
    assert 0 <= row["due_at"] - relay.clock() <= LAPSE


async def test_it_wakes_for_what_is_written_meanwhile(relay: ChatHarness, work: Clockwork) -> None:
    """A request that ends in seconds does not wait for the next look half a minute on."""

    async def is_over(listing_id: str) -> bool:
        sql = "SELECT due_at FROM listings WHERE id = :id"
        return (await relay.db.query(sql, id=listing_id))[0]["due_at"] is None

    running = asyncio.create_task(work.run())
    for letter in "ab":  # at the second it has looked, and waits
        told = answer(id=letter * 24, expires_at=relay.clock() + 1)
        listing = relay.add_listing(relay.add_person("Sam"), DROP, told)
        await relay.db.transaction(
            partial(posts.refresh, queues=relay.queues, listing_id=listing.id, now=relay.clock())
        )
        relay.clock.advance(1)
        await until(partial(is_over, listing.id))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
