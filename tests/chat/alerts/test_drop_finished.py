"""The line at the end of a drop: units sold = alerts delivered, said once, and never too early."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.alerts import delivery
from bot.chat.store import listings, received_payments
from bot.chat.telegram.sender import MAX_ATTEMPTS
from bot.core.outbox.queue_policy import ALERT
from tests.support.chat_harness import COFFEE, PAINTING, STICKERS, service_answer
from tests.support.drop_payments import lines, pay, texts
from tests.support.sender_harness import BLOCKED, REFUSAL, SenderHarness

if TYPE_CHECKING:
    from bot.chat.messages.payloads import MessagePayload
    from bot.chat.store.listings import Listing
    from bot.sandbox.world.people import Person
    from tests.support.chat_harness import ChatHarness


def mute(chat: ChatHarness, listing: Listing, mode: str) -> None:
    chat.db.run(lambda tx: listings.set_alerts(tx, listing.id, mode))


def drop(chat: ChatHarness, sam: Person, units: int = 3, number: int = 0) -> Listing:
    wish = replace(STICKERS, units=units)
    told = service_answer(id=f"{number:024x}", total_units=units, remaining_units=units)
    return chat.add_listing(sam, wish, told)


def deliver(chat: ChatHarness, body: MessagePayload) -> None:
    """Settle an alert as the sender does once Telegram took it."""
    chat.db.run(lambda tx: delivery.record_delivered(tx, chat.queues, body, chat.clock()))


async def test_a_drop_ends_with_a_line_once_its_last_alert_is_delivered(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    listing = drop(chat, sam)
    pay(chat, listing, 1, 2, 3)
    assert len(chat.said) == 3
    await sending.work()
    assert texts(sam)[3:] == ["🏁 Stickers: all 3 sold = 3 alerts delivered"]
    button = sam.chat.from_bot()[-1].buttons[0]["callback_data"]
    assert button == f"card:{listing.id}"
    await sending.work_later()
    assert len(texts(sam)) == 4


async def test_it_is_not_said_while_an_alert_is_under_way(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """Though all is sold; nor while units are left and all is told."""
    listing = drop(chat, sam)
    pay(chat, listing, 1, 2)
    await sending.work()
    assert lines(sam) == []
    sending.fault("drop", method="sendMessage")
    pay(chat, listing, 3)
    await sending.work()
    assert lines(sam) == []
    await sending.work_later()
    assert lines(sam) == ["🏁 Stickers: all 3 sold = 3 alerts delivered"]


async def test_a_drop_of_one_says_so(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    pay(chat, drop(chat, sam, 1), 1)
    await sending.work()
    assert lines(sam) == ["🏁 Stickers: the only one sold = 1 alert delivered"]


async def test_alerts_whose_answers_were_lost_count_once(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """Each comes twice then, the second marked, and is one payment still."""
    pay(chat, drop(chat, sam, 2), 1, 2)
    for _ in range(2):
        sending.fault("cut", method="sendMessage")
        await sending.work_later()
    await sending.work_later()
    assert sum("received for" in text for text in texts(sam)) == 4
    assert lines(sam) == ["🏁 Stickers: all 2 sold = 2 alerts delivered"]


async def test_a_line_whose_own_answer_was_lost_is_marked_when_it_comes_again(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    pay(chat, drop(chat, sam, 1), 1)
    body = chat.said[0]
    chat.clear_messages()
    deliver(chat, body)
    sending.fault("cut", method="sendMessage")
    await sending.work()
    await sending.work_later()
    first, second = texts(sam)
    assert second == f"Possibly repeated: I may have told you this already.\n{first}"


async def test_what_could_not_be_delivered_is_counted_and_alerts_is_named(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    listing = drop(chat, sam)
    sending.fault(**REFUSAL, times=MAX_ATTEMPTS)
    pay(chat, listing, 1)
    for _ in range(MAX_ATTEMPTS):
        await sending.work_later()
    pay(chat, listing, 2, 3)
    await sending.work_later()
    (line,) = lines(sam)
    assert line == (
        "🏁 Stickers: all 3 sold, 2 alerts delivered\n"
        "⚠ 1 alert could not be delivered: /alerts shows it."
    )


async def test_the_line_comes_though_the_very_last_alert_is_given_up(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """And what is sent again later brings no second line."""
    listing = drop(chat, sam, 1)
    sending.fault(**REFUSAL, times=MAX_ATTEMPTS)
    pay(chat, listing, 1)
    for _ in range(MAX_ATTEMPTS + 1):
        await sending.work_later()
    line = (
        "🏁 Stickers: the only one sold, 0 alerts delivered\n"
        "⚠ 1 alert could not be delivered: /alerts shows it."
    )
    assert texts(sam) == [line]
    await chat.presses(sam, "undelivered:again")
    await sending.work_later()
    assert sum("received for" in text for text in texts(sam)) == 1
    assert lines(sam) == [line]


async def test_alerts_of_other_requests_that_were_given_up_are_not_counted(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    sending.fault(**REFUSAL, times=MAX_ATTEMPTS)
    pay(chat, chat.add_listing(sam, COFFEE, service_answer(id="c")), 9)
    for _ in range(MAX_ATTEMPTS):
        await sending.work_later()
    pay(chat, drop(chat, sam, 1), 1)
    await sending.work_later()
    assert lines(sam) == ["🏁 Stickers: the only one sold = 1 alert delivered"]


async def test_while_the_chat_is_blocked_the_line_waits_like_the_alerts(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    pay(chat, drop(chat, sam, 1), 1)
    sending.fault(**BLOCKED, times=2)
    await sending.work()
    await sending.work_later()
    assert texts(sam) == []
    await chat.says(sam, "/help")
    await sending.work_later()
    assert lines(sam) == ["🏁 Stickers: the only one sold = 1 alert delivered"]


async def test_where_alerts_were_off_the_line_says_so(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """It comes without a sound, and at once: no alert is waited for."""
    listing = drop(chat, sam)
    pay(chat, listing, 1)
    mute(chat, listing, "off")
    pay(chat, listing, 2, 3)
    await sending.work()
    assert lines(sam) == [
        "🏁 Stickers: all 3 sold, 1 alert delivered\n2 payments came while alerts were off."
    ]
    calls = chat.world.calls_of("sendMessage")
    assert [call.params.get("disable_notification") for call in calls] == [None, "true"]
    other = drop(chat, sam, 1, number=1)
    mute(chat, other, "off")
    pay(chat, other, 4)
    await sending.work()
    assert lines(sam)[1:] == [
        "🏁 Stickers: the only one sold, 0 alerts delivered\n1 payment came while alerts were off."
    ]


async def test_oversold_payments_are_named_apart(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """They are no units sold, and their alert comes though alerts are off."""
    listing = drop(chat, sam, 2)
    pay(chat, listing, 1)
    pay(chat, listing, 2, oversold=True)
    await sending.work()
    assert lines(sam) == []
    pay(chat, listing, 3)
    await sending.work()
    (line,) = lines(sam)
    assert line == (
        "🏁 Stickers: all 2 sold = 2 alerts delivered\n"
        "⚠ Besides, 1 payment came when nothing was left: you owe it back."
    )


async def test_a_payment_told_twice_because_it_was_found_first_counts_once(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """Nor is the line said when all that was told is one of two."""
    listing = drop(chat, sam, 2)
    await chat.recorder.record_missing(listing.id, 0, 1)
    pay(chat, listing, 1)
    await sending.work()
    assert (len(texts(sam)), lines(sam)) == (2, [])
    pay(chat, listing, 2)
    await sending.work()
    assert lines(sam) == ["🏁 Stickers: all 2 sold = 2 alerts delivered"]


async def test_a_doubt_that_is_settled_counts_both(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """The one that was found and the one that came by its webhook have both been told."""
    listing = drop(chat, sam, 2)
    await chat.recorder.record_missing(listing.id, 0, 1)
    pay(chat, listing, 1)
    await sending.work()
    assert await chat.recorder.record_missing(listing.id, 1, 1) == 0
    found = chat.db.run(lambda tx: received_payments.alert_counts(tx, listing.id))
    assert found is not None
    assert (found.told, found.listing.paid_count) == (2, 2)


async def test_units_that_were_taken_out_are_not_waited_for(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """Whether the server or the chat knows of it."""
    listing = drop(chat, sam, 3)
    pay(chat, listing, 1, 2)
    await sending.work()
    chat.db.run(
        lambda tx: listings.set_answer(
            tx, listing.id, service_answer(id=listing.request_id, total_units=2, remaining_units=0)
        )
    )
    chat.db.run(lambda tx: delivery.announce_ended_drop(tx, chat.queues, listing.id, chat.clock()))
    await sending.work()
    assert lines(sam) == ["🏁 Stickers: all 2 sold = 2 alerts delivered"]


async def test_other_kinds_have_no_such_line(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    pay(chat, chat.add_listing(sam, COFFEE, service_answer(id="c")), 1)
    pay(chat, chat.add_listing(sam, PAINTING, service_answer(id="p")), 2)
    await sending.work()
    assert (len(texts(sam)), lines(sam)) == (2, [])


async def test_a_listing_that_a_later_version_wrote_hinders_no_alert(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """It is settled as delivered, and not sent again."""
    pay(chat, drop(chat, sam, 1), 1)
    chat.db.run(lambda tx: tx.execute('UPDATE listings SET wish = \'{"kind": "auction"}\''))
    await sending.work()
    assert len(texts(sam)) == 1
    assert chat.states(chat.queues.messages) == []


async def test_the_line_goes_behind_the_alerts_in_its_class(chat: ChatHarness, sam: Person) -> None:
    """So that a blocked chat keeps it as well."""
    pay(chat, drop(chat, sam, 1), 1)
    body = chat.said[0]
    chat.db.run(lambda tx: delivery.record_delivered(tx, chat.queues, body, chat.clock()))
    assert [row["priority"] for row in chat.rows("outbox")] == [ALERT] * 2


async def test_the_line_is_put_by_the_last_alert_and_no_earlier(
    chat: ChatHarness, sam: Person
) -> None:
    """One that is still to come may be given up yet, and then the line says so."""
    listing = drop(chat, sam)
    pay(chat, listing, 1, 2, 3)
    bodies = chat.said
    put = []
    for body in (*bodies, bodies[0]):
        deliver(chat, body)
        put.append(len(chat.said) - len(bodies))
    assert put == [0, 0, 1, 1]
    assert chat.db.run(lambda tx: received_payments.mark_summed_up(tx, listing.id)) is False
