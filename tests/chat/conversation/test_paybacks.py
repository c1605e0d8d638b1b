"""Payments that were paid back by hand: marked, noted, undone, and no longer owed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bot.chat.payments.client import Client
from bot.chat.store import link_rows
from bot.chat.store.payment_rows import RevenueTotals, revenue_totals
from bot.core.text.translations import t
from tests.support.chat_harness import STICKERS, service_answer
from tests.support.claim_steps import ClaimSteps, open_claim_steps
from tests.support.scripted_server import ScriptedServer
from tests.support.shared_cards import SharedCards

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


DETAILS, BACK, UNDO, SKIP = (
    t("en", key)
    for key in ("button-payment", "button-paid-back", "button-paid-back-undo", "button-skip")
)


@pytest.fixture
async def steps(
    cards: SharedCards, sam: Person, peer: ScriptedServer, client: Client
) -> AsyncIterator[ClaimSteps]:
    told = service_answer(total_units=3, remaining_units=2, reserved_units=1)
    link = cards.chat.add_link(sam, STICKERS, told)
    async with open_claim_steps(cards, peer, client, link, sam) as it:
        yield it


def sums(steps: ClaimSteps) -> RevenueTotals:
    (row,) = steps.chat.rows("listings")
    return steps.chat.db.run(lambda tx: revenue_totals(tx, row["id"]))


async def test_a_payment_is_marked_as_paid_back_with_a_note(steps: ClaimSteps) -> None:
    await steps.pay()
    await steps.press(steps.newest, DETAILS)
    facts = steps.newest
    assert "To pay it back, make a transfer" in facts.text
    await steps.press(facts, BACK)
    assert "↩ Paid back Fri, 15 Jan 2027, 08:00" in facts.text
    assert "Would you like to add a note" in steps.newest.text
    assert (await steps.says("By transfer,  <b>sorry</b>")).text == t("en", "claims-note-saved")
    found = await steps.says("/find K7F290XM")
    assert "📝 By transfer, <b>sorry</b>" in found.text
    assert sums(steps).returned == ((250, "USD"),)
    (row,) = (one for one in steps.chat.rows("audit") if one["action"] == "payment.paid-back")
    assert "sorry" not in str(row)


async def test_a_payment_shown_alone_has_the_whole_note(steps: ClaimSteps) -> None:
    await steps.pay()
    await steps.press(steps.newest, DETAILS)
    await steps.press(steps.newest, BACK)
    note = "Returned. " * 19 + "Thank you!"
    await steps.says(note)
    assert f"📝 {note}" in (await steps.says("/find K7F290XM")).text


async def test_the_note_can_be_skipped(steps: ClaimSteps) -> None:
    await steps.pay()
    await steps.press(steps.newest, DETAILS)
    await steps.press(steps.newest, BACK)
    question = steps.newest
    await steps.press(question, SKIP)
    assert question.text == t("en", "claims-note-skipped")
    assert (
        "didn't understand" in (await steps.says("hello")).text or steps.chat.rows("drafts") == []
    )


async def test_a_mistake_can_be_undone(steps: ClaimSteps) -> None:
    await steps.pay()
    await steps.press(steps.newest, DETAILS)
    facts = steps.newest
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


async def test_a_second_tap_marks_nothing_twice(steps: ClaimSteps) -> None:
    await steps.pay()
    await steps.press(steps.newest, DETAILS)
    facts = steps.newest
    data = {button["text"]: button["callback_data"] for button in facts.buttons}
    await steps.press(facts, BACK)
    steps.seller.press_old(facts, data[BACK])
    await steps.chat.take()
    assert steps.chat.answers[-1].text == t("en", "claims-toast-unchanged")
    assert sums(steps).returned_count == 1


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
