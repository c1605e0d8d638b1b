"""The daily summary: revenue by request, once a day at the seller's local time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime
from functools import partial
from zoneinfo import ZoneInfo

import pytest

from bot.chat.cards import schedule
from bot.chat.cards.schedule import LONGEST_WAIT, Schedule
from bot.chat.model import moments
from bot.chat.model.jobs import CheckRequest
from bot.chat.model.payloads import ClaimAlert
from bot.chat.model.remote_request import RESERVATION_LAPSE, RemoteRequest
from bot.chat.store import claim_rows, post_rows, seller_rows
from bot.chat.store.claim_rows import Claim
from bot.chat.store.link_rows import STOPPED, PaymentLink
from bot.chat.store.payment_rows import Payment
from bot.core.database.database import Transaction
from bot.core.outbox import lanes
from bot.core.outbox.queue_policy import NOTICE
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, DROP, STICKERS, ChatHarness, service_answer
from tests.support.product_process import until
from tests.support.shared_cards import SharedCards
from tests.support.telegram_limits import parsed
from tests.support.webhook_sender import HELD, record_claim

EVENING = 20 * 60
DAY = 24 * 3600


def spec(chat: ChatHarness, person: Person, minute: int = EVENING, zone: str = "UTC") -> None:
    """Switch a seller's summary on, as the form does."""

    def save(tx: Transaction) -> None:
        seller_rows.ensure_seller(tx, person.id, "en", chat.clock())
        seller_rows.change(tx, person.id, zone=zone)
        due_at = moments.next_epoch_at(minute, chat.clock(), zone)
        seller_rows.change(tx, person.id, summary=minute, summary_at=due_at)

    chat.db.run(save)


def put(chat: ChatHarness) -> list[str]:
    """Queue the due summaries and return their texts."""
    chat.clear_messages()
    chat.db.run(lambda tx: schedule.enqueue_summaries(chat.step(tx)))
    return chat.texts


def pay(
    chat: ChatHarness,
    link: PaymentLink,
    number: int,
    currency: str = "USD",
    *,
    oversold: bool = False,
) -> None:
    paid = Payment(link.request_id or "", f"t{number}", 500, currency, {}, oversold=oversold)

    def record(tx: Transaction) -> None:
        chat.recorder.record(tx, link.id, paid, None)

    chat.db.run(record)


def due_at(chat: ChatHarness, zone: str) -> str:
    (row,) = chat.rows("sellers")
    at = datetime.fromtimestamp(row["summary_at"] / 1000, ZoneInfo(zone))
    return f"{at:%Y-%m-%d %H:%M}"


def at(chat: ChatHarness, shown: str, zone: str) -> None:
    """Set the clock to a local time in a zone."""
    moment = datetime.fromisoformat(shown).replace(tzinfo=ZoneInfo(zone))
    chat.clock.at = int(moment.timestamp() * 1000)


def test_no_summary_is_early_or_unrequested(chat: ChatHarness, sam: Person) -> None:
    spec(chat, sam)
    chat.add_link(chat.add_person("Pat"))
    chat.clock.advance(12 * 3600 - 1)
    assert put(chat) == []
    chat.clock.advance(1)
    assert put(chat) == ["📊 No payments in the last 24 hours."]
    (row,) = [row for row in chat.rows("outbox") if row["queue"] == "messages"]
    assert (row["lane"], row["priority"]) == (str(sam.id), NOTICE)
    assert put(chat) == []


def test_a_summary_shows_revenue_and_units_left_by_request(chat: ChatHarness, sam: Person) -> None:
    """Sums by currency, the request with the most payments first, and the total."""
    spec(chat, sam)
    pack = chat.add_link(sam, STICKERS, service_answer(id="s", total_units=3, remaining_units=3))
    coffee = chat.add_link(sam, replace(COFFEE, name="<Coffee>"), service_answer(id="c"))
    pay(chat, pack, 1)
    for number, currency in enumerate(["USD", "USD", "EUR"]):
        pay(chat, coffee, number, currency)
    chat.clock.advance(12 * 3600)
    (text,) = put(chat)
    assert text.splitlines() == [
        "📊 <b>The last 24 hours</b>",
        "• <b>&lt;Coffee&gt;</b>: $10.00 + €5.00 from 3 payments",
        "• <b>Stickers</b>: $5.00 from 1 payment · 2 of 3 left",
        "Total: <b>$15.00 + €5.00</b> from 4 payments",
    ]


def test_a_summary_shows_oversold_money_apart_from_the_revenue(
    chat: ChatHarness, sam: Person
) -> None:
    """A request that only oversold has no line of revenue, and no part in their total."""
    spec(chat, sam)
    coffee = chat.add_link(sam, COFFEE, service_answer(id="c"))
    mug = chat.add_link(sam, replace(STICKERS, name="Mug"), service_answer(id="m"))
    pay(chat, coffee, 1)
    pay(chat, coffee, 2, oversold=True)
    pay(chat, mug, 3, oversold=True)
    chat.clock.advance(12 * 3600)
    (text,) = put(chat)
    assert text.splitlines() == [
        "📊 <b>The last 24 hours</b>",
        "• <b>Coffee</b>: $5.00 from 1 payment",
        "⚠️ To refund: <b>$10.00</b> (2 payments)",
    ]


def test_one_of_two_processes_queues_a_summary(chat: ChatHarness, sam: Person) -> None:
    spec(chat, sam)
    chat.clock.advance(DAY)
    now = chat.clock()

    def race(tx: Transaction) -> list[bool]:
        (awaiting,) = seller_rows.summaries_due(tx, now, DAY * 1000, 2)
        return [seller_rows.claim_summary(tx, awaiting, now + 1) for _ in range(2)]

    assert chat.db.run(race) == [True, False]


def test_a_summary_has_no_payments_of_other_sellers(chat: ChatHarness, sam: Person) -> None:
    spec(chat, sam)
    pay(chat, chat.add_link(chat.add_person("Pat"), COFFEE, service_answer(id="c")), 1)
    chat.clock.advance(12 * 3600)
    assert put(chat) == ["📊 No payments in the last 24 hours."]


def test_each_payment_is_in_one_summary(chat: ChatHarness, sam: Person) -> None:
    """However late the summary is queued: later payments are in the next one."""
    spec(chat, sam)
    coffee = chat.add_link(sam, COFFEE, service_answer(id="c"))
    counts = []
    for number in range(6):
        chat.clock.advance(11 * 3600 + 1)
        pay(chat, coffee, number)
        counts += [text.count("from 1 payment") + 2 * text.count("from 2 ") for text in put(chat)]
    assert counts == [1, 2, 2]


def test_missed_summaries_are_sent_as_one(chat: ChatHarness, sam: Person) -> None:
    spec(chat, sam)
    chat.clock.advance(5 * 24 * 3600)
    assert len(put(chat)) == 1
    assert put(chat) == []
    assert due_at(chat, "UTC") == "2027-01-20 20:00"


@pytest.mark.parametrize(
    "case",
    [
        ("Europe/Berlin", "2027-03-27 20:00", EVENING, "2027-03-28 20:00"),
        ("Europe/Berlin", "2027-10-30 20:00", EVENING, "2027-10-31 20:00"),
        ("Europe/Berlin", "2027-03-27 02:30", 150, "2027-03-28 03:00"),
        ("Europe/Berlin", "2027-10-31 02:30", 150, "2027-11-01 02:30"),
        ("Australia/Lord_Howe", "2027-04-04 01:45", 105, "2027-04-05 01:45"),
        ("Asia/Kathmandu", "2027-03-27 20:00", EVENING, "2027-03-28 20:00"),
    ],
)
def test_a_summary_keeps_its_local_time_across_summer_time(
    chat: ChatHarness, sam: Person, case: tuple[str, str, int, str]
) -> None:
    """A time that occurs twice in one night has one summary; a skipped time has one at once."""
    zone, before, minute, expected = case
    at(chat, before, zone)
    chat.clock.advance(-1)
    spec(chat, sam, minute, zone)
    chat.clock.advance(1)
    assert len(put(chat)) == 1
    assert due_at(chat, zone) == expected


def test_a_day_of_25_hours_omits_no_payment(chat: ChatHarness, sam: Person) -> None:
    at(chat, "2027-10-30 20:30", "Europe/Berlin")
    spec(chat, sam, zone="Europe/Berlin")
    pay(chat, chat.add_link(sam, COFFEE, service_answer(id="c")), 1)
    at(chat, "2027-10-31 20:00", "Europe/Berlin")
    (text,) = put(chat)
    assert "from 1 payment" in text


def test_a_paused_chat_collects_no_summaries(chat: ChatHarness, sam: Person) -> None:
    spec(chat, sam)
    chat.db.run(lambda tx: lanes.pause(tx, chat.queues.messages, str(sam.id), "blocked"))
    for _ in range(3):
        chat.clock.advance(24 * 3600)
        assert put(chat) == []
    chat.db.run(lambda tx: lanes.resume(tx, chat.queues.messages, str(sam.id)))
    chat.clock.advance(24 * 3600)
    assert len(put(chat)) == 1


def test_a_summary_in_quiet_hours_is_silent(chat: ChatHarness, sam: Person) -> None:
    spec(chat, sam)
    chat.db.run(lambda tx: seller_rows.save_quiet(tx, sam.id, (19 * 60, 7 * 60)))
    chat.clock.advance(12 * 3600)
    put(chat)
    assert chat.worded[0].is_silent is True


def test_many_summaries_are_queued_in_batches(
    chat: ChatHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "BATCH", 2)
    for number in range(5):
        spec(chat, chat.add_person(f"Seller {number}"))
    chat.clock.advance(12 * 3600)
    done = [chat.db.run(lambda tx: schedule.enqueue_summaries(chat.step(tx))) for _ in range(4)]
    assert done == [2, 2, 1, 0]
    assert len({row["lane"] for row in chat.rows("outbox")}) == 5


def test_summaries_continue_after_a_clock_that_ran_ahead(chat: ChatHarness, sam: Person) -> None:
    spec(chat, sam)
    chat.clock.advance(400 * 24 * 3600)
    put(chat)
    chat.clock.advance(-400 * 24 * 3600)
    put(chat)
    assert due_at(chat, "UTC") == "2027-01-15 20:00"


def test_a_zone_that_no_longer_exists_delays_no_summary(chat: ChatHarness, sam: Person) -> None:
    spec(chat, sam)
    chat.db.run(lambda tx: seller_rows.change(tx, sam.id, zone="Mars/Olympus"))
    chat.clock.advance(12 * 3600)
    assert len(put(chat)) == 1


def test_a_summary_is_always_one_message(chat: ChatHarness, sam: Person) -> None:
    spec(chat, sam)
    for number in range(schedule.MAX_LISTED + 3):
        link = chat.add_link(sam, replace(COFFEE, name="&" * 100), service_answer(id=f"c{number}"))
        pay(chat, link, number)
    chat.clock.advance(12 * 3600)
    (text,) = put(chat)
    assert text.splitlines()[-2:] == [
        "… and 3 more payment links",
        "Total: <b>$115.00</b> from 23 payments",
    ]
    parsed(text)


# Reminders of claims: once a day, three at most, never at night, gone once decided.


HOUR = 3600


@pytest.fixture
async def claim(chat: ChatHarness, sam: Person) -> Claim:
    link = chat.add_link(sam, STICKERS, service_answer(total_units=3, remaining_units=2))
    assert await record_claim(chat, link, "K7F290XM")
    chat.clear_messages()
    return stored(chat)


def stored(chat: ChatHarness) -> Claim:
    found = chat.db.run(lambda tx: claim_rows.claim_of_checkout(tx, "c1"))
    assert found is not None
    return found


async def after(chat: ChatHarness, seconds: float) -> int:
    """Let time pass; return the number of reminders so far."""
    chat.clock.advance(seconds)
    for _ in range(2):
        await Schedule(chat.db, chat.queues, chat.clock).tick()
    return len([one for one in chat.said if isinstance(one, ClaimAlert) and one.is_reminder])


async def test_an_undecided_claim_is_reminded_once_a_day_three_times_at_most(
    chat: ChatHarness, claim: Claim
) -> None:
    assert await after(chat, DAY - 1) == 0
    assert [await after(chat, 1), await after(chat, DAY - 1), await after(chat, 1)] == [1, 1, 2]
    assert [await after(chat, DAY) for _ in range(3)] == [3, 3, 3]
    assert claim.is_waiting(chat.clock())
    assert chat.texts[0].startswith("⏳ <b>The payer is still waiting for your answer.</b>")


@pytest.mark.parametrize(
    "state", [claim_rows.CONFIRMING, claim_rows.REJECTED, claim_rows.PAID, claim_rows.CLOSED]
)
async def test_a_decided_claim_has_no_reminder(chat: ChatHarness, claim: Claim, state: str) -> None:
    chat.db.run(lambda tx: claim_rows.change_state(tx, claim, state))
    assert await after(chat, DAY) == 0


async def test_a_claim_that_lapsed_has_no_reminder(chat: ChatHarness, claim: Claim) -> None:
    assert claim.remind_at is not None
    assert await after(chat, HELD / 1000) == 0
    assert stored(chat).remind_at is None


async def test_a_reminder_waits_for_the_end_of_quiet_hours(chat: ChatHarness, claim: Claim) -> None:
    """The claim came at 08:00 in UTC, within the seller's quiet hours."""

    def sleep(tx: Transaction) -> None:
        seller_rows.change(tx, claim.seller_id, zone="Etc/UTC")
        seller_rows.save_quiet(tx, claim.seller_id, (22 * 60, 9 * 60))

    chat.db.run(sleep)
    assert await after(chat, DAY) == 0
    assert await after(chat, HOUR - 1) == 0
    assert await after(chat, 1) == 1
    (reminder,) = chat.said
    assert not reminder.is_silent


# What happens by time alone: at its time, once, also after a stop, also when the clock is set.


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
        await chat.db.transaction(partial(chat.refresh, link.id))
        chat.clock.advance(1)
        await until(partial(is_over, link.id))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
