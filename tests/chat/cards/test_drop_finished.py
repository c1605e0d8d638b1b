"""The announcement at the end of a drop: units sold and alerts delivered, once and in time."""

from __future__ import annotations

from dataclasses import replace

from bot.chat.cards import alerts
from bot.chat.model.payloads import MessagePayload
from bot.chat.store import link_rows, payment_rows
from bot.chat.store.link_rows import PaymentLink
from bot.chat.telegram.transport import MAX_ATTEMPTS
from bot.core.outbox.queue_policy import ALERT
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, PAINTING, STICKERS, ChatHarness, service_answer
from tests.support.drop_payments import lines, pay, texts
from tests.support.sender_harness import BLOCKED, REFUSAL, SenderHarness


def mute(chat: ChatHarness, link: PaymentLink, mode: str) -> None:
    chat.db.run(lambda tx: link_rows.set_alerts(tx, link.id, mode))


def drop(chat: ChatHarness, sam: Person, units: int = 3, number: int = 0) -> PaymentLink:
    spec = replace(STICKERS, units=units)
    told = service_answer(id=f"{number:024x}", total_units=units, remaining_units=units)
    return chat.add_link(sam, spec, told)


def deliver(chat: ChatHarness, body: MessagePayload) -> None:
    """Settle an alert as the sender does once Telegram accepted it."""
    chat.db.run(lambda tx: alerts.record_delivered(chat.step(tx), body))


async def test_the_end_of_a_drop_is_announced_once_its_last_alert_is_delivered(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    link = drop(chat, sam)
    pay(chat, link, 1, 2, 3)
    assert len(chat.said) == 3
    await sending.work()
    assert texts(sam)[3:] == ["🏁 Stickers\nSold out: all 3 sold."]
    button = sam.chat.from_bot()[-1].buttons[0]["callback_data"]
    assert button == f"card:{link.id}"
    await sending.work_later()
    assert len(texts(sam)) == 4


async def test_the_end_is_not_announced_while_an_alert_is_under_way(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """Although all is sold; nor while units are left and all alerts are delivered."""
    link = drop(chat, sam)
    pay(chat, link, 1, 2)
    await sending.work()
    assert lines(sam) == []
    sending.fault("drop", method="sendMessage")
    pay(chat, link, 3)
    await sending.work()
    assert lines(sam) == []
    await sending.work_later()
    assert lines(sam) == ["🏁 Stickers\nSold out: all 3 sold."]


async def test_alerts_whose_answers_were_lost_count_once(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """Each is sent twice, the second one marked, and counts as one payment."""
    pay(chat, drop(chat, sam, 2), 1, 2)
    for _ in range(2):
        sending.fault("cut", method="sendMessage")
        await sending.work_later()
    await sending.work_later()
    assert sum("received for" in text for text in texts(sam)) == 4
    assert lines(sam) == ["🏁 Stickers\nSold out: all 2 sold."]


async def test_an_announcement_whose_answer_was_lost_is_repeated_with_a_mark(
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
    assert second == f"You may have seen this already.\n{first}"


async def test_the_announcement_counts_undelivered_alerts_and_names_the_command(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    link = drop(chat, sam)
    sending.fault(**REFUSAL, times=MAX_ATTEMPTS)
    pay(chat, link, 1)
    for _ in range(MAX_ATTEMPTS):
        await sending.work_later()
    pay(chat, link, 2, 3)
    await sending.work_later()
    (line,) = lines(sam)
    assert line == (
        "🏁 Stickers\nSold out: all 3 sold.\n⚠ 1 alert couldn't be delivered. See /alerts."
    )


async def test_the_end_is_announced_although_the_last_alert_is_given_up(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """And an alert that is resent later causes no second announcement."""
    link = drop(chat, sam, 1)
    sending.fault(**REFUSAL, times=MAX_ATTEMPTS)
    pay(chat, link, 1)
    for _ in range(MAX_ATTEMPTS + 1):
        await sending.work_later()
    line = (
        "🏁 Stickers\nSold out: the only one sold.\n⚠ 1 alert couldn't be delivered. See /alerts."
    )
    assert texts(sam) == [line]
    await chat.presses(sam, "undelivered:again")
    await sending.work_later()
    assert sum("received for" in text for text in texts(sam)) == 1
    assert lines(sam) == [line]


async def test_dead_alerts_of_other_requests_are_not_counted(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    sending.fault(**REFUSAL, times=MAX_ATTEMPTS)
    pay(chat, chat.add_link(sam, COFFEE, service_answer(id="c")), 9)
    for _ in range(MAX_ATTEMPTS):
        await sending.work_later()
    pay(chat, drop(chat, sam, 1), 1)
    await sending.work_later()
    assert lines(sam) == ["🏁 Stickers\nSold out: the only one sold."]


async def test_the_announcement_waits_while_the_chat_is_blocked(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    pay(chat, drop(chat, sam, 1), 1)
    sending.fault(**BLOCKED, times=2)
    await sending.work()
    await sending.work_later()
    assert texts(sam) == []
    await chat.says(sam, "/help")
    await sending.work_later()
    assert lines(sam) == ["🏁 Stickers\nSold out: the only one sold."]


async def test_the_announcement_counts_alerts_that_were_off(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """It is silent and immediate: no alert is under way."""
    link = drop(chat, sam)
    pay(chat, link, 1)
    mute(chat, link, "off")
    pay(chat, link, 2, 3)
    await sending.work()
    assert lines(sam) == [
        "🏁 Stickers\nSold out: all 3 sold.\n2 payments came in while alerts were off."
    ]
    calls = chat.world.calls_of("sendMessage")
    assert [call.params.get("disable_notification") for call in calls] == [None, "true"]
    other = drop(chat, sam, 1, number=1)
    mute(chat, other, "off")
    pay(chat, other, 4)
    await sending.work()
    assert lines(sam)[1:] == [
        "🏁 Stickers\nSold out: the only one sold.\n1 payment came in while alerts were off."
    ]


async def test_the_announcement_counts_oversold_payments_separately(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """They are no units sold, and have an alert although alerts are off."""
    link = drop(chat, sam, 2)
    pay(chat, link, 1)
    pay(chat, link, 2, oversold=True)
    await sending.work()
    assert lines(sam) == []
    pay(chat, link, 3)
    await sending.work()
    (line,) = lines(sam)
    assert line == (
        "🏁 Stickers\nSold out: all 2 sold.\n"
        "⚠ 1 payment arrived when you didn't have enough left. Please refund it."
    )


async def test_a_payment_with_two_alerts_counts_once(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """Nor is the end announced while one of two payments has no alert."""
    link = drop(chat, sam, 2)
    await chat.record_missing(link.id, 0, 1)
    pay(chat, link, 1)
    await sending.work()
    assert (len(texts(sam)), lines(sam)) == (2, [])
    pay(chat, link, 2)
    await sending.work()
    assert lines(sam) == ["🏁 Stickers\nSold out: all 2 sold."]


async def test_a_resolved_placeholder_counts_both_payments(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """The payment that was found and the one of the webhook both have an alert."""
    link = drop(chat, sam, 2)
    await chat.record_missing(link.id, 0, 1)
    pay(chat, link, 1)
    await sending.work()
    assert await chat.record_missing(link.id, 1, 1) == 0
    found = chat.db.run(lambda tx: payment_rows.alert_counts(tx, link.id))
    assert found is not None
    assert (found.delivered, found.link.paid_count) == (2, 2)


async def test_a_drop_ends_without_the_units_taken_out(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """Whether the server or only the chat knows it."""
    link = drop(chat, sam, 3)
    pay(chat, link, 1, 2)
    await sending.work()
    chat.db.run(
        lambda tx: link_rows.set_answer(
            tx, link.id, service_answer(id=link.request_id, total_units=2, remaining_units=0)
        )
    )
    chat.db.run(lambda tx: alerts.announce_ended_drop(chat.step(tx), link.id))
    await sending.work()
    assert lines(sam) == ["🏁 Stickers\nSold out: all 2 sold."]


async def test_other_kinds_have_no_announcement(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    pay(chat, chat.add_link(sam, COFFEE, service_answer(id="c")), 1)
    pay(chat, chat.add_link(sam, PAINTING, service_answer(id="p")), 2)
    await sending.work()
    assert (len(texts(sam)), lines(sam)) == (2, [])


async def test_an_unreadable_link_holds_up_no_alert(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    """Its alert is settled as delivered, and not sent again."""
    pay(chat, drop(chat, sam, 1), 1)
    chat.db.run(lambda tx: tx.execute('UPDATE listings SET wish = \'{"kind": "auction"}\''))
    await sending.work()
    assert len(texts(sam)) == 1
    assert chat.states(chat.queues.messages) == []


async def test_only_the_last_alert_queues_the_announcement(chat: ChatHarness, sam: Person) -> None:
    """A waiting alert may still be given up, and the announcement must count it.

    The announcement is in the alerts' class, so that a blocked chat keeps it too.
    """
    link = drop(chat, sam)
    pay(chat, link, 1, 2, 3)
    bodies = chat.said
    put = []
    for body in (*bodies, bodies[0]):
        deliver(chat, body)
        put.append(len(chat.said) - len(bodies))
    assert put == [0, 0, 1, 1]
    assert [row["priority"] for row in chat.rows("outbox")] == [ALERT] * 4
    assert chat.db.run(lambda tx: payment_rows.mark_summed_up(tx, link.id)) is False
