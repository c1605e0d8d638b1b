"""What payers wrote, hidden by one tap wherever it is shown, here and at the service."""

from __future__ import annotations

import json

import pytest

from bot.chat.cards.alert_text import join_alerts
from bot.chat.model.jobs import SendMark
from bot.chat.store import message_rows
from bot.core.text.translations import t
from bot.sandbox.world.model import Message
from bot.sandbox.world.people import Person
from tests.support.claim_steps import CONFIRMED, DOWN, ClaimSteps
from tests.support.http_peers import http_response

HIDE, SHOW, DETAILS = (
    t("en", key) for key in ("button-hide", "button-hide-undo", "button-payment")
)
WORDS = {"name": "Mia", "message": "for the drums!\nSee evil.example"}
MARKED = http_response(200, {"transactionId": "t1"})


def labels(message: Message) -> list[str]:
    return [button["text"] for button in message.buttons]


def bodies(steps: ClaimSteps) -> list[object]:
    """Return the bodies that the service was sent."""
    return [json.loads(call.body) for call in steps.jobs.peer.calls]


async def test_the_alert_says_who_paid_and_what_they_wrote(steps: ClaimSteps) -> None:
    await steps.pay(**WORDS)
    first, second, *_ = steps.newest.text.split("\n")
    assert first.startswith("💰 $2.50 from Mia: for the drums! See evil.")
    assert second == "For Stickers"
    assert "evil.example" not in steps.newest.text


async def test_one_tap_hides_it_in_the_alert_and_everywhere_else(steps: ClaimSteps) -> None:
    await steps.pay(**WORDS)
    alert = steps.newest
    await steps.press(alert, DETAILS)
    facts = steps.newest
    assert "Mia" in facts.text
    assert await steps.press(alert, HIDE) == t("en", "toast-hidden")
    assert "💰 $2.50 received for Stickers" in alert.text
    assert "Mia" not in alert.text
    assert HIDE not in labels(alert)
    for command in ("/payments", "/find K7F290XM"):
        assert "drums" not in (await steps.says(command)).text
    await steps.press(alert, DETAILS)
    assert t("en", "words-hidden") in steps.newest.text


async def test_hiding_in_a_list_hides_it_in_the_alert_too(steps: ClaimSteps) -> None:
    await steps.pay(**WORDS)
    alert = steps.newest
    page = await steps.says("/payments")
    assert "💬 Mia: for the drums!" in page.text
    await steps.press(page, "🙈 1")
    assert "drums" not in page.text
    assert "5. " not in page.text
    assert "drums" not in alert.text


async def test_it_is_hidden_in_the_list_of_one_link(steps: ClaimSteps) -> None:
    await steps.pay(**WORDS)
    (row,) = steps.chat.rows("listings")
    await steps.chat.presses(steps.seller, f"payments:{row['id']}:0")
    await steps.cards.work()
    page = steps.newest
    await steps.press(page, HIDE)
    assert "drums" not in page.text
    assert "Payments for Stickers" in page.text


@pytest.mark.parametrize("typed", ["ABCDEF", "…xyz 123", "K7F2 90XM"])
async def test_hiding_in_a_list_that_was_found_leaves_the_others_there(
    steps: ClaimSteps, typed: str
) -> None:
    """By a beginning, an end or a reference: the same is looked for once more."""
    for number, name in enumerate(("Mia", "Tom", "Ada")):
        ids = {"transactionId": f"abcdef{number}xyz123", "checkoutId": f"c{number}"}
        await steps.pay(name=name, message="for the drums!", **ids)
    found = await steps.says(f"/find {typed}")
    await steps.press(found, "🙈 Tom")
    assert "3 payments match" in found.text
    assert ["💬 Mia" in found.text, "💬 Tom" in found.text] == [True, False]
    assert [label for label in labels(found) if label.startswith("🙈")] == ["🙈 Mia", "🙈 Ada"]
    await steps.press(found, "🙈 Ada")
    assert "💬 Ada" not in found.text


async def test_an_old_digest_keeps_its_payments(steps: ClaimSteps) -> None:
    """What it shows is not stored any more; the seller reads that this message stays."""
    for number, name in enumerate(("Mia", "Tom")):
        body = _paid() | {"transactionId": f"t{number}", "name": name}
        assert await steps.webhooks.send_signed(body) == 200
    await _join(steps)
    digest, shown = steps.newest, steps.newest.text
    steps.chat.db.run(lambda tx: message_rows.sweep_alerts(tx, steps.chat.clock() + 1))
    assert await steps.press(digest, "🙈 Mia") == t("en", "toast-hidden-elsewhere")
    assert digest.text == shown
    assert "Mia" not in (await steps.says("/payments")).text


async def test_the_alert_of_another_payment_is_not_written_in_place_of_a_list(
    steps: ClaimSteps,
) -> None:
    """A new bot counts its messages from one again."""
    await steps.pay(**WORDS)
    alert = steps.newest
    await steps.pay(**WORDS | {"name": "Tom"}, transactionId="t2")
    await steps.press(steps.newest, DETAILS)
    facts, moved = steps.newest, {"old": alert.id, "new": steps.newest.id}
    sql = "UPDATE sent_alerts SET message_id = :new WHERE message_id = :old"
    steps.chat.db.run(lambda tx: tx.execute(sql, **moved))
    await steps.press(facts, HIDE)
    assert "Mia" not in facts.text
    assert t("en", "words-hidden") in facts.text


async def test_words_hidden_before_the_alert_goes_out_are_not_in_it(steps: ClaimSteps) -> None:
    assert await steps.webhooks.send_signed(_paid()) == 200
    (row,) = steps.chat.rows("received_payments")
    steps.chat.db.run(lambda tx: tx.execute("UPDATE received_payments SET message_hidden = 1"))
    await steps.cards.work()
    assert row["message"]
    assert "drums" not in steps.newest.text


async def test_a_digest_hides_one_message_and_keeps_the_others(steps: ClaimSteps) -> None:
    for number, name in enumerate(("Mia", "Tom")):
        body = _paid() | {"transactionId": f"t{number}", "name": name}
        assert await steps.webhooks.send_signed(body) == 200
    await _join(steps)
    digest = steps.newest
    assert "💬 Mia: " in digest.text
    assert "💬 Tom: " in digest.text
    await steps.press(digest, "🙈 Mia")
    assert "Mia" not in digest.text
    assert "💬 Tom: " in digest.text
    assert [label for label in labels(digest) if label.startswith("🙈")] == ["🙈 Tom"]


async def test_the_service_hides_it_too_however_long_it_is_down(steps: ClaimSteps) -> None:
    await steps.pay(**WORDS)
    await steps.press(steps.newest, HIDE)
    sent = len(steps.messages)
    assert await steps.answer(DOWN) == [("PUT", "t1")]
    steps.chat.clock.advance(3600)
    assert await steps.answer(MARKED) == [("PUT", "t1")]
    assert bodies(steps) == [{"messageHidden": True}] * 2
    assert (steps.chat.jobs, len(steps.messages)) == ([], sent)


async def test_it_is_shown_again_from_the_payments_view(steps: ClaimSteps) -> None:
    await steps.pay(**WORDS)
    alert = steps.newest
    await steps.press(alert, HIDE)
    await steps.press(alert, DETAILS)
    facts = steps.newest
    await steps.press(facts, SHOW)
    assert "drums" in facts.text
    assert "drums" in alert.text
    assert {job.mark for job in steps.chat.jobs if isinstance(job, SendMark)} == {"hide"}


async def test_a_second_tap_and_a_stranger_change_nothing(steps: ClaimSteps, pat: Person) -> None:
    await steps.pay(**WORDS)
    alert = steps.newest
    data = next(one["callback_data"] for one in alert.buttons if one["text"] == HIDE)
    await steps.chat.presses(pat, data)
    assert steps.chat.answers[-1].text == t("en", "claims-gone")
    assert "drums" in alert.text
    await steps.press(alert, HIDE)
    steps.seller.press_old(alert, data)
    await steps.chat.take()
    assert steps.chat.answers[-1].text == t("en", "toast-hidden-already")
    assert len(steps.chat.jobs) == 1


async def test_hidden_words_of_underpaid_money_stay_hidden_once_it_is_a_sale(
    steps: ClaimSteps,
) -> None:
    """Also in a digest that showed them, when it is written again."""
    short = {"kind": "lnbits", "amount": 1, "currencyCode": "USD"}
    mia = _paid() | {"underpaid": True, "paidBy": short}
    tom = _paid() | {"transactionId": "t2", "name": "Tom", "checkoutId": "c2"}
    for body in (mia, tom):
        assert await steps.webhooks.send_signed(body) == 200
    await _join(steps)
    digest = steps.newest
    await steps.press(digest, "🙈 Mia")
    await steps.pay(paidBy=short, **WORDS)
    assert "Mia" not in steps.newest.text
    assert "Mia" not in (await steps.says("/payments")).text
    await steps.press(digest, "🙈 Tom")
    assert "Tom" not in digest.text
    assert "Mia" not in digest.text


@pytest.mark.parametrize("emoji", ["😀", "1"])
async def test_lists_of_long_words_fit_into_a_message(steps: ClaimSteps, emoji: str) -> None:
    said = {"name": emoji * 80, "message": emoji * 280}
    for number in range(10):
        body = CONFIRMED | said | {"transactionId": f"t{number}", "checkoutId": f"c{number}"}
        assert await steps.webhooks.send_signed(body) == 200
    await steps.cards.work()
    for command in ("/payments", "/find K7F290XM"):
        assert emoji in (await steps.says(command)).text
    (row,) = steps.chat.rows("listings")
    await steps.chat.presses(steps.seller, f"payments:{row['id']}:0")
    await steps.cards.work()
    assert "Payments for Stickers" in steps.newest.text


def _paid() -> dict[str, object]:
    return CONFIRMED | WORDS


async def _join(steps: ClaimSteps) -> None:
    """Send the waiting alerts as one digest."""
    count, digest = join_alerts(steps.chat.said) or (0, None)
    assert count == 2
    steps.chat.clear_messages()
    assert digest is not None
    steps.cards.put_body(steps.seller.chat, digest)
    await steps.cards.work()
