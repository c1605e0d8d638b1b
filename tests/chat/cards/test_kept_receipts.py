"""A receipt kept in Telegram: for one account, shown with what it brought, and nowhere else."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from bot.chat.cards.receipts import CODE, PAID_BACK, SENT
from bot.chat.telegram.receipt_calls import TRIED_FOR
from bot.core.database.database import Database
from bot.core.text.translations import t
from bot.sandbox.world.people import Person
from tests.support.chat_harness import ChatHarness
from tests.support.receipt_steps import (
    KEY,
    LINK,
    PAID,
    URL,
    WAITING,
    WITH_CODE,
    ReceiptSteps,
    open_receipt_steps,
)
from tests.support.service_harness import Clock

REMOVE, SHOW, MINE = (t("en", f"button-{word}") for word in ("remove", "receipt-show", "bought"))


async def test_a_kept_receipt_shows_what_was_bought_and_what_it_brought(
    steps: ReceiptSteps, pat: Person
) -> None:
    steps.receipt = WITH_CODE
    shown = await steps.follow(pat)
    assert shown.text.splitlines() == [
        "🧾 Coffee",
        "from Anna's Café",
        "€7.50 · Fri, 15 Jan 2027, 08:00 (UTC)",
        "Yours: 7 of 100",
        "",
        "Thank you!",
        "See you <soon>",
        "",
        "🔑 Your code (tap to copy):",
        "ABC-123",
    ]
    copy, page = shown.buttons[:2]
    assert copy["copy_text"] == {"text": "ABC-123"}
    assert page["url"] == URL


async def test_a_receipt_is_kept_by_one_account_and_the_next_is_shown_nothing_of_it(
    steps: ReceiptSteps, pat: Person, sam: Person
) -> None:
    steps.receipt = WITH_CODE
    await steps.follow(pat)
    refused = await steps.follow(sam)
    assert refused.text == t("en", "receipt-taken")
    assert [button["url"] for button in refused.buttons] == [URL]
    assert "Coffee" not in str(refused.json())
    assert (await steps.says(sam, "/bought")).text.startswith("You haven't kept any receipts")


async def test_a_link_followed_twice_keeps_one_receipt_and_shows_it_again(
    steps: ReceiptSteps, pat: Person
) -> None:
    first = await steps.follow(pat)
    again = await steps.follow(pat)
    assert again is not first
    assert again.text == first.text
    assert len(steps.chat.rows("kept_receipts")) == 1


@pytest.mark.parametrize(
    "payload", [f"r-{KEY.request_id}-{'0' * 24}", f"r-{'0' * 24}-{KEY.transaction_id}"]
)
async def test_a_guessed_address_shows_nothing_and_keeps_nothing(
    steps: ReceiptSteps, pat: Person, payload: str
) -> None:
    assert (await steps.follow(pat, payload)).text == (
        "I can't find that receipt. Open your receipt in the browser and tap Keep it in Telegram"
        " there."
    )
    assert steps.chat.rows("kept_receipts") == []


async def test_people_who_may_not_sell_keep_receipts_too(db: Database, clock: Clock) -> None:
    chat = ChatHarness(db, clock, allowed=frozenset({1}))
    async with open_receipt_steps(chat) as steps:
        pat = chat.add_person("Pat")
        assert "Coffee" in (await steps.follow(pat)).text
        assert "What you've bought" in (await steps.says(pat, "/bought")).text


async def test_while_the_service_is_down_nothing_is_lost(steps: ReceiptSteps, pat: Person) -> None:
    """The buyer hears so once, and gets the receipt as soon as it answers."""
    steps.is_down = True
    assert (await steps.follow(pat)).text == t("en", "receipt-later")
    for _ in range(3):
        steps.chat.clock.advance(60)
        await steps.finish(pat)
    assert len(pat.chat.from_bot()) == 1
    steps.is_down = False
    steps.chat.clock.advance(60)
    assert "Coffee" in (await steps.finish(pat)).text


async def test_a_service_that_fails_between_keeping_and_showing_delays_the_receipt_alone(
    steps: ReceiptSteps, pat: Person
) -> None:
    """Replies to the buyer don't wait for it."""
    pat.start(LINK)
    await steps.chat.take()
    await steps.do_jobs()
    steps.is_down = True
    await steps.work()
    assert pat.chat.from_bot() == []
    assert "What I store" in (await steps.says(pat, "/privacy")).text
    steps.is_down = False
    steps.chat.clock.advance(60)
    assert "Coffee" in (await steps.finish(pat)).text


async def test_after_a_day_without_the_service_the_buyer_is_asked_to_try_again(
    steps: ReceiptSteps, pat: Person
) -> None:
    steps.is_down = True
    await steps.follow(pat)
    steps.chat.clock.advance(25 * 3600)
    said = await steps.finish(pat)
    assert "couldn't get your receipt" in said.text
    assert steps.chat.jobs == []


async def test_what_was_delivered_is_in_no_queue_and_no_log(
    steps: ReceiptSteps, pat: Person, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor is the receipt's address, once it is kept: whoever has it sees what was delivered."""
    caplog.set_level(logging.DEBUG)
    steps.receipt = WITH_CODE
    steps.is_down = True
    await steps.follow(pat)
    assert "ABC-123" not in str(steps.chat.rows("outbox"))
    steps.is_down = False
    steps.chat.clock.advance(60)
    shown = await steps.finish(pat)
    await steps.press(pat, shown, MINE)
    await steps.press(pat, shown, REMOVE)
    left = str(steps.chat.rows("outbox"))
    assert KEY.transaction_id not in left
    assert "ABC-123" not in left
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("bot")]
    assert KEY.transaction_id not in str(ours)
    assert "ABC-123" not in str(ours)


async def test_in_a_group_the_bot_asks_to_open_the_link_in_private(
    steps: ReceiptSteps, pat: Person
) -> None:
    group = pat.new_group("Friends")
    pat.send(f"/start@PaymentRequestBot {LINK}", group)
    await steps.chat.take()
    await steps.do_jobs()
    await steps.work()
    (said,) = group.from_bot()
    assert "Coffee" not in said.text
    assert steps.chat.rows("kept_receipts") == []
    assert KEY.transaction_id not in str(steps.chat.rows("outbox"))


async def test_a_receipt_without_a_public_host_names_its_address_in_the_text(
    steps: ReceiptSteps, pat: Person
) -> None:
    steps.receipt = PAID | {"receiptUrl": "http://localhost:8080/pay/1/receipt/2"}
    shown = await steps.follow(pat)
    assert "Your receipt: http://localhost:8080/pay/1/receipt/2" in shown.text
    assert [button["text"] for button in shown.buttons] == [MINE, REMOVE]


async def test_a_purchase_that_waits_says_so(steps: ReceiptSteps, pat: Person) -> None:
    steps.receipt = WAITING
    assert "Yours is on its way" in (await steps.follow(pat)).text


async def test_a_receipt_in_german(steps: ReceiptSteps, chat: ChatHarness) -> None:
    steps.receipt = WITH_CODE | {"units": {"first": 7, "last": 9, "total": 100}, "quantity": 3}
    max_ = chat.add_person("Max", language_code="de")
    shown = (await steps.follow(max_)).text
    assert "Für dich: Nr. 7, 8 und 9 von 100" in shown
    assert "7,50 € · Fr. 15. Jan. 2027, 08:00 (UTC)" in shown


# News for buyers who keep their receipt: sent, paid back, a code arrived; in their language.


AT = "2027-01-16T09:30:00.000Z"


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
