"""Underpaid money that its seller accepts: asked for by one press, and shown as it stands."""

from __future__ import annotations

from typing import Any

import pytest

from bot.chat.model.jobs import SendMark
from bot.chat.store import claim_rows, payment_marks
from bot.chat.store.payment_rows import revenue_totals
from bot.core.database.database import Row, Transaction
from bot.core.text.translations import t
from bot.sandbox.world.model import Message
from bot.sandbox.world.people import Person
from tests.support.claim_steps import DOWN, WRONG_STATE, ClaimSteps, checkout
from tests.support.databases import SQLITE
from tests.support.http_peers import http_response

ACCEPT, SENT, DETAILS, BACK, UNDO, SKIP, CARD = (
    t("en", key)
    for key in (
        "button-accept",
        "button-sent",
        "button-payment",
        "button-paid-back",
        "button-paid-back-undo",
        "button-skip",
        "button-show-card",
    )
)
DAY = 24 * 3600
NOT_FOUND = http_response(404, {"code": "notFound", "message": "No.", "info": []})


def by_wallet(amount: float) -> dict[str, Any]:
    return {"kind": "lnbits", "amount": amount, "currencyCode": "USD"}


async def underpay(steps: ClaimSteps, amount: float = 1, **fields: Any) -> Message:
    """Report underpaid money; return its alert."""
    await steps.pay(underpaid=True, paidBy=by_wallet(amount), **fields)
    return steps.newest


async def accept(steps: ClaimSteps) -> Message:
    """Accept underpaid money; return its alert."""
    alert = await underpay(steps)
    await steps.press(alert, ACCEPT)
    return alert


async def sell(steps: ClaimSteps, amount: float = 1) -> None:
    """Report that the money is a sale."""
    await steps.pay(paidBy=by_wallet(amount))


def labels(message: Message) -> list[str]:
    return [button["text"] for button in message.buttons]


def data_of(message: Message, label: str) -> str:
    return str(message.button(label)["callback_data"])


async def test_an_underpaid_alert_offers_to_accept_the_money(steps: ClaimSteps) -> None:
    alert = await underpay(steps)
    assert labels(alert) == [ACCEPT, DETAILS, CARD]
    assert t("en", "claims-accept-hint") in alert.text


async def test_accepted_money_is_confirmed_and_the_sales_alert_takes_its_place(
    steps: ClaimSteps,
) -> None:
    alert = await underpay(steps)
    assert await steps.press(alert, ACCEPT) == t("en", "claims-toast-confirming")
    assert await steps.answer(checkout("paid")) == [("POST", "confirm")]
    assert alert.text.startswith("✅ You confirmed $1.00 for Stickers.")
    assert alert.buttons == []
    await sell(steps)
    assert steps.messages == [alert]
    assert "received for Stickers" in alert.text
    assert "$1.50 less than the price arrived." in alert.text
    assert labels(alert) == [SENT, DETAILS, CARD]
    assert steps.row["state"] == claim_rows.PAID


async def test_the_sale_may_be_reported_before_the_service_answers(steps: ClaimSteps) -> None:
    alert = await accept(steps)
    await sell(steps)
    sold = alert.text
    assert await steps.answer() == []
    assert (steps.messages, alert.text) == ([alert], sold)


async def test_accepting_twice_asks_the_service_once(steps: ClaimSteps) -> None:
    alert = await underpay(steps)
    old = data_of(alert, ACCEPT)
    await steps.press(alert, ACCEPT)
    assert await steps.press(alert, ACCEPT) == t("en", "claims-toast-busy")
    assert await steps.answer(checkout("paid")) == [("POST", "confirm")]
    await sell(steps)
    steps.seller.press_old(alert, old)
    await steps.chat.take()
    assert steps.chat.answers[-1].text == t("en", "claims-toast-confirmed")
    assert steps.chat.jobs == []


async def test_money_that_became_whole_is_shown_so_and_not_accepted(steps: ClaimSteps) -> None:
    """The old alert says what became of it, and its old buttons have an answer."""
    alert = await underpay(steps)
    old = {label: data_of(alert, label) for label in (ACCEPT, DETAILS)}
    steps.chat.clock.advance(60)
    await sell(steps, 2.50)
    assert alert.text == "✅ $2.50 for Stickers has arrived."
    assert alert.buttons == []
    assert "received for Stickers" in steps.newest.text
    steps.seller.press_old(alert, old[ACCEPT])
    await steps.chat.take()
    assert steps.chat.answers[-1].text == t("en", "claims-toast-confirmed")
    assert steps.chat.jobs == []
    steps.seller.press_old(alert, old[DETAILS])
    await steps.chat.take()
    await steps.cards.work()
    assert labels(steps.newest) == [SENT, BACK, CARD]
    assert "Underpaid" not in steps.newest.text


async def test_more_of_too_little_money_moves_the_button_to_its_newest_alert(
    steps: ClaimSteps,
) -> None:
    first = await underpay(steps)
    second = await underpay(steps, 2)
    await steps.cards.work()
    assert first != second
    assert labels(second) == [ACCEPT, DETAILS, CARD]
    await steps.press(second, ACCEPT)
    await steps.answer(checkout("paid"))
    assert "You confirmed $2.00" in second.text


async def test_money_that_was_paid_back_is_not_accepted_until_that_is_undone(
    steps: ClaimSteps,
) -> None:
    alert = await underpay(steps)
    await steps.press(alert, DETAILS)
    facts = steps.newest
    assert labels(facts) == [ACCEPT, BACK, CARD]
    await steps.press(facts, BACK)
    await steps.press(steps.newest, SKIP)
    assert labels(facts) == [UNDO, CARD]
    assert await steps.press(alert, ACCEPT) == t("en", "claims-toast-paid-back")
    assert {type(job) for job in steps.chat.jobs} == {SendMark}
    await steps.press(facts, UNDO)
    assert labels(facts) == [ACCEPT, BACK, CARD]
    assert await steps.press(alert, ACCEPT) == t("en", "claims-toast-confirming")


async def test_money_that_is_being_accepted_is_not_marked_as_paid_back(steps: ClaimSteps) -> None:
    """The sale takes the place of the underpaid record, and the mark would be lost with it."""
    alert = await underpay(steps)
    await steps.press(alert, DETAILS)
    facts = steps.newest
    await steps.press(alert, ACCEPT)
    assert await steps.press(facts, BACK) == t("en", "claims-toast-busy")
    await steps.answer(checkout("paid"))
    assert await steps.press(facts, BACK) == t("en", "claims-toast-busy")
    await sell(steps)
    await steps.press(facts, BACK)
    (row,) = steps.chat.rows("listings")
    money = steps.chat.db.run(lambda tx: revenue_totals(tx, row["id"]))
    assert (money.earned_count, money.returned_count, money.short_count) == (1, 1, 0)


async def test_payments_offers_what_can_be_done_with_underpaid_money(steps: ClaimSteps) -> None:
    """Accepted there, the old alert says what became of it, and the sale has its own alert."""
    alert = await underpay(steps)
    page = await steps.says("/payments")
    assert "Underpaid: doesn't count as a sale" in page.text
    assert t("en", "claims-underpaid-choice", number=1) in page.text
    await steps.press(page, "🧾 1")
    facts = steps.newest
    assert t("en", "claims-accept-hint") in facts.text
    assert await steps.press(facts, ACCEPT) == t("en", "claims-toast-confirming")
    assert "Latest payments" in facts.text
    assert await steps.answer(checkout("paid")) == [("POST", "confirm")]
    await sell(steps)
    assert alert.text == "✅ $1.00 for Stickers has arrived."
    assert alert.buttons == []
    assert "received for Stickers" in steps.newest.text
    page = await steps.says("/payments")
    assert "Underpaid" not in page.text


async def test_a_service_that_is_down_is_asked_until_it_answers(steps: ClaimSteps) -> None:
    alert = await accept(steps)
    await steps.answer(DOWN)
    assert "I'll keep trying to pass on your answer about Stickers" in steps.newest.text
    steps.chat.clock.advance(120)
    assert await steps.answer(checkout("paid")) == [("POST", "confirm")]
    assert "You confirmed" in alert.text


async def test_after_a_day_the_money_can_be_accepted_again(steps: ClaimSteps) -> None:
    alert = await accept(steps)
    await steps.answer(DOWN)
    steps.chat.clock.advance(DAY)
    await steps.answer(DOWN)
    assert "Please answer again" in steps.newest.text
    assert alert.text.startswith("⚠️ Underpaid")
    assert labels(alert) == [ACCEPT, DETAILS, CARD]
    assert await steps.press(alert, ACCEPT) == t("en", "claims-toast-confirming")


async def test_a_refusal_leaves_the_money_as_it_is(steps: ClaimSteps) -> None:
    alert = await accept(steps)
    await steps.answer(WRONG_STATE, checkout("opening"))
    assert "didn't accept your answer about Stickers" in steps.newest.text
    assert labels(alert) == [ACCEPT, DETAILS, CARD]
    assert steps.row["state"] == claim_rows.UNDERPAID


async def test_a_server_without_checkouts_ends_the_offer(steps: ClaimSteps) -> None:
    """Such as another one that the operator has connected since."""
    alert = await accept(steps)
    await steps.answer(NOT_FOUND)
    assert "no longer has this payment for Stickers" in steps.newest.text
    assert alert.buttons == []
    (row,) = steps.chat.rows("received_payments")
    assert row["underpaid"] == 1


async def test_money_of_a_server_that_names_no_checkout_is_not_offered(steps: ClaimSteps) -> None:
    alert = await underpay(steps, checkoutId=None)
    assert labels(alert) == [DETAILS, CARD]
    page = await steps.says("/payments")
    assert t("en", "claims-underpaid-choice", number=1) not in page.text
    assert steps.chat.rows("claims") == []


async def test_nobody_else_accepts_money(steps: ClaimSteps, pat: Person) -> None:
    alert = await underpay(steps)
    await steps.chat.presses(pat, data_of(alert, ACCEPT))
    assert steps.chat.answers[-1].text == t("en", "claims-gone")
    assert steps.chat.jobs == []


@pytest.mark.parametrize("word", ["claim", "missing", "missing-yes"])
async def test_underpaid_money_has_no_other_button_of_a_claim(steps: ClaimSteps, word: str) -> None:
    await underpay(steps)
    await steps.chat.presses(steps.seller, f"{word}:{steps.row['id']}")
    assert steps.chat.answers[-1].text == t("en", "claims-gone")
    assert steps.chat.jobs == []


async def test_accepted_money_is_counted_once(steps: ClaimSteps) -> None:
    await accept(steps)
    await steps.answer(checkout("paid"))
    await sell(steps)
    await underpay(steps)
    (row,) = steps.chat.rows("listings")
    money = steps.chat.db.run(lambda tx: revenue_totals(tx, row["id"]))
    assert (money.earned_count, money.short_count) == (1, 0)
    assert row["delivered_count"] == 1


@pytest.mark.only(SQLITE, "its query plans; PostgreSQL's are in test_query_plans.py")
@pytest.mark.parametrize(
    ("sql", "column"),
    [(payment_marks.BY_KEY, "received_at"), (payment_marks.BY_SHORT_KEY, "short_at")],
)
def test_a_button_finds_its_payment_by_an_index(steps: ClaimSteps, sql: str, column: str) -> None:
    def explain(tx: Transaction) -> list[Row]:
        return tx.query(f"EXPLAIN QUERY PLAN {sql}", listing="l", seller=1, at=1)

    (step,) = steps.chat.db.run(explain)
    assert f" AND {column}=?)" in str(step["detail"])
