"""Claims in the chat: asked once, decided by one press, and shown as they stand."""

from __future__ import annotations

import pytest

from bot.chat.store import claim_rows
from bot.core.text.translations import t
from bot.sandbox.world.model import Message
from bot.sandbox.world.people import Person
from tests.support.claim_steps import DOWN, WRONG_STATE, ClaimSteps, checkout
from tests.support.http_peers import http_response

RECEIVED, MISSING, SURE = (
    t("en", key) for key in ("button-received", "button-missing", "button-missing-yes")
)
ARRIVED = t("en", "button-arrived")
DAY = 24 * 3600
HOW = (
    "The payer says they've sent it by bank transfer. Look for this payment in your bank account,"
    " then tap a button."
)


async def confirm(steps: ClaimSteps) -> Message:
    """Report a claim, and confirm it; return its message."""
    asked = await steps.claim()
    await steps.press(asked, RECEIVED)
    return asked


async def reject(steps: ClaimSteps) -> Message:
    """Report a claim, and reject it; return its message."""
    asked = await steps.claim()
    for button in (MISSING, SURE):
        await steps.press(asked, button)
    return asked


async def test_a_claim_asks_with_amount_reference_and_two_buttons(steps: ClaimSteps) -> None:
    asked = await steps.claim()
    assert asked.text.splitlines() == [
        "🏦 $2.50 for Stickers: has it arrived?",
        HOW,
        "🧾 K7F2-90XM",
        "The payer is waiting for your answer until Fri, 22 Jan 2027, 08:00 (UTC).",
    ]
    assert [button["text"] for button in asked.buttons] == [RECEIVED, MISSING]
    assert [one["type"] for one in asked.entities] == ["bold", "bold", "code"]


async def test_a_claim_by_lightning_sends_its_seller_to_the_wallet(steps: ClaimSteps) -> None:
    asked = await steps.claim(kind="lightning", amount=4812, currencyCode="SAT")
    head, how, *_ = asked.text.splitlines()
    assert head == "⚡ 4,812 sat for Stickers: has it arrived?"
    assert how.endswith("by Lightning. Look for this payment in your wallet, then tap a button.")


async def test_received_is_confirmed_and_its_alert_takes_the_place_of_the_claim(
    steps: ClaimSteps,
) -> None:
    asked = await steps.claim()
    assert await steps.press(asked, RECEIVED) == t("en", "claims-toast-confirming")
    assert await steps.answer(checkout("paid")) == [("POST", "confirm")]
    assert "You confirmed $2.50 for Stickers" in asked.text
    await steps.pay()
    assert steps.messages == [asked]
    assert "$2.50 received for Stickers" in asked.text
    assert "Paid by bank transfer, reference K7F2-90XM" in asked.text
    assert steps.row["state"] == claim_rows.PAID


async def test_the_webhook_of_the_payment_may_be_faster_than_the_answer(
    steps: ClaimSteps,
) -> None:
    asked = await confirm(steps)
    await steps.pay()
    alert = asked.text
    assert await steps.answer() == []
    assert "received for Stickers" in alert
    assert (asked.text, len(steps.messages)) == (alert, 1)


@pytest.mark.parametrize("mode", ["silent", "off"])
async def test_a_claim_of_a_quiet_link_is_asked_and_settled_without_a_sound(
    steps: ClaimSteps, mode: str
) -> None:
    """A decision is needed all the same; with alerts off the claim itself says that it is paid."""
    steps.chat.db.run(lambda tx: tx.execute("UPDATE listings SET alerts = :mode", mode=mode))
    asked = await steps.claim()
    assert asked.options.get("disable_notification")
    await steps.press(asked, RECEIVED)
    await steps.pay()
    assert await steps.answer() == []
    assert steps.messages == [asked]
    expected = "$2.50 received for Stickers" if mode == "silent" else "for Stickers has arrived"
    assert expected in asked.text


async def test_a_confirmation_counts_as_a_delivered_alert(steps: ClaimSteps) -> None:
    await confirm(steps)
    await steps.answer(checkout("paid"))
    await steps.pay()
    (row,) = steps.chat.rows("listings")
    assert row["delivered_count"] == 1


async def test_an_alert_whose_claim_was_deleted_is_a_new_message(steps: ClaimSteps) -> None:
    await confirm(steps)
    await steps.answer(checkout("paid"))
    gone = {"code": 400, "description": "Bad Request: message to edit not found"}
    steps.cards.fault("error", method="editMessageText", **gone)
    await steps.pay()
    steps.chat.world.refused.clear()
    assert "received for Stickers" in steps.newest.text
    (row,) = steps.chat.rows("listings")
    assert row["delivered_count"] == 1


async def test_not_received_asks_once_more_and_tells_what_the_payer_sees(
    steps: ClaimSteps,
) -> None:
    asked = await steps.claim()
    await steps.press(asked, MISSING)
    assert asked.text.startswith("Has $2.50 for Stickers really not arrived?")
    assert steps.chat.jobs == []
    await steps.press(asked, t("en", "button-back"))
    assert "has it arrived?" in asked.text
    await steps.press(asked, MISSING)
    assert await steps.press(asked, SURE) == t("en", "claims-toast-rejecting")
    assert await steps.answer(checkout("rejected")) == [("POST", "reject")]
    assert "The payer now sees that you haven't found their payment." in asked.text
    assert [button["text"] for button in asked.buttons] == [ARRIVED]


async def test_a_late_transfer_can_still_be_confirmed(steps: ClaimSteps) -> None:
    asked = await reject(steps)
    await steps.answer(checkout("rejected"))
    await steps.press(asked, ARRIVED)
    assert await steps.answer(checkout("oversold")) == [("POST", "confirm")]
    await steps.pay(oversold=True)
    assert steps.messages == [asked]
    assert "OVERSOLD" in asked.text
    assert "make a transfer to the account it came from" in asked.text


async def test_taps_twice_and_old_buttons_ask_the_service_once(steps: ClaimSteps) -> None:
    asked = await steps.claim()
    old = {button["text"]: button["callback_data"] for button in asked.buttons}
    await steps.press(asked, RECEIVED)
    assert await steps.press(asked, RECEIVED) == t("en", "claims-toast-busy")
    assert await steps.press(asked, MISSING) == t("en", "claims-toast-busy")
    assert await steps.answer(checkout("paid")) == [("POST", "confirm")]
    await steps.pay()
    steps.seller.press_old(asked, old[RECEIVED])
    await steps.chat.take()
    assert steps.chat.answers[-1].text == t("en", "claims-toast-confirmed")
    assert steps.chat.jobs == []


async def test_nobody_else_decides_a_claim(steps: ClaimSteps, pat: Person) -> None:
    asked = await steps.claim()
    for button in asked.buttons:
        await steps.chat.presses(pat, button["callback_data"])
        assert steps.chat.answers[-1].text == t("en", "claims-gone")
    assert steps.chat.jobs == []
    assert steps.row["state"] == claim_rows.WAITING


async def test_a_service_that_is_down_is_asked_until_it_answers(steps: ClaimSteps) -> None:
    asked = await confirm(steps)
    await steps.answer(DOWN)
    assert "I'll keep trying to pass on your answer about Stickers" in steps.newest.text
    number = len(steps.messages)
    for _ in range(3):
        steps.chat.clock.advance(120)
        await steps.answer(DOWN)
    assert len(steps.messages) == number
    steps.chat.clock.advance(120)
    assert await steps.answer(checkout("paid")) == [("POST", "confirm")]
    assert "You confirmed" in asked.text


async def test_after_a_day_the_seller_is_asked_to_answer_again(steps: ClaimSteps) -> None:
    asked = await confirm(steps)
    await steps.answer(DOWN)
    steps.chat.clock.advance(DAY)
    await steps.answer(DOWN)
    assert "Please answer again" in steps.newest.text
    assert [button["text"] for button in asked.buttons] == [RECEIVED, MISSING]
    assert steps.row["state"] == claim_rows.WAITING


@pytest.mark.parametrize("state", ["paid", "late", "oversold"])
async def test_what_was_paid_elsewhere_is_not_rejected(steps: ClaimSteps, state: str) -> None:
    asked = await reject(steps)
    calls = await steps.answer(WRONG_STATE, checkout(state))
    assert calls == [("POST", "reject"), ("GET", "c1")]
    assert "has already been recorded as received" in steps.newest.text
    assert asked.buttons == []


async def test_what_lapsed_meanwhile_can_still_be_confirmed(steps: ClaimSteps) -> None:
    asked = await reject(steps)
    await steps.answer(WRONG_STATE, checkout("lapsed"))
    assert "nothing left to reject" in steps.newest.text
    assert [button["text"] for button in asked.buttons] == [ARRIVED]


async def test_a_claim_that_the_service_no_longer_has_is_closed(steps: ClaimSteps) -> None:
    asked = await confirm(steps)
    await steps.answer(http_response(404, {"code": "notFound", "message": "No.", "info": []}))
    assert asked.buttons == []
    assert "can't be confirmed or rejected" in steps.newest.text


async def test_a_refusal_leaves_the_claim_as_it_was(steps: ClaimSteps) -> None:
    asked = await confirm(steps)
    await steps.answer(http_response(401, {"code": "unauthorized", "message": "No.", "info": []}))
    assert "only this bot's operator can fix that" in steps.newest.text
    assert [button["text"] for button in asked.buttons] == [RECEIVED, MISSING]


async def test_payments_shows_what_waits_first_with_its_buttons(steps: ClaimSteps) -> None:
    await steps.claim()
    page = await steps.says("/payments")
    assert page.text.splitlines()[:7] == [
        "Waiting for your answer",
        "",
        "$2.50 for Stickers",
        "Reported Fri, 15 Jan 2027, 08:00",
        "Answer by Fri, 22 Jan 2027, 08:00",
        "🧾 K7F2-90XM",
        "",
    ]
    await steps.press(page, RECEIVED)
    assert "Waiting for your answer" not in page.text
    await steps.answer(checkout("paid"))
    await steps.pay()
    assert "received for Stickers" in steps.newest.text
    assert (len(steps.messages), steps.messages[0].buttons) == (3, [])


async def test_not_received_in_the_list_asks_in_a_message_of_its_own(steps: ClaimSteps) -> None:
    await steps.claim()
    page = await steps.says("/payments")
    await steps.press(page, MISSING)
    question = steps.newest
    assert question.text.startswith("Has $2.50 for Stickers really not arrived?")
    await steps.press(question, SURE)
    await steps.answer(checkout("rejected"))
    assert [button["text"] for button in question.buttons] == [ARRIVED]


@pytest.mark.parametrize("typed", ["K7F2-90XM", "k7f2 9oxm", "K7F290XM", "k 7 f 2 9 O x m"])
async def test_a_claim_is_found_by_its_reference_as_statements_write_it(
    steps: ClaimSteps, typed: str
) -> None:
    await steps.claim()
    found = await steps.says(f"/find {typed}")
    assert "has it arrived?" in found.text
    await steps.press(found, RECEIVED)
    await steps.answer(checkout("paid"))
    await steps.pay()
    assert "received for Stickers" in found.text
    assert "Payment for Stickers" in (await steps.says(f"/find {typed}")).text


async def test_a_crash_while_the_service_is_asked_loses_no_answer(steps: ClaimSteps) -> None:
    asked = await confirm(steps)
    steps.jobs.crash()
    assert await steps.answer(checkout("paid")) == [("POST", "confirm")]
    assert "You confirmed" in asked.text


async def test_a_job_that_was_set_aside_returns_the_decision_to_the_seller(
    steps: ClaimSteps,
) -> None:
    asked = await confirm(steps)
    (message,) = steps.jobs.claim()
    steps.chat.db.run(lambda tx: steps.jobs.handler.on_dead_letter(tx, message))
    await steps.cards.work()
    assert [button["text"] for button in asked.buttons] == [RECEIVED, MISSING]
    assert "Please answer again" in steps.newest.text


async def test_a_claim_of_a_deleted_link_can_still_be_decided(steps: ClaimSteps) -> None:
    """The payer may have sent the money before."""
    asked = await steps.claim()
    steps.chat.db.run(lambda tx: tx.execute("UPDATE listings SET state = 'deleted'"))
    await steps.press(asked, RECEIVED)
    assert await steps.answer(checkout("oversold")) == [("POST", "confirm")]
    await steps.pay(oversold=True)
    assert "OVERSOLD" in asked.text


async def test_a_claim_made_again_keeps_a_confirmation_under_way(steps: ClaimSteps) -> None:
    asked = await confirm(steps)
    await steps.claim(claimedAt="2027-01-15T09:00:00Z")
    assert steps.messages == [asked]
    assert await steps.answer(checkout("paid")) == [("POST", "confirm")]
    await steps.pay()
    assert steps.messages == [asked]
    assert "received for Stickers" in asked.text


SETTLED = dict.fromkeys(("paid", "late", "oversold"), claim_rows.CONFIRMED)
UNSETTLED = dict.fromkeys(
    ("opening", "open", "claimed", "lapsed", "cancelled", "failed"), claim_rows.WAITING
)


@pytest.mark.parametrize(
    ("presses", "states"),
    [
        ((RECEIVED,), SETTLED | UNSETTLED | {"rejected": claim_rows.WAITING}),
        ((MISSING, SURE), SETTLED | UNSETTLED | {"rejected": claim_rows.REJECTED}),
    ],
)
async def test_a_decision_that_comes_too_late_ends_in_what_became_of_the_checkout(
    steps: ClaimSteps, presses: tuple[str, ...], states: dict[str, str]
) -> None:
    """In every state that the service may name; where nothing was decided, the buttons stay."""
    for number, (state, kept) in enumerate(states.items()):
        asked = await steps.claim(checkoutId=f"c{number}")
        for button in presses:
            await steps.press(asked, button)
        word = "confirm" if presses == (RECEIVED,) else "reject"
        calls = await steps.answer(WRONG_STATE, checkout(state))
        assert calls == [("POST", word), ("GET", f"c{number}")]
        rows = {row["checkout_id"]: row["state"] for row in steps.chat.rows("claims")}
        assert rows[f"c{number}"] == kept
        assert bool(asked.buttons) is (kept != claim_rows.CONFIRMED)
        assert steps.chat.jobs == []
        # Room for the next claim's own message.
        steps.chat.db.run(lambda tx: tx.execute("UPDATE claims SET state = 'closed'"))
