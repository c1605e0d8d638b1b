"""Payments that were paid back by hand: marked, noted, undone, and no longer owed."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from bot.chat.conversation.form_effects import NOTE_TIME
from bot.chat.model.payloads import BuyerNotice, TextMessage
from bot.chat.payments.payment_jobs import MARK_TRIED_FOR
from bot.chat.store import link_rows, payment_marks
from bot.chat.store.payment_rows import RevenueTotals, revenue_totals
from bot.core.database.database import Transaction
from bot.core.text.translations import t
from bot.sandbox.world.model import Message
from bot.sandbox.world.people import Person
from tests.support.chat_harness import REQUEST_ID, STICKERS
from tests.support.claim_steps import DOWN, ClaimSteps
from tests.support.form_questions import question_of
from tests.support.http_peers import http_response

DETAILS, BACK, UNDO, SKIP = (
    t("en", key)
    for key in ("button-payment", "button-paid-back", "button-paid-back-undo", "button-skip")
)


def sums(steps: ClaimSteps) -> RevenueTotals:
    (row,) = steps.chat.rows("listings")
    return steps.chat.db.run(lambda tx: revenue_totals(tx, row["id"]))


async def facts_of(steps: ClaimSteps) -> Message:
    """Report a payment; return the message with its details."""
    await steps.pay()
    await steps.press(steps.newest, DETAILS)
    return steps.newest


async def send_without_note(steps: ClaimSteps) -> None:
    """Report a payment, and mark it as sent."""
    await steps.pay()
    await steps.press(steps.newest, SENT)
    await steps.press(steps.newest, SKIP)


async def test_a_payment_is_marked_as_paid_back_with_a_note(steps: ClaimSteps) -> None:
    facts = await facts_of(steps)
    assert "To pay it back, make a transfer" in facts.text
    await steps.press(facts, BACK)
    assert "↩ Paid back Fri, 15 Jan 2027, 08:00" in facts.text
    assert question_of("ask-paidback") in steps.newest.text
    assert (await steps.says("By transfer,  <b>sorry</b>")).text == t("en", "claims-note-saved")
    found = await steps.says("/find K7F290XM")
    assert "📝 By transfer, <b>sorry</b>" in found.text
    assert sums(steps).returned == ((250, "USD"),)
    (row,) = (one for one in steps.chat.rows("audit") if one["action"] == "payment.paid-back")
    assert "sorry" not in str(row)


async def test_a_payment_shown_alone_has_the_whole_note(steps: ClaimSteps) -> None:
    await steps.press(await facts_of(steps), BACK)
    note = "Returned. " * 19 + "Thank you!"
    await steps.says(note)
    assert f"📝 {note}" in (await steps.says("/find K7F290XM")).text


async def test_the_note_can_be_skipped(steps: ClaimSteps) -> None:
    await steps.press(await facts_of(steps), BACK)
    question = steps.newest
    await steps.press(question, SKIP)
    assert question.text == t("en", "claims-note-skipped")
    assert (
        "didn't understand" in (await steps.says("hello")).text or steps.chat.rows("drafts") == []
    )


async def test_a_mistake_can_be_undone(steps: ClaimSteps) -> None:
    facts = await facts_of(steps)
    await steps.press(facts, BACK)
    await steps.says("By transfer")
    await steps.press(facts, UNDO)
    assert "Paid back" not in facts.text
    assert sums(steps).returned_count == 0
    (row,) = steps.chat.rows("received_payments")
    assert (row["paid_back_at"], row["paid_back_note"]) == (None, None)


async def test_cards_show_the_raised_sum_at_once_without_a_call_of_the_service(
    steps: ClaimSteps, pat: Person
) -> None:
    """Of a mark, and of one that is undone; in other chats too."""
    chat, cards = steps.chat, steps.cards
    (row,) = chat.rows("listings")
    aimed = replace(STICKERS, goal=1_000)
    chat.db.run(lambda tx: link_rows.set_spec(tx, row["id"], aimed))
    shared = await cards.share(steps.seller, steps.seller.dialog(pat))
    await steps.pay()
    await cards.work_later(10)
    assert "$2.50 of $10 · 25%" in shared.text
    await steps.press(steps.newest, DETAILS)
    facts = steps.newest
    for button, sum_of in ((BACK, "$0 of $10 · 0%"), (UNDO, "$2.50 of $10 · 25%")):
        await steps.press(facts, button)
        await cards.work_later(10)
        assert sum_of in shared.text
    assert steps.jobs.peer.calls == []


async def test_oversold_money_that_was_paid_back_is_not_owed_any_more(
    steps: ClaimSteps,
) -> None:
    await steps.pay(oversold=True)
    assert sums(steps).refund_count == 1
    await steps.press(steps.newest, DETAILS)
    await steps.press(steps.newest, BACK)
    assert (sums(steps).to_refund, sums(steps).refund_count) == ((), 0)
    assert sums(steps).settled_count == 1


async def test_nobody_else_marks_a_payment(steps: ClaimSteps, pat: Person) -> None:
    await steps.pay()
    await steps.press(steps.newest, DETAILS)
    for button in steps.newest.buttons[:1]:
        await steps.chat.presses(pat, button["callback_data"])
        assert steps.chat.answers[-1].text == t("en", "claims-gone")
    assert sums(steps).returned_count == 0


async def test_payments_lists_the_latest_of_all_links_with_a_button_each(
    steps: ClaimSteps,
) -> None:
    for number in range(7):
        steps.chat.clock.advance(1)
        await steps.pay(transactionId=f"t{number}")
    page = await steps.says("/payments")
    assert "5. Stickers" in page.text
    assert "6. Stickers" not in page.text
    numbers = [f"🧾 {number}" for number in range(1, 6)]
    assert [button["text"] for button in page.buttons] == [*numbers, t("en", "button-next")]
    await steps.press(page, "🧾 1")
    assert "t6" in steps.newest.text
    await steps.press(page, t("en", "button-next"))
    assert "Earlier payments (page 2)" in page.text


async def test_underpaid_money_is_named_apart_from_the_sum(steps: ClaimSteps) -> None:
    short = {"kind": "bank", "amount": 1, "currencyCode": "USD", "reference": "R"}
    await steps.pay()
    await steps.pay(transactionId="t2", underpaid=True, paidBy=short)
    money = sums(steps)
    assert (money.earned, money.short, money.short_count) == (((250, "USD"),), ((100, "USD"),), 1)
    (row,) = steps.chat.rows("listings")
    await steps.chat.presses(steps.seller, f"payments:{row['id']}:0")
    await steps.cards.work()
    assert "Underpaid: $1.00 (1 payment, not counted above)" in steps.newest.text
    assert "Total: $2.50 from 1 payment" in steps.newest.text


async def test_too_little_money_that_is_made_a_sale_is_counted_once(steps: ClaimSteps) -> None:
    """In whatever order its webhooks come; a mark that it was paid back is over."""
    short = {"kind": "bank", "amount": 1, "currencyCode": "USD", "reference": "R"}
    for number, (underpaid, is_back) in enumerate(((True, False), (True, True), (False, False))):
        paid = {"transactionId": f"t{number}", "paidBy": short}
        if underpaid:
            await steps.pay(**paid, underpaid=True)
        if is_back:
            await steps.press(steps.newest, DETAILS)
            await steps.press(steps.newest, BACK)
            await steps.press(steps.newest, SKIP)
        await steps.pay(**paid)
        assert number == 2 or "$1.50 less than the price arrived." in steps.newest.text
        await steps.pay(**paid, underpaid=True)
        money = sums(steps)
        assert (money.earned, money.earned_count) == ((((number + 1) * 250, "USD"),), number + 1)
        assert (money.short, money.short_count, money.returned) == ((), 0, ())
    rows = steps.chat.rows("received_payments")
    assert [(row["underpaid"], row["paid_back_at"]) for row in rows] == [(0, None)] * 3


async def test_more_of_too_little_money_raises_its_sum(steps: ClaimSteps) -> None:
    for amount, sum_of in ((1, 100), (2, 200), (1.5, 200)):
        by = {"kind": "bank", "amount": amount, "currencyCode": "USD", "reference": "R"}
        await steps.pay(underpaid=True, paidBy=by)
        assert (sums(steps).short, sums(steps).short_count) == (((sum_of, "USD"),), 1)


@pytest.mark.parametrize("arrived", [1, 4])
async def test_what_is_owed_of_oversold_money_is_what_arrived(
    steps: ClaimSteps, arrived: int
) -> None:
    by = {"kind": "bank", "amount": arrived, "currencyCode": "USD", "reference": "R"}
    await steps.pay(oversold=True, paidBy=by)
    assert sums(steps).to_refund == ((arrived * 100, "USD"),)
    assert f"${arrived}.00" in steps.newest.text
    assert "the price is $2.50" in steps.newest.text
    await steps.press(steps.newest, DETAILS)
    await steps.press(steps.newest, BACK)
    assert (sums(steps).to_refund, sums(steps).settled_count) == ((), 1)


# Payments marked as sent or paid back: the buyer hears of it, and the seller reads how.


SENT, UNSENT = t("en", "button-sent"), t("en", "button-sent-undo")
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
    assert question_of("ask-sent") in steps.newest.text
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
    await send_without_note(steps)
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
    await send_without_note(steps)
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
    await steps.press(await facts_of(steps), BACK)
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
    assert question_of("ask-kind") in steps.newest.text, "asked again"
    await steps.press(facts, SENT)
    await steps.press(facts, BACK)
    await steps.press(facts, UNSENT)
    assert (await steps.says("By transfer")).text.startswith(question_of("ask-kind")), (
        "after the note"
    )
    assert "📝 By transfer" in (await steps.says("/find t2")).text


async def test_a_mark_that_is_taken_back_is_so_at_the_service(steps: ClaimSteps) -> None:
    facts = await facts_of(steps)
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
    facts = await facts_of(steps)
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
    await steps.press(await facts_of(steps), BACK)
    await steps.press(steps.newest, SKIP)
    assert await steps.answer(EMAILED) == [("PUT", "t1")]
    assert bodies(steps) == [{"paidBack": {}, "notifyPayer": True}]
    assert "is marked as paid back. The buyer will get an email" in steps.newest.text


async def test_a_service_that_is_down_gets_the_mark_later(steps: ClaimSteps) -> None:
    await send_without_note(steps)
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
    await send_without_note(steps)
    await steps.answer(NOT_FOUND)
    assert "can't pass it on to the buyer" in steps.newest.text


async def test_a_second_tap_sends_nothing_twice(steps: ClaimSteps) -> None:
    await steps.pay()
    alert = steps.newest
    await steps.press(alert, SENT)
    await steps.press(steps.newest, SKIP)
    await steps.answer(MARKED)
    assert await steps.press(alert, SENT) == t("en", "claims-toast-unchanged")
    assert len(steps.chat.rows("audit")) == 1
