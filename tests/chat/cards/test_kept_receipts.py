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
    purchase: ReceiptSteps, pat: Person
) -> None:
    purchase.receipt = WITH_CODE
    shown = await purchase.follow(pat)
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
    purchase: ReceiptSteps, pat: Person, sam: Person
) -> None:
    purchase.receipt = WITH_CODE
    await purchase.follow(pat)
    refused = await purchase.follow(sam)
    assert refused.text == t("en", "receipt-taken")
    assert [button["url"] for button in refused.buttons] == [URL]
    assert "Coffee" not in str(refused.json())
    assert (await purchase.says(sam, "/bought")).text.startswith("You haven't kept any receipts")


async def test_a_link_followed_twice_keeps_one_receipt_and_shows_it_again(
    purchase: ReceiptSteps, pat: Person
) -> None:
    first = await purchase.follow(pat)
    again = await purchase.follow(pat)
    assert again is not first
    assert again.text == first.text
    assert len(purchase.chat.rows("kept_receipts")) == 1


@pytest.mark.parametrize(
    "payload", [f"r-{KEY.request_id}-{'0' * 24}", f"r-{'0' * 24}-{KEY.transaction_id}"]
)
async def test_a_guessed_address_shows_nothing_and_keeps_nothing(
    purchase: ReceiptSteps, pat: Person, payload: str
) -> None:
    assert (await purchase.follow(pat, payload)).text == (
        "I can't find that receipt. Open your receipt in the browser and tap Keep it in Telegram"
        " there."
    )
    assert purchase.chat.rows("kept_receipts") == []


async def test_people_who_may_not_sell_keep_receipts_too(db: Database, clock: Clock) -> None:
    chat = ChatHarness(db, clock, allowed=frozenset({1}))
    async with open_receipt_steps(chat) as purchase:
        pat = chat.add_person("Pat")
        assert "Coffee" in (await purchase.follow(pat)).text
        assert "What you've bought" in (await purchase.says(pat, "/bought")).text


async def test_while_the_service_is_down_nothing_is_lost(
    purchase: ReceiptSteps, pat: Person
) -> None:
    """The buyer hears so once, and gets the receipt as soon as it answers."""
    purchase.is_down = True
    assert (await purchase.follow(pat)).text == t("en", "receipt-later")
    for _ in range(3):
        purchase.chat.clock.advance(60)
        await purchase.finish(pat)
    assert len(pat.chat.from_bot()) == 1
    purchase.is_down = False
    purchase.chat.clock.advance(60)
    assert "Coffee" in (await purchase.finish(pat)).text


async def test_a_service_that_fails_between_keeping_and_showing_delays_the_receipt_alone(
    purchase: ReceiptSteps, pat: Person
) -> None:
    """Replies to the buyer don't wait for it."""
    pat.start(LINK)
    await purchase.chat.take()
    await purchase.do_jobs()
    purchase.is_down = True
    await purchase.work()
    assert pat.chat.from_bot() == []
    assert "What I store" in (await purchase.says(pat, "/privacy")).text
    purchase.is_down = False
    purchase.chat.clock.advance(60)
    assert "Coffee" in (await purchase.finish(pat)).text


async def test_after_a_day_without_the_service_the_buyer_is_asked_to_try_again(
    purchase: ReceiptSteps, pat: Person
) -> None:
    purchase.is_down = True
    await purchase.follow(pat)
    purchase.chat.clock.advance(25 * 3600)
    said = await purchase.finish(pat)
    assert "couldn't get your receipt" in said.text
    assert purchase.chat.jobs == []


async def test_what_was_delivered_is_in_no_queue_and_no_log(
    purchase: ReceiptSteps, pat: Person, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor is the receipt's address, once it is kept: whoever has it sees what was delivered."""
    caplog.set_level(logging.DEBUG)
    purchase.receipt = WITH_CODE
    purchase.is_down = True
    await purchase.follow(pat)
    assert "ABC-123" not in str(purchase.chat.rows("outbox"))
    purchase.is_down = False
    purchase.chat.clock.advance(60)
    shown = await purchase.finish(pat)
    await purchase.press(pat, shown, MINE)
    await purchase.press(pat, shown, REMOVE)
    left = str(purchase.chat.rows("outbox"))
    assert KEY.transaction_id not in left
    assert "ABC-123" not in left
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("bot")]
    assert KEY.transaction_id not in str(ours)
    assert "ABC-123" not in str(ours)


async def test_in_a_group_the_bot_asks_to_open_the_link_in_private(
    purchase: ReceiptSteps, pat: Person
) -> None:
    group = pat.new_group("Friends")
    pat.send(f"/start@PaymentRequestBot {LINK}", group)
    await purchase.chat.take()
    await purchase.do_jobs()
    await purchase.work()
    (said,) = group.from_bot()
    assert "Coffee" not in said.text
    assert purchase.chat.rows("kept_receipts") == []
    assert KEY.transaction_id not in str(purchase.chat.rows("outbox"))


async def test_a_receipt_without_a_public_host_names_its_address_in_the_text(
    purchase: ReceiptSteps, pat: Person
) -> None:
    purchase.receipt = PAID | {"receiptUrl": "http://localhost:8080/pay/1/receipt/2"}
    shown = await purchase.follow(pat)
    assert "Your receipt: http://localhost:8080/pay/1/receipt/2" in shown.text
    assert [button["text"] for button in shown.buttons] == [MINE, REMOVE]


async def test_a_purchase_that_waits_says_so(purchase: ReceiptSteps, pat: Person) -> None:
    purchase.receipt = WAITING
    assert "Yours is on its way" in (await purchase.follow(pat)).text


async def test_a_receipt_in_german(purchase: ReceiptSteps, chat: ChatHarness) -> None:
    purchase.receipt = WITH_CODE | {"units": {"first": 7, "last": 9, "total": 100}, "quantity": 3}
    max_ = chat.add_person("Max", language_code="de")
    shown = (await purchase.follow(max_)).text
    assert "Für dich: Nr. 7, 8 und 9 von 100" in shown
    assert "7,50 € · Fr. 15. Jan. 2027, 08:00 (UTC)" in shown


# News for buyers who keep their receipt: sent, paid back, a code arrived; in their language.


AT = "2027-01-16T09:30:00.000Z"


async def test_the_buyer_hears_that_it_was_sent_with_the_note(
    purchase: ReceiptSteps, pat: Person
) -> None:
    await purchase.follow(pat)
    purchase.receipt = PAID | {"sentAt": AT, "sentNote": "DHL <0034>"}
    assert await purchase.notify(SENT)
    news = pat.chat.from_bot()[-1]
    assert news.text == "📦 The seller has sent Coffee.\n📝 DHL <0034>"
    await purchase.press(pat, news, SHOW)
    assert "📦 Sent Sat, 16 Jan 2027, 09:30 (UTC)\n📝 DHL <0034>" in pat.chat.from_bot()[-1].text


async def test_the_buyer_hears_that_it_was_paid_back(
    purchase: ReceiptSteps, chat: ChatHarness
) -> None:
    max_ = chat.add_person("Max", language_code="de")
    await purchase.follow(max_)
    purchase.receipt = PAID | {"status": "paidBack", "paidBackAt": AT}
    await purchase.notify(PAID_BACK)
    assert (
        max_.chat.from_bot()[-1].text
        == "↩ Der Verkäufer hat deine Zahlung von 7,50 € für Coffee als zurückgezahlt vermerkt. "
        "Bis das Geld bei dir ankommt, kann es ein paar Tage dauern."
    )


async def test_news_are_in_the_language_that_the_buyer_has_by_then(
    purchase: ReceiptSteps, pat: Person
) -> None:
    await purchase.follow(pat)
    await purchase.says(replace(pat, user=replace(pat.user, language_code="de")), "/help")
    purchase.receipt = PAID | {"sentAt": AT}
    await purchase.notify(SENT)
    assert pat.chat.from_bot()[-1].text == "📦 Coffee wurde verschickt."


async def test_a_code_that_arrives_comes_with_the_receipt(
    purchase: ReceiptSteps, pat: Person
) -> None:
    purchase.receipt = WAITING
    await purchase.follow(pat)
    await purchase.notify(CODE)
    assert len(pat.chat.from_bot()) == 1, "the code isn't there yet"
    purchase.receipt = WITH_CODE
    await purchase.notify(CODE)
    news = pat.chat.from_bot()[-1]
    assert news.text.startswith("🎉 Your code has arrived.")
    assert "ABC-123" in news.text
    (row,) = purchase.chat.rows("kept_receipts")
    assert row["awaited"] is None


async def test_something_else_that_arrives_in_place_of_a_code_is_called_none(
    purchase: ReceiptSteps, pat: Person
) -> None:
    purchase.receipt = WAITING
    await purchase.follow(pat)
    for codes in ([], ["ABC-123"]):
        goods = {"state": "delivered", "text": "The key is 4711", "codes": codes}
        purchase.receipt = WAITING | {"delivery": goods}
        await purchase.notify(CODE)
        news = pat.chat.from_bot()[-1].text
        assert news.startswith("🎉 What you bought is here.")
        assert "The key is 4711" in news
        assert ("ABC-123" in news) == bool(codes)


@pytest.mark.parametrize("event", [SENT, PAID_BACK])
async def test_what_the_seller_took_back_is_not_sent(
    purchase: ReceiptSteps, pat: Person, event: str
) -> None:
    await purchase.follow(pat)
    await purchase.notify(event)
    assert len(pat.chat.from_bot()) == 1
    assert purchase.chat.said == []


async def test_a_payer_without_telegram_gets_no_notice(purchase: ReceiptSteps) -> None:
    """The caller knows by the answer that it has to be said elsewhere."""
    assert not await purchase.notify(SENT)
    assert purchase.chat.said == []


async def test_a_removed_receipt_gets_no_news(purchase: ReceiptSteps, pat: Person) -> None:
    shown = await purchase.follow(pat)
    assert await purchase.press(pat, shown, t("en", "button-remove")) == t(
        "en", "toast-receipt-removed"
    )
    assert "Coffee" in shown.text, "what it brought stays where the buyer has it"
    purchase.receipt = PAID | {"sentAt": AT}
    assert not await purchase.notify(SENT)


async def test_a_buyer_who_blocked_the_bot_gets_the_news_after_coming_back(
    purchase: ReceiptSteps, pat: Person
) -> None:
    await purchase.follow(pat)
    purchase.receipt = PAID | {"sentAt": AT}
    pat.block()
    await purchase.chat.take()
    await purchase.notify(SENT)
    for _ in range(3):
        await purchase.work_later()
    assert purchase.waiting_notices == 1
    pat.unblock()
    await purchase.finish(pat)
    assert "has sent Coffee" in pat.chat.from_bot()[-1].text
    assert purchase.waiting_notices == 0


async def test_a_notice_waits_for_a_service_that_is_down(
    purchase: ReceiptSteps, pat: Person
) -> None:
    await purchase.follow(pat)
    purchase.receipt, purchase.is_down = PAID | {"sentAt": AT}, True
    await purchase.notify(SENT)
    assert purchase.waiting_notices == 1
    purchase.is_down = False
    await purchase.work_later()
    assert "has sent Coffee" in pat.chat.from_bot()[-1].text


@pytest.mark.parametrize("status", [401, 403, 404, 405])
async def test_no_notice_waits_for_a_server_without_receipts(
    purchase: ReceiptSteps, pat: Person, status: int
) -> None:
    """As after a switch to PAYMENTS_URL: other notices of the chat would wait behind it."""
    await purchase.follow(pat)
    purchase.refusal = status
    await purchase.notify(SENT)
    assert purchase.chat.said == []
    assert len(pat.chat.from_bot()) == 1
    listed = await purchase.says(pat, "/bought")
    await purchase.press(pat, listed, "✅ Coffee · €7.50")
    assert pat.chat.from_bot()[-1].text == (
        "The receipt for Coffee can't be opened any more. If you still need it, ask the seller."
    )


@pytest.mark.parametrize("status", [400, 503])
async def test_a_notice_that_is_not_answered_for_a_day_is_not_sent(
    purchase: ReceiptSteps, pat: Person, status: int
) -> None:
    await purchase.follow(pat)
    purchase.refusal = status
    await purchase.notify(SENT)
    await purchase.work_later(TRIED_FOR / 1000 - 1)
    assert purchase.waiting_notices == 1
    await purchase.work_later()
    assert purchase.chat.said == []
    assert len(pat.chat.from_bot()) == 1


async def test_a_notice_from_a_blocked_chat_has_its_own_day(
    purchase: ReceiptSteps, pat: Person
) -> None:
    """The service is down when the buyer comes back, long after what it is about."""
    await purchase.follow(pat)
    pat.block()
    await purchase.chat.take()
    await purchase.notify(SENT)
    await purchase.work_later(TRIED_FOR / 1000)
    pat.unblock()
    purchase.receipt, purchase.is_down = PAID | {"sentAt": AT}, True
    await purchase.finish(pat)
    await purchase.work_later()
    assert purchase.waiting_notices == 1
    purchase.is_down = False
    await purchase.work_later()
    assert "has sent Coffee" in pat.chat.from_bot()[-1].text
