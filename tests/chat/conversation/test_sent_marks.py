"""Payments marked as sent or paid back: the buyer hears of it, and the seller reads how."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from bot.chat.conversation.form_effects import NOTE_TIME
from bot.chat.model.payloads import BuyerNotice, TextMessage
from bot.chat.payments.payment_jobs import MARK_TRIED_FOR
from bot.chat.store import payment_marks
from bot.core.database.database import Transaction
from bot.core.text.translations import t
from tests.support.chat_harness import REQUEST_ID
from tests.support.claim_steps import DOWN, ClaimSteps
from tests.support.http_messages import http_response

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


SENT, UNSENT, BACK, DETAILS, SKIP = (
    t("en", key)
    for key in (
        *("button-sent", "button-sent-undo", "button-paid-back"),
        *("button-payment", "button-skip"),
    )
)
MARKED = http_response(200, {"transactionId": "t1"})
EMAILED = http_response(200, {"transactionId": "t1", "payerNotified": "email"})
NOT_FOUND = http_response(404, {"code": "notFound", "message": "No.", "info": []})


def bodies(steps: ClaimSteps) -> list[object]:
    """Return the bodies that the service was sent."""
    return [json.loads(call.body) for call in steps.jobs.peer.calls if call.method == "PUT"]


async def test_sent_with_a_tracking_number_reaches_the_buyer_in_one_message(
    steps: ClaimSteps,
) -> None:
    await steps.pay()
    await steps.press(steps.newest, SENT)
    assert "Marked as sent." in steps.newest.text
    assert "once you've answered, within 10 minutes at the latest." in steps.newest.text
    assert await steps.answer() == []
    await steps.says("DHL 00340434")
    assert await steps.answer(EMAILED) == [("PUT", "t1")]
    assert bodies(steps) == [{"sent": {"note": "DHL 00340434"}, "notifyPayer": True}]
    assert steps.newest.text == "📦 Stickers is marked as sent. The buyer will get an email."
    found = await steps.says("/find K7F290XM")
    assert "📦 Sent Fri, 15 Jan 2027, 08:00" in found.text
    assert "DHL 00340434" in found.text


async def test_without_an_address_it_stands_on_the_receipt(steps: ClaimSteps) -> None:
    await steps.pay()
    await steps.press(steps.newest, SENT)
    await steps.press(steps.newest, SKIP)
    await steps.answer(MARKED)
    assert bodies(steps) == [{"sent": {}, "notifyPayer": True}]
    assert "left no email address, so they'll only see it on their receipt" in steps.newest.text


async def test_a_buyer_who_keeps_the_receipt_hears_of_it_in_telegram(
    steps: ClaimSteps, pat: Person
) -> None:
    await steps.pay()
    steps.chat.db.run(lambda tx: keep(tx, pat))
    await steps.press(steps.newest, SENT)
    await steps.press(steps.newest, SKIP)
    calls = await steps.jobs.work(MARKED)
    assert calls == [("PUT", "t1")]
    assert bodies(steps) == [{"sent": {}, "notifyPayer": False}]
    notice = BuyerNotice(REQUEST_ID, "t1", "en", "sent")
    assert notice in steps.chat.said
    assert any("I've let the buyer know in Telegram" in text for text in sent_texts(steps))


def sent_texts(steps: ClaimSteps) -> list[str]:
    """Return the texts that wait to be sent."""
    return [body.text for body in steps.chat.said if isinstance(body, TextMessage)]


def keep(tx: Transaction, person: Person) -> None:
    """Keep the receipt of the payment for a person."""
    tx.execute(
        "INSERT INTO kept_receipts (request_id, transaction_id, id, account_id, language, kept_at,"
        " name, amount, currency, status) VALUES (:request, 't1', 'abcdefghij', :account, 'en', 1,"
        " 'Stickers', 250, 'USD', 'paid')",
        request=REQUEST_ID,
        account=person.id,
    )


async def test_a_seller_who_never_answers_has_told_the_buyer_after_a_while(
    steps: ClaimSteps,
) -> None:
    await steps.pay()
    await steps.press(steps.newest, SENT)
    steps.chat.clock.advance(NOTE_TIME / 1000)
    assert await steps.answer(MARKED) == [("PUT", "t1")]
    assert "marked as sent" in steps.newest.text


async def test_a_note_that_comes_later_reaches_the_buyer_too(
    steps: ClaimSteps, pat: Person
) -> None:
    await steps.pay()
    steps.chat.db.run(lambda tx: keep(tx, pat))
    await steps.press(steps.newest, SENT)
    steps.chat.clock.advance(NOTE_TIME / 1000)
    await steps.jobs.work(MARKED)
    await steps.chat.says(steps.seller, "DHL 00340434")
    await steps.jobs.work(MARKED)
    assert bodies(steps)[-1] == {"sent": {"note": "DHL 00340434"}, "notifyPayer": False}
    assert steps.chat.said.count(BuyerNotice(REQUEST_ID, "t1", "en", "sent")) == 2
    told = [text for text in sent_texts(steps) if "I've let the buyer know in Telegram" in text]
    assert len(told) == 2


async def test_a_mark_without_the_note_that_came_meanwhile_leaves_the_news_to_the_note(
    steps: ClaimSteps,
) -> None:
    await steps.pay()
    await steps.press(steps.newest, SENT)
    await steps.says("DHL 00340434")
    (row,) = steps.chat.rows("received_payments")
    mark = ((REQUEST_ID, "t1"), "sent", row["sent_at"])
    assert not steps.chat.db.run(lambda tx: payment_marks.announce(tx, *mark, None))
    assert steps.chat.db.run(lambda tx: payment_marks.announce(tx, *mark, "DHL 00340434"))


async def test_a_buyer_who_blocked_the_bot_gets_the_email(steps: ClaimSteps, pat: Person) -> None:
    """Their notice waits in Telegram, perhaps for ever."""
    await steps.pay()
    steps.chat.db.run(lambda tx: keep(tx, pat))
    pat.start()
    pat.block()
    await steps.press(steps.newest, SENT)
    await steps.press(steps.newest, SKIP)
    await steps.answer(EMAILED)
    assert bodies(steps) == [{"sent": {}, "notifyPayer": True}]
    assert "The buyer will get an email." in steps.newest.text
    assert BuyerNotice(REQUEST_ID, "t1", "en", "sent") in steps.chat.said


async def test_the_seller_reads_once_who_hears_of_it(steps: ClaimSteps) -> None:
    await steps.pay()
    await steps.press(steps.newest, SENT)
    await steps.press(steps.newest, SKIP)
    await steps.answer(EMAILED)
    number = len(steps.messages)
    steps.chat.clock.advance(NOTE_TIME / 1000)
    assert await steps.answer(MARKED) == [("PUT", "t1")]
    assert len(steps.messages) == number


@pytest.mark.parametrize("comes_later", [False, True])
async def test_a_mark_stands_where_the_question_for_its_note_is_cancelled(
    steps: ClaimSteps, *, comes_later: bool
) -> None:
    """Also by the button of a question that was left; otherwise the buyer hears of it at once."""
    await steps.pay()
    await steps.press(steps.newest, DETAILS)
    await steps.press(steps.newest, BACK)
    if comes_later:
        steps.chat.clock.advance(25 * 3600)
        await steps.press(await steps.says("Hello"), t("en", "button-cancel"))
    else:
        await steps.says("/cancel")
    assert steps.newest.text == t("en", "mark-stays-paid-back")
    assert t("en", "button-paid-back-undo") in steps.newest.text
    assert steps.chat.rows("drafts") == []
    if not comes_later:
        assert await steps.answer(EMAILED) == [("PUT", "t1")]
        assert bodies(steps) == [{"paidBack": {}, "notifyPayer": True}]


async def test_a_mark_that_is_taken_back_asks_for_no_note_any_more(steps: ClaimSteps) -> None:
    """A note on it would be saved nowhere."""
    await steps.pay()
    await steps.says("/new")
    await steps.pay(transactionId="t2")
    await steps.press(steps.newest, DETAILS)
    facts = steps.newest
    await steps.press(facts, SENT)
    await steps.press(facts, UNSENT)
    assert "What kind of payment link is it?" in steps.newest.text, "asked again"
    await steps.press(facts, SENT)
    await steps.press(facts, BACK)
    await steps.press(facts, UNSENT)
    assert (await steps.says("By transfer")).text.startswith("What kind"), "after the note"
    assert "📝 By transfer" in (await steps.says("/find t2")).text


async def test_a_mark_that_is_taken_back_is_so_at_the_service(steps: ClaimSteps) -> None:
    await steps.pay()
    await steps.press(steps.newest, DETAILS)
    facts = steps.newest
    await steps.press(facts, SENT)
    assert "📦 Sent Fri, 15 Jan 2027" in facts.text
    await steps.press(facts, UNSENT)
    assert "📦 Sent Fri" not in facts.text
    await steps.answer(MARKED, MARKED)
    assert bodies(steps)[0] == {"sent": None}
    assert "is marked as sent" not in steps.newest.text


async def test_a_mark_set_while_the_service_takes_the_former_one_back_is_news_once_it_is_there(
    steps: ClaimSteps,
) -> None:
    await steps.pay()
    await steps.press(steps.newest, DETAILS)
    facts = steps.newest
    await steps.press(facts, SENT)
    await steps.press(steps.newest, SKIP)
    await steps.answer(EMAILED)
    await steps.press(facts, UNSENT)
    undoing = asyncio.create_task(steps.jobs.due())
    await steps.jobs.peer.asked(2)
    await steps.press(facts, SENT)
    question, number = steps.newest, len(steps.messages)
    await steps.jobs.peer.add_answers(MARKED)
    await undoing
    await steps.cards.work()
    assert (steps.newest, len(steps.messages)) == (question, number)
    await steps.press(question, SKIP)
    await steps.answer(EMAILED)
    assert bodies(steps)[1:] == [{"sent": None}, {"sent": {}, "notifyPayer": True}]
    assert steps.newest.text == "📦 Stickers is marked as sent. The buyer will get an email."


async def test_paid_back_reaches_the_service(steps: ClaimSteps) -> None:
    await steps.pay()
    await steps.press(steps.newest, DETAILS)
    await steps.press(steps.newest, BACK)
    await steps.press(steps.newest, SKIP)
    assert await steps.answer(EMAILED) == [("PUT", "t1")]
    assert bodies(steps) == [{"paidBack": {}, "notifyPayer": True}]
    assert "is marked as paid back. The buyer will get an email" in steps.newest.text


async def test_a_service_that_is_down_gets_the_mark_later(steps: ClaimSteps) -> None:
    await steps.pay()
    await steps.press(steps.newest, SENT)
    await steps.press(steps.newest, SKIP)
    await steps.answer(DOWN)
    assert "I'll keep trying to pass it on" in steps.newest.text
    steps.chat.clock.advance(60)
    await steps.answer(MARKED)
    assert "If they left an email address, they'll get an email too." in steps.newest.text


async def test_a_mark_is_given_up_after_days(steps: ClaimSteps) -> None:
    await steps.pay()
    await steps.press(steps.newest, SENT)
    await steps.press(steps.newest, SKIP)
    steps.chat.clock.advance(MARK_TRIED_FOR / 1000)
    await steps.answer(DOWN, DOWN)
    assert "hasn't responded for days" in steps.newest.text
    (row,) = steps.chat.rows("received_payments")
    assert row["sent_at"] is not None


async def test_a_service_without_the_call_keeps_the_mark_local(steps: ClaimSteps) -> None:
    await steps.pay()
    await steps.press(steps.newest, SENT)
    await steps.press(steps.newest, SKIP)
    await steps.answer(NOT_FOUND)
    assert "can't pass it on to the buyer" in steps.newest.text


async def test_a_second_tap_marks_nothing_twice(steps: ClaimSteps) -> None:
    await steps.pay()
    alert = steps.newest
    await steps.press(alert, SENT)
    await steps.press(steps.newest, SKIP)
    await steps.answer(MARKED)
    assert await steps.press(alert, SENT) == t("en", "claims-toast-unchanged")
    assert len(steps.chat.rows("audit")) == 1
