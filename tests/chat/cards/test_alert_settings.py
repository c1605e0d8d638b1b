"""Alert settings: on, silent or off, quiet hours, and the list of undelivered alerts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.chat.cards import alert_text
from bot.chat.model.payloads import TextMessage
from bot.chat.store import seller_rows
from bot.chat.store.link_rows import PaymentLink
from bot.chat.telegram.transport import MAX_ATTEMPTS
from bot.core.database.database import Transaction
from bot.core.outbox import outbox, queue_policy
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, STICKERS, ChatHarness, service_answer
from tests.support.drop_payments import pay
from tests.support.sender_harness import BLOCKED, REFUSAL, SenderHarness

HOUR = 3600


@pytest.fixture
def link(chat: ChatHarness, sam: Person) -> PaymentLink:
    return chat.add_link(sam, COFFEE, service_answer(id="c"))


def told(chat: ChatHarness) -> list[tuple[str, bool]]:
    """Return the first line of each waiting alert, and whether it is silent."""
    return [
        (body.text.splitlines()[0], body.is_silent)
        for body in chat.worded
        if isinstance(body, TextMessage) and "received for" in body.text
    ]


async def give_up(chat: ChatHarness, sending: SenderHarness, *links: PaymentLink) -> None:
    """Refuse the alerts of these payments until they are given up."""
    for number, link in enumerate(links):
        sending.fault(**REFUSAL, times=MAX_ATTEMPTS)
        pay(chat, link, 100 + number)
        for _ in range(MAX_ATTEMPTS):
            await sending.work_later()


def last(chat: ChatHarness) -> str:
    return str(chat.worded[-1].text)


ALERT = "💰 <b>$5.00</b> received for <b>Coffee</b>"


@pytest.mark.parametrize(
    ("mode", "expected"), [("on", [(ALERT, False)]), ("silent", [(ALERT, True)]), ("off", [])]
)
async def test_alerts_of_a_request_follow_its_setting(
    chat: ChatHarness,
    sam: Person,
    link: PaymentLink,
    mode: str,
    expected: list[tuple[str, bool]],
) -> None:
    """The setting is chosen by a button and confirmed; payments are recorded in any case."""
    other = "on" if mode != "on" else "off"
    for press in (other, mode):
        await chat.presses(sam, f"alerts:{link.id}:{press}")
    words = {"on": "with sound", "silent": "without sound", "off": "Alerts are off"}
    assert words[mode] in str(chat.answers[-1].text)
    chat.clear_messages()
    pay(chat, link, 1)
    assert told(chat) == expected
    assert chat.link(link.id).paid_count == 1


async def test_other_requests_keep_their_alert_setting(
    chat: ChatHarness, sam: Person, link: PaymentLink
) -> None:
    other = chat.add_link(sam, replace(COFFEE, name="Cake"), service_answer(id="k"))
    await chat.presses(sam, f"alerts:{link.id}:off")
    chat.clear_messages()
    pay(chat, other, 1)
    assert told(chat) == [("💰 <b>$5.00</b> received for <b>Cake</b>", False)]


async def test_the_alert_menu_ticks_the_setting_and_leads_back_to_the_card(
    chat: ChatHarness, sam: Person, link: PaymentLink
) -> None:
    await chat.presses(sam, f"alerts:{link.id}")
    await chat.presses(sam, f"alerts:{link.id}:silent")
    menus = [body.keyboard["inline_keyboard"] for body in chat.worded]
    labels = [[button["text"] for button in rows[0]] for rows in menus]
    assert labels == [["✅ On", "Silent", "Off"], ["On", "✅ Silent", "Off"]]
    assert [rows[1][0]["callback_data"] for rows in menus] == [f"refresh:{link.id}"] * 2
    assert {body.message_id for body in chat.worded}
    assert "you need to refund them" in chat.worded[0].text


async def test_choosing_the_same_setting_again_changes_nothing(
    chat: ChatHarness, sam: Person, link: PaymentLink
) -> None:
    """A double press would edit the menu to the same text, which Telegram refuses."""
    for _ in range(2):
        await chat.presses(sam, f"alerts:{link.id}:silent")
    assert [one.text for one in chat.answers] == [chat.answers[0].text] * 2
    assert len(chat.said) == 1


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"oversold": True}, "OVERSOLD"),
        ({"codes_waiting": 1}, "1 buyer is waiting: send one code."),
    ],
)
async def test_what_needs_the_seller_has_an_alert_although_alerts_are_off(
    chat: ChatHarness, sam: Person, fields: dict[str, Any], words: str
) -> None:
    link = chat.add_link(sam, STICKERS, service_answer(id="s", remaining_units=2))
    await chat.presses(sam, f"alerts:{link.id}:off")
    chat.clear_messages()
    pay(chat, link, 1)
    pay(chat, link, 2, **fields)
    assert told(chat) == [("💰 <b>$2.50</b> received for <b>Stickers</b>", False)]
    assert words in chat.texts[0]


@pytest.mark.parametrize(
    "case",
    [
        *[(21, "UTC", False), (22, "UTC", True), (6, "UTC", True), (7, "UTC", False)],
        *[(21, "Europe/Berlin", True), (6, "Europe/Berlin", False), (22, None, True)],
    ],
)
async def test_alerts_in_quiet_hours_are_immediate_and_silent(
    chat: ChatHarness, sam: Person, link: PaymentLink, case: tuple[int, str | None, bool]
) -> None:
    """From 22:00 to 7:00 in the seller's zone, in UTC without one."""
    hour, zone, silent = case

    def choose(tx: Transaction) -> None:
        seller_rows.save_quiet(tx, sam.id, (22 * 60, 7 * 60))
        if zone:
            seller_rows.change(tx, sam.id, zone=zone)

    chat.db.run(choose)
    chat.clock.advance((hour - 8) % 24 * HOUR)  # it is eight in UTC
    pay(chat, link, 1)
    assert told(chat) == [(ALERT, silent)]
    (row,) = chat.rows("outbox")
    assert row["due_at"] == chat.clock()


async def test_a_zone_that_no_longer_exists_costs_no_alert(
    chat: ChatHarness, sam: Person, link: PaymentLink
) -> None:
    chat.db.run(lambda tx: seller_rows.save_quiet(tx, sam.id, (0, 1439)))
    chat.db.run(lambda tx: seller_rows.change(tx, sam.id, zone="Mars/Olympus"))
    pay(chat, link, 1)
    assert told(chat) == [(ALERT, False)]


async def test_alerts_command_confirms_that_everything_was_delivered(
    chat: ChatHarness, sam: Person, link: PaymentLink, sending: SenderHarness
) -> None:
    pay(chat, link, 1)
    await sending.work()
    await chat.says(sam, "/alerts")
    assert chat.texts == ["✅ All your alerts were delivered. Nothing is missing."]
    assert chat.worded[0].keyboard is None


async def test_alerts_command_lists_dead_alerts_newest_first_and_resends_them(
    chat: ChatHarness, sam: Person, link: PaymentLink, sending: SenderHarness
) -> None:
    """With amount, request, time and reason; they are resent in their old order."""
    cake = chat.add_link(sam, replace(COFFEE, name="<Cake>", amount=700), service_answer(id="k"))
    await give_up(chat, sending, link, cake)
    await chat.says(sam, "/alerts")
    heading, first, second, _, hint = last(chat).splitlines()
    assert heading == "⚠ <b>Alerts that didn't reach you</b>"
    why = "Telegram rejected the message"
    assert first.startswith("• Fri, 15 Jan 2027")
    assert first.endswith(f"(UTC): <b>$7.00</b> for <b>&lt;Cake&gt;</b>: {why}")
    assert second.endswith(f"(UTC): <b>$5.00</b> for <b>Coffee</b>: {why}")
    assert "Send again" in hint
    await sending.work_later()
    await chat.presses(sam, "undelivered:again")
    assert chat.answers[-1].text == "On their way again."
    assert "it's on its way" in last(chat)
    await sending.work_later()
    told = [m.text for m in sam.chat.from_bot() if "received for" in m.text]
    money = [text.splitlines()[0] for text in told]
    assert money == ["💰 $5.00 received for Coffee", "💰 $7.00 received for <Cake>"]
    await chat.presses(sam, "undelivered:again")
    assert chat.answers[-1].text == "All your alerts were delivered."


async def test_alerts_of_a_blocked_chat_are_listed_and_delivered_later(
    chat: ChatHarness, sam: Person, link: PaymentLink, sending: SenderHarness
) -> None:
    """A message of the person unblocks the bot."""
    sending.fault(**BLOCKED, times=2)
    pay(chat, link, 1)
    await sending.work()
    await sending.work_later()
    pay(chat, link, 2)
    await chat.says(sam, "/alerts")
    first, second = last(chat).splitlines()[1:3]
    assert first.endswith(": it's on its way")
    assert second.endswith(": you'd blocked me; it's on its way now")
    assert "undelivered:again" not in str(chat.said)
    await sending.work_later()
    assert sum("received for" in m.text for m in sam.chat.from_bot()) == 2


async def test_alerts_command_shows_only_the_persons_own(
    chat: ChatHarness, sam: Person, link: PaymentLink, sending: SenderHarness
) -> None:
    """Nor does a press of another person resend them."""
    await give_up(chat, sending, link)
    pat = chat.add_person("Pat")
    await chat.says(pat, "/alerts")
    assert chat.texts[-1].startswith("✅ All your alerts were delivered")
    await chat.presses(pat, "undelivered:again")
    assert chat.answers[-1].text == "All your alerts were delivered."
    dead = [row for row in chat.rows("outbox") if row["state"] == "dead"]
    assert [row["lane"] for row in dead] == [str(sam.id)]


async def test_alerts_command_always_answers_one_message(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    spec = replace(COFFEE, name="&<" * 50)
    link = chat.add_link(sam, spec, service_answer(id="l"))
    pay(chat, link, *range(40))

    def dead_letter(tx: Transaction) -> None:
        queue, now = chat.queues.messages, chat.clock()
        for _ in range(40):
            (message,) = outbox.claim(tx, queue, now, 1)
            outbox.dead_letter(tx, queue, message, now, "refused")

    chat.db.run(dead_letter)
    await chat.says(sam, "/alerts")
    assert "… and 25 earlier messages" in last(chat)
    await sending.work()
    assert sam.chat.from_bot()[-1].text.count("•") == 15
    assert chat.world.refused == []


async def test_a_dead_digest_is_listed_as_a_line_for_each_request(
    chat: ChatHarness, sam: Person, link: PaymentLink
) -> None:
    pay(chat, link, 1, 2, 3)

    gathered = alert_text.join_alerts(chat.said)
    assert gathered is not None

    def dead_letter(tx: Transaction) -> None:
        queue, now, body = chat.queues.messages, chat.clock(), gathered[1]
        tx.execute("DELETE FROM outbox")
        outbox.put(tx, queue, str(sam.id), body, now, priority=queue_policy.ALERT, uncertain=True)
        (message,) = outbox.claim(tx, queue, now, 1)
        outbox.dead_letter(tx, queue, message, now, "lost")

    chat.db.run(dead_letter)
    await chat.says(sam, "/alerts")
    (line,) = [line for line in last(chat).splitlines() if line.startswith("•")]
    assert line.endswith(
        "<b>$15.00</b> for <b>Coffee</b> (3 payments): Telegram never confirmed that it arrived"
    )
