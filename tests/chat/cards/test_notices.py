"""News for buyers who keep their receipt: sent, paid back, a code arrived; in their language."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bot.chat.cards.receipts import CODE, PAID_BACK, SENT
from bot.chat.telegram.receipt_calls import TRIED_FOR
from bot.core.text.translations import t
from tests.support.chat_harness import ChatHarness
from tests.support.receipt_steps import PAID, WAITING, WITH_CODE, ReceiptSteps

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


AT = "2027-01-16T09:30:00.000Z"
SHOW = t("en", "button-receipt-show")


async def test_the_buyer_hears_that_it_was_sent_with_the_note(
    steps: ReceiptSteps, pat: Person
) -> None:
    await steps.follow(pat)
    steps.receipt = PAID | {"sentAt": AT, "sentNote": "DHL <0034>"}
    assert await steps.notify(SENT)
    news = pat.chat.from_bot()[-1]
    assert news.text == "📦 The seller has sent Coffee.\n📝 DHL <0034>"
    await steps.press(pat, news, SHOW)
    assert "📦 Sent Sat, 16 Jan 2027, 09:30 (UTC)\n📝 DHL <0034>" in pat.chat.from_bot()[-1].text


async def test_the_buyer_hears_that_it_was_paid_back(
    steps: ReceiptSteps, chat: ChatHarness
) -> None:
    max_ = chat.add_person("Max", language_code="de")
    await steps.follow(max_)
    steps.receipt = PAID | {"status": "paidBack", "paidBackAt": AT}
    await steps.notify(PAID_BACK)
    assert (
        max_.chat.from_bot()[-1].text
        == "↩ Der Verkäufer hat deine Zahlung von 7,50 € für Coffee als zurückgezahlt vermerkt. "
        "Bis das Geld bei dir ankommt, kann es ein paar Tage dauern."
    )


async def test_news_are_in_the_language_that_the_buyer_has_by_then(
    steps: ReceiptSteps, pat: Person
) -> None:
    await steps.follow(pat)
    await steps.says(replace(pat, user=replace(pat.user, language_code="de")), "/help")
    steps.receipt = PAID | {"sentAt": AT}
    await steps.notify(SENT)
    assert pat.chat.from_bot()[-1].text == "📦 Coffee wurde verschickt."


async def test_a_code_that_arrives_comes_with_the_receipt(steps: ReceiptSteps, pat: Person) -> None:
    steps.receipt = WAITING
    await steps.follow(pat)
    await steps.notify(CODE)
    assert len(pat.chat.from_bot()) == 1, "the code isn't there yet"
    steps.receipt = WITH_CODE
    await steps.notify(CODE)
    news = pat.chat.from_bot()[-1]
    assert news.text.startswith("🎉 Your code has arrived.")
    assert "ABC-123" in news.text
    (row,) = steps.chat.rows("kept_receipts")
    assert row["awaited"] is None


async def test_something_else_that_arrives_in_place_of_a_code_is_called_none(
    steps: ReceiptSteps, pat: Person
) -> None:
    steps.receipt = WAITING
    await steps.follow(pat)
    for codes in ([], ["ABC-123"]):
        goods = {"state": "delivered", "text": "The key is 4711", "codes": codes}
        steps.receipt = WAITING | {"delivery": goods}
        await steps.notify(CODE)
        news = pat.chat.from_bot()[-1].text
        assert news.startswith("🎉 What you bought is here.")
        assert "The key is 4711" in news
        assert ("ABC-123" in news) == bool(codes)


@pytest.mark.parametrize("event", [SENT, PAID_BACK])
async def test_what_the_seller_took_back_is_not_sent(
    steps: ReceiptSteps, pat: Person, event: str
) -> None:
    await steps.follow(pat)
    await steps.notify(event)
    assert len(pat.chat.from_bot()) == 1
    assert steps.chat.said == []


async def test_a_payer_without_telegram_gets_no_notice(steps: ReceiptSteps) -> None:
    """The caller knows by the answer that it has to be said elsewhere."""
    assert not await steps.notify(SENT)
    assert steps.chat.said == []


async def test_a_removed_receipt_gets_no_news(steps: ReceiptSteps, pat: Person) -> None:
    shown = await steps.follow(pat)
    assert await steps.press(pat, shown, t("en", "button-remove")) == t(
        "en", "toast-receipt-removed"
    )
    assert "Coffee" in shown.text, "what it brought stays where the buyer has it"
    steps.receipt = PAID | {"sentAt": AT}
    assert not await steps.notify(SENT)


async def test_a_buyer_who_blocked_the_bot_gets_the_news_after_coming_back(
    steps: ReceiptSteps, pat: Person
) -> None:
    await steps.follow(pat)
    steps.receipt = PAID | {"sentAt": AT}
    pat.block()
    await steps.chat.take()
    await steps.notify(SENT)
    for _ in range(3):
        await steps.work_later()
    assert steps.waiting_notices == 1
    pat.unblock()
    await steps.finish(pat)
    assert "has sent Coffee" in pat.chat.from_bot()[-1].text
    assert steps.waiting_notices == 0


async def test_a_notice_waits_for_a_service_that_is_down(steps: ReceiptSteps, pat: Person) -> None:
    await steps.follow(pat)
    steps.receipt, steps.is_down = PAID | {"sentAt": AT}, True
    await steps.notify(SENT)
    assert steps.waiting_notices == 1
    steps.is_down = False
    await steps.work_later()
    assert "has sent Coffee" in pat.chat.from_bot()[-1].text


@pytest.mark.parametrize("status", [401, 403, 404, 405])
async def test_no_notice_waits_for_a_server_without_receipts(
    steps: ReceiptSteps, pat: Person, status: int
) -> None:
    """As after a switch to PAYMENTS_URL: other notices of the chat would wait behind it."""
    await steps.follow(pat)
    steps.refusal = status
    await steps.notify(SENT)
    assert steps.chat.said == []
    assert len(pat.chat.from_bot()) == 1
    listed = await steps.says(pat, "/bought")
    await steps.press(pat, listed, "✅ Coffee · €7.50")
    assert pat.chat.from_bot()[-1].text == (
        "The receipt for Coffee can't be opened any more. If you still need it, ask the seller."
    )


@pytest.mark.parametrize("status", [400, 503])
async def test_a_notice_that_is_not_answered_for_a_day_is_not_sent(
    steps: ReceiptSteps, pat: Person, status: int
) -> None:
    await steps.follow(pat)
    steps.refusal = status
    await steps.notify(SENT)
    await steps.work_later(TRIED_FOR / 1000 - 1)
    assert steps.waiting_notices == 1
    await steps.work_later()
    assert steps.chat.said == []
    assert len(pat.chat.from_bot()) == 1


async def test_a_notice_from_a_blocked_chat_has_its_own_day(
    steps: ReceiptSteps, pat: Person
) -> None:
    """The service is down when the buyer comes back, long after what it is about."""
    await steps.follow(pat)
    pat.block()
    await steps.chat.take()
    await steps.notify(SENT)
    await steps.work_later(TRIED_FOR / 1000)
    pat.unblock()
    steps.receipt, steps.is_down = PAID | {"sentAt": AT}, True
    await steps.finish(pat)
    await steps.work_later()
    assert steps.waiting_notices == 1
    steps.is_down = False
    await steps.work_later()
    assert "has sent Coffee" in pat.chat.from_bot()[-1].text
