"""How a seller hears of payments: on, silent or off, quiet hours, and what was not delivered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bot.chat.alerts import alert_text
from bot.chat.payments.recording import Ledger
from bot.chat.store import sellers
from bot.chat.store.payments import Payment
from bot.chat.telegram.sender import TRIES
from bot.core.outbox import lanes, outbox
from tests.support.chat_harness import COFFEE, STICKERS, answer
from tests.support.sender_harness import BLOCKED, REFUSAL, Sending

if TYPE_CHECKING:
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Transaction
    from bot.sandbox.world.people import Person
    from tests.support.chat_harness import ChatHarness

HOUR = 3600


@pytest.fixture
def sam(relay: ChatHarness) -> Person:
    return relay.add_person("Sam")


@pytest.fixture
def listing(relay: ChatHarness, sam: Person) -> Listing:
    return relay.add_listing(sam, COFFEE, answer(id="c"))


def pay(relay: ChatHarness, listing: Listing, *numbers: int, oversold: bool = False) -> None:
    def work(tx: Transaction) -> None:
        for number in numbers:
            wish = listing.wish
            paid = Payment(
                listing.request_id or "", f"t{number}", wish.amount, wish.currency, {}, oversold
            )
            Ledger(tx, relay.queues, relay.clock()).record(listing.id, paid, None)

    relay.db.run(work)


def told(relay: ChatHarness) -> list[tuple[str, bool]]:
    """The first lines of the messages to be sent about money, and whether they make no sound."""
    return [
        (args["text"].splitlines()[0], args.get("disable_notification", False))
        for args in relay.worded
        if "received for" in args.get("text", "")
    ]


async def give_up(relay: ChatHarness, sending: Sending, *listings: Listing) -> None:
    """Let alerts of these be refused until they are given up."""
    for number, listing in enumerate(listings):
        sending.fault(**REFUSAL, times=TRIES)
        pay(relay, listing, 100 + number)
        for _ in range(TRIES):
            await sending.work_later()


def last(relay: ChatHarness) -> str:
    return str(relay.worded[-1]["text"])


ALERT = "💰 <b>$5.00</b> received for <b>Coffee</b>"


@pytest.mark.parametrize(
    ("mode", "expected"), [("on", [(ALERT, False)]), ("silent", [(ALERT, True)]), ("off", [])]
)
async def test_a_requests_payments_are_told_as_its_seller_chose(
    relay: ChatHarness, sam: Person, listing: Listing, mode: str, expected: list[tuple[str, bool]]
) -> None:
    """Chosen by a button, confirmed by its answer; recorded and counted in any case."""
    other = "on" if mode != "on" else "off"
    for press in (other, mode):
        await relay.presses(sam, f"alerts:{listing.id}:{press}")
    words = {"on": "with a sound", "silent": "without a sound", "off": "Alerts are off"}
    assert words[mode] in relay.answers[-1]["text"]
    relay.clear_messages()
    pay(relay, listing, 1)
    assert told(relay) == expected
    assert relay.listing(listing.id).paid_count == 1


async def test_other_requests_are_told_as_before(
    relay: ChatHarness, sam: Person, listing: Listing
) -> None:
    other = relay.add_listing(sam, replace(COFFEE, name="Cake"), answer(id="k"))
    await relay.presses(sam, f"alerts:{listing.id}:off")
    relay.clear_messages()
    pay(relay, other, 1)
    assert told(relay) == [("💰 <b>$5.00</b> received for <b>Cake</b>", False)]


async def test_the_menu_ticks_what_is_chosen_and_leads_back_to_the_card(
    relay: ChatHarness, sam: Person, listing: Listing
) -> None:
    await relay.presses(sam, f"alerts:{listing.id}")
    await relay.presses(sam, f"alerts:{listing.id}:silent")
    menus = [args["reply_markup"]["inline_keyboard"] for args in relay.worded]
    labels = [[button["text"] for button in rows[0]] for rows in menus]
    assert labels == [["✅ On", "Silent", "Off"], ["On", "✅ Silent", "Off"]]
    assert [rows[1][0]["callback_data"] for rows in menus] == [f"refresh:{listing.id}"] * 2
    assert {args["message_id"] for args in relay.worded}
    assert "you owe it back" in relay.worded[0]["text"]


async def test_what_is_chosen_already_is_said_and_changes_nothing(
    relay: ChatHarness, sam: Person, listing: Listing
) -> None:
    """A double tap would edit the menu into itself, which Telegram refuses."""
    for _ in range(2):
        await relay.presses(sam, f"alerts:{listing.id}:silent")
    assert [one["text"] for one in relay.answers] == [relay.answers[0]["text"]] * 2
    assert len(relay.said) == 1


@pytest.mark.parametrize("data", ["alerts:{}", "alerts:{}:off"])
async def test_nobody_chooses_for_another_seller(
    relay: ChatHarness, sam: Person, listing: Listing, data: str
) -> None:
    pat = relay.add_person("Pat")
    await relay.presses(pat, data.format(listing.id))
    assert relay.listing(listing.id).alerts == "on"
    assert relay.said == []
    assert "Coffee" not in str(relay.answers)
    assert sam.id != pat.id


async def test_money_that_is_owed_back_is_told_though_alerts_are_off(
    relay: ChatHarness, sam: Person
) -> None:
    listing = relay.add_listing(sam, STICKERS, answer(id="s", remaining_units=0))
    await relay.presses(sam, f"alerts:{listing.id}:off")
    relay.clear_messages()
    pay(relay, listing, 1, oversold=True)
    assert told(relay) == [("💰 <b>$2.50</b> received for <b>Stickers</b>", False)]
    assert "OVERSOLD" in relay.texts[0]


@pytest.mark.parametrize(
    "case",
    [
        *[(21, "UTC", False), (22, "UTC", True), (6, "UTC", True), (7, "UTC", False)],
        *[(21, "Europe/Berlin", True), (6, "Europe/Berlin", False), (22, None, True)],
    ],
)
async def test_in_quiet_hours_alerts_come_at_once_and_without_a_sound(
    relay: ChatHarness, sam: Person, listing: Listing, case: tuple[int, str | None, bool]
) -> None:
    """From 22:00 to 7:00 by the seller's clock, UTC where they have said no zone."""
    hour, zone, silent = case

    def choose(tx: Transaction) -> None:
        sellers.save_quiet(tx, sam.id, (22 * 60, 7 * 60))
        if zone:
            sellers.save_zone(tx, sam.id, zone)

    relay.db.run(choose)
    relay.clock.advance((hour - 8) % 24 * HOUR)  # it is eight in UTC
    pay(relay, listing, 1)
    assert told(relay) == [(ALERT, silent)]
    (row,) = relay.rows("outbox")
    assert row["due_at"] == relay.clock()


async def test_a_zone_that_is_known_no_more_costs_no_alert(
    relay: ChatHarness, sam: Person, listing: Listing
) -> None:
    relay.db.run(lambda tx: sellers.save_quiet(tx, sam.id, (0, 1439)))
    relay.db.run(lambda tx: sellers.save_zone(tx, sam.id, "Mars/Olympus"))
    pay(relay, listing, 1)
    assert told(relay) == [(ALERT, False)]


async def test_alerts_says_that_everything_was_delivered(
    relay: ChatHarness, sam: Person, listing: Listing, sending: Sending
) -> None:
    pay(relay, listing, 1)
    await sending.work()
    await relay.says(sam, "/alerts")
    assert relay.texts == ["✅ Everything was delivered: no alert is missing."]
    assert "reply_markup" not in relay.worded[0]


async def test_alerts_lists_what_was_given_up_newest_first_and_sends_it_again(
    relay: ChatHarness, sam: Person, listing: Listing, sending: Sending
) -> None:
    """Amount, request, when and why; then they come in their old order."""
    cake = relay.add_listing(sam, replace(COFFEE, name="<Cake>", amount=700), answer(id="k"))
    await give_up(relay, sending, listing, cake)
    await relay.says(sam, "/alerts")
    heading, first, second, _, hint = last(relay).splitlines()
    assert heading == "⚠ <b>Alerts that have not reached you</b>"
    why = "Telegram did not take the message"
    assert first.startswith("• Fri, 15 Jan 2027")
    assert first.endswith(f"UTC: <b>$7.00</b> for <b>&lt;Cake&gt;</b>: {why}")
    assert second.endswith(f"UTC: <b>$5.00</b> for <b>Coffee</b>: {why}")
    assert "Send again" in hint
    await sending.work_later()
    await relay.presses(sam, "undelivered:again")
    assert relay.answers[-1]["text"] == "They are on their way again."
    assert "it is on its way" in last(relay)
    await sending.work_later()
    money = [m.text for m in sam.chat.from_bot() if "received for" in m.text]
    assert money == ["💰 $5.00 received for Coffee", "💰 $7.00 received for <Cake>"]
    await relay.presses(sam, "undelivered:again")
    assert relay.answers[-1]["text"] == "Everything was delivered."


async def test_what_waited_while_the_chat_was_blocked_is_listed_and_comes(
    relay: ChatHarness, sam: Person, listing: Listing, sending: Sending
) -> None:
    """To write is to let the bot in again."""
    sending.fault(**BLOCKED, times=2)
    pay(relay, listing, 1)
    await sending.work()
    await sending.work_later()
    pay(relay, listing, 2)
    await relay.says(sam, "/alerts")
    first, second = last(relay).splitlines()[1:3]
    assert first.endswith(": it is on its way")
    assert second.endswith(": you had blocked me; it comes now")
    assert "undelivered:again" not in str(relay.said)
    await sending.work_later()
    assert sum("received for" in m.text for m in sam.chat.from_bot()) == 2


async def test_alerts_shows_ones_own_only(
    relay: ChatHarness, sam: Person, listing: Listing, sending: Sending
) -> None:
    """Nor does another's press send them."""
    await give_up(relay, sending, listing)
    pat = relay.add_person("Pat")
    await relay.says(pat, "/alerts")
    assert relay.texts[-1].startswith("✅ Everything was delivered")
    await relay.presses(pat, "undelivered:again")
    assert relay.answers[-1]["text"] == "Everything was delivered."
    dead = [row for row in relay.rows("outbox") if row["state"] == "dead"]
    assert [row["lane"] for row in dead] == [str(sam.id)]


async def test_alerts_stays_one_message_however_many_are_missing(
    relay: ChatHarness, sam: Person, sending: Sending
) -> None:
    wish = replace(COFFEE, name="&<" * 50)
    listing = relay.add_listing(sam, wish, answer(id="l"))
    pay(relay, listing, *range(40))

    def bury(tx: Transaction) -> None:
        queue, now = relay.queues.messages, relay.clock()
        for _ in range(40):
            (message,) = outbox.claim(tx, queue, now, 1)
            outbox.bury(tx, queue, message, now, "refused")

    relay.db.run(bury)
    await relay.says(sam, "/alerts")
    assert "… and 25 messages before these" in last(relay)
    await sending.work()
    assert sam.chat.from_bot()[-1].text.count("•") == 15
    assert relay.world.refused == []


async def test_a_digest_that_was_given_up_is_a_line_a_request(
    relay: ChatHarness, sam: Person, listing: Listing
) -> None:
    pay(relay, listing, 1, 2, 3)

    gathered = alert_text.gather(relay.said)
    assert gathered is not None

    def bury(tx: Transaction) -> None:
        queue, now, body = relay.queues.messages, relay.clock(), gathered[1]
        tx.execute("DELETE FROM outbox")
        outbox.put(tx, queue, str(sam.id), body, now, priority=lanes.ALERT, uncertain=True)
        (message,) = outbox.claim(tx, queue, now, 1)
        outbox.bury(tx, queue, message, now, "lost")

    relay.db.run(bury)
    await relay.says(sam, "/alerts")
    (line,) = [line for line in last(relay).splitlines() if line.startswith("•")]
    assert line.endswith(
        "<b>$15.00</b> for <b>Coffee</b> (3 payments): Telegram never said whether it arrived"
    )
