"""The daily summary: what came in by request, at the seller's time, once."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from bot.chat.alerts import daily_summary
from bot.chat.payments.recording import Ledger
from bot.chat.store import sellers
from bot.chat.store.payments import Payment
from bot.chat.times import moments
from bot.core.outbox import lanes
from tests.support.chat_harness import COFFEE, STICKERS, answer
from tests.support.telegram_limits import parsed

if TYPE_CHECKING:
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Transaction
    from bot.sandbox.world.people import Person
    from tests.support.chat_harness import ChatHarness

EVENING = 20 * 60
DAY = 24 * 3600


@pytest.fixture
def sam(relay: ChatHarness) -> Person:
    return relay.add_person("Sam")


def wish(relay: ChatHarness, person: Person, minute: int = EVENING, zone: str = "UTC") -> None:
    """Let somebody wish for a summary, as the form does."""

    def save(tx: Transaction) -> None:
        sellers.seller(tx, person.id, "en", relay.clock())
        sellers.save_zone(tx, person.id, zone)
        due_at = moments.next_at(minute, relay.clock(), zone)
        sellers.save_summary(tx, person.id, minute, due_at)

    relay.db.run(save)


def put(relay: ChatHarness) -> list[str]:
    """Put what is due; the texts."""
    relay.clear_messages()
    relay.db.run(lambda tx: daily_summary.put_due(tx, relay.queues, relay.clock()))
    return relay.texts


def pay(relay: ChatHarness, listing: Listing, number: int, currency: str = "USD") -> None:
    paid = Payment(listing.request_id or "", f"t{number}", 500, currency, {})

    def record(tx: Transaction) -> None:
        Ledger(tx, relay.queues, relay.clock()).record(listing.id, paid, None)

    relay.db.run(record)


def due_at(relay: ChatHarness, zone: str) -> str:
    (row,) = relay.rows("sellers")
    at = datetime.fromtimestamp(row["summary_at"] / 1000, ZoneInfo(zone))
    return f"{at:%Y-%m-%d %H:%M}"


def at(relay: ChatHarness, shown: str, zone: str) -> None:
    """Set the clock to what one shows there."""
    moment = datetime.fromisoformat(shown).replace(tzinfo=ZoneInfo(zone))
    relay.clock.at = int(moment.timestamp() * 1000)


def test_nothing_comes_before_its_time_and_to_nobody_who_did_not_wish_it(
    relay: ChatHarness, sam: Person
) -> None:
    wish(relay, sam)
    relay.add_listing(relay.add_person("Pat"))
    relay.clock.advance(12 * 3600 - 1)
    assert put(relay) == []
    relay.clock.advance(1)
    assert put(relay) == ["📊 Nothing came in within the last 24 hours."]
    (row,) = [row for row in relay.rows("outbox") if row["queue"] == "messages"]
    assert (row["lane"], row["priority"]) == (str(sam.id), lanes.NOTICE)
    assert put(relay) == []


def test_it_says_by_request_what_came_in_and_what_is_left(relay: ChatHarness, sam: Person) -> None:
    """Sums by currency, the request most often paid first, and all together."""
    wish(relay, sam)
    pack = relay.add_listing(sam, STICKERS, answer(id="s", total_units=3, remaining_units=3))
    coffee = relay.add_listing(sam, replace(COFFEE, name="<Coffee>"), answer(id="c"))
    pay(relay, pack, 1)
    for number, currency in enumerate(["USD", "USD", "EUR"]):
        pay(relay, coffee, number, currency)
    relay.clock.advance(12 * 3600)
    (text,) = put(relay)
    assert text.splitlines() == [
        "📊 <b>The last 24 hours</b>",
        "• <b>&lt;Coffee&gt;</b>: $10.00 + €5.00 from 3 payments",
        "• <b>Stickers</b>: $5.00 from 1 payment · 2 of 3 left",
        "Together: <b>$15.00 + €5.00</b> from 4 payments",
    ]


def test_of_two_processes_that_see_it_due_one_puts_it(relay: ChatHarness, sam: Person) -> None:
    wish(relay, sam)
    relay.clock.advance(DAY)
    now = relay.clock()

    def race(tx: Transaction) -> list[bool]:
        (awaiting,) = sellers.summaries_due(tx, now, DAY * 1000, 2)
        return [sellers.take_summary(tx, awaiting, now + 1) for _ in range(2)]

    assert relay.db.run(race) == [True, False]


def test_another_sellers_money_is_not_in_it(relay: ChatHarness, sam: Person) -> None:
    wish(relay, sam)
    pay(relay, relay.add_listing(relay.add_person("Pat"), COFFEE, answer(id="c")), 1)
    relay.clock.advance(12 * 3600)
    assert put(relay) == ["📊 Nothing came in within the last 24 hours."]


def test_each_payment_is_in_one_summary(relay: ChatHarness, sam: Person) -> None:
    """However late the summary is put: what came meanwhile is in the next."""
    wish(relay, sam)
    coffee = relay.add_listing(sam, COFFEE, answer(id="c"))
    counts = []
    for number in range(6):
        relay.clock.advance(11 * 3600 + 1)
        pay(relay, coffee, number)
        counts += [text.count("from 1 payment") + 2 * text.count("from 2 ") for text in put(relay)]
    assert counts == [1, 2, 2]


def test_what_was_missed_comes_once(relay: ChatHarness, sam: Person) -> None:
    wish(relay, sam)
    relay.clock.advance(5 * 24 * 3600)
    assert len(put(relay)) == 1
    assert put(relay) == []
    assert due_at(relay, "UTC") == "2027-01-20 20:00"


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
def test_it_comes_at_the_same_local_time_across_summer_time(
    relay: ChatHarness, sam: Person, case: tuple[str, str, int, str]
) -> None:
    """A time that comes twice in one night is one summary; one that is left out comes at once."""
    zone, before, minute, expected = case
    at(relay, before, zone)
    relay.clock.advance(-1)
    wish(relay, sam, minute, zone)
    relay.clock.advance(1)
    assert len(put(relay)) == 1
    assert due_at(relay, zone) == expected


def test_a_day_of_25_hours_leaves_no_payment_out(relay: ChatHarness, sam: Person) -> None:
    at(relay, "2027-10-30 20:30", "Europe/Berlin")
    wish(relay, sam, zone="Europe/Berlin")
    pay(relay, relay.add_listing(sam, COFFEE, answer(id="c")), 1)
    at(relay, "2027-10-31 20:00", "Europe/Berlin")
    (text,) = put(relay)
    assert "from 1 payment" in text


def test_a_chat_that_may_not_be_written_to_gets_none_piled_up(
    relay: ChatHarness, sam: Person
) -> None:
    wish(relay, sam)
    relay.db.run(lambda tx: lanes.pause(tx, relay.queues.messages, str(sam.id), "blocked"))
    for _ in range(3):
        relay.clock.advance(24 * 3600)
        assert put(relay) == []
    relay.db.run(lambda tx: lanes.resume(tx, relay.queues.messages, str(sam.id)))
    relay.clock.advance(24 * 3600)
    assert len(put(relay)) == 1


def test_in_quiet_hours_it_makes_no_sound(relay: ChatHarness, sam: Person) -> None:
    wish(relay, sam)
    relay.db.run(lambda tx: sellers.save_quiet(tx, sam.id, (19 * 60, 7 * 60)))
    relay.clock.advance(12 * 3600)
    put(relay)
    assert relay.worded[0]["disable_notification"] is True


def test_many_are_put_batch_by_batch(relay: ChatHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daily_summary, "BATCH", 2)
    for number in range(5):
        wish(relay, relay.add_person(f"Seller {number}"))
    relay.clock.advance(12 * 3600)
    done = [
        relay.db.run(lambda tx: daily_summary.put_due(tx, relay.queues, relay.clock()))
        for _ in range(4)
    ]
    assert done == [2, 2, 1, 0]
    assert len({row["lane"] for row in relay.rows("outbox")}) == 5


def test_after_a_clock_that_ran_ahead_it_comes_again_each_day(
    relay: ChatHarness, sam: Person
) -> None:
    wish(relay, sam)
    relay.clock.advance(400 * 24 * 3600)
    put(relay)
    relay.clock.advance(-400 * 24 * 3600)
    put(relay)
    assert due_at(relay, "UTC") == "2027-01-15 20:00"


def test_a_zone_that_is_known_no_more_holds_up_nobody(relay: ChatHarness, sam: Person) -> None:
    wish(relay, sam)
    relay.db.run(lambda tx: sellers.save_zone(tx, sam.id, "Mars/Olympus"))
    relay.clock.advance(12 * 3600)
    assert len(put(relay)) == 1


def test_it_stays_one_message_however_much_came_in(relay: ChatHarness, sam: Person) -> None:
    wish(relay, sam)
    for number in range(daily_summary.LISTED + 3):
        listing = relay.add_listing(sam, replace(COFFEE, name="&" * 100), answer(id=f"c{number}"))
        pay(relay, listing, number)
    relay.clock.advance(12 * 3600)
    (text,) = put(relay)
    assert text.splitlines()[-2:] == [
        "… and 3 more requests",
        "Together: <b>$115.00</b> from 23 payments",
    ]
    parsed(text)
