"""A receipt kept in Telegram: for one account, shown with what it brought, and nowhere else."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from bot.core.database.database import Database
from bot.core.text.translations import t
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

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


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
