"""`/bought`: what an account bought, newest first, by pages, with what became of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.model.payment import PaymentMarks
from bot.chat.store import receipt_rows
from bot.chat.store.receipt_rows import (
    OVERSOLD,
    PAID_BACK,
    DeliveredGoods,
    Receipt,
    ReceiptKey,
    ReceiptOwner,
)
from bot.core.database.database import Transaction
from bot.core.text.translations import t
from tests.support.chat_harness import REQUEST_ID, ChatHarness
from tests.support.receipt_steps import PAID, ReceiptSteps

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


COFFEE = Receipt("Coffee", 750, "EUR", "paid", "")


def keep(chat: ChatHarness, person: Person, *receipts: Receipt) -> None:
    owner = ReceiptOwner(person.id, "en")

    def store(tx: Transaction) -> None:
        for number, receipt in enumerate(receipts):
            key = ReceiptKey(REQUEST_ID, f"{number:024x}")
            assert receipt_rows.keep(tx, key, owner, receipt, chat.clock() + number)

    chat.db.run(store)


async def test_the_list_says_what_became_of_each_purchase(steps: ReceiptSteps, pat: Person) -> None:
    keep(
        steps.chat,
        pat,
        COFFEE,
        replace(COFFEE, marks=PaymentMarks(sent_at=1)),
        replace(COFFEE, status=PAID_BACK),
        replace(COFFEE, status=OVERSOLD),
        replace(COFFEE, delivery=DeliveredGoods(waits=True)),
    )
    listed = await steps.says(pat, "/bought")
    assert [button["text"] for button in listed.buttons] == [
        "⏳ Coffee · €7.50 · on its way",
        "⚠ Coffee · €7.50 · refund due",
        "↩ Coffee · €7.50 · paid back",
        "📦 Coffee · €7.50 · sent",
        "✅ Coffee · €7.50",
    ]


async def test_the_list_has_pages(steps: ReceiptSteps, pat: Person) -> None:
    names = [f"Coffee {number}" for number in range(9)]
    keep(steps.chat, pat, *(replace(COFFEE, product=name) for name in names))
    listed = await steps.says(pat, "/bought")
    assert listed.text.startswith("What you've bought (page 1 of 2)")
    await steps.press(pat, listed, t("en", "button-next"))
    assert [button["text"] for button in listed.buttons] == [
        "✅ Coffee 0 · €7.50",
        t("en", "button-previous"),
    ]


async def test_a_purchase_is_opened_anew_as_it_is_by_then(steps: ReceiptSteps, pat: Person) -> None:
    await steps.follow(pat)
    listed = await steps.says(pat, "/bought")
    steps.receipt = PAID | {"sentAt": "2027-01-16T09:30:00.000Z"}
    await steps.press(pat, listed, "✅ Coffee · €7.50")
    assert "📦 Sent Sat, 16 Jan 2027" in pat.chat.from_bot()[-1].text
    assert (await steps.says(pat, "/bought")).buttons[0]["text"].startswith("📦")


async def test_the_list_is_a_new_message_below_a_receipt(steps: ReceiptSteps, pat: Person) -> None:
    """A receipt that it took the place of would be gone, with its code."""
    shown = await steps.follow(pat)
    await steps.press(pat, shown, t("en", "button-bought"))
    assert "Coffee" in shown.text
    assert "What you've bought" in pat.chat.from_bot()[-1].text


async def test_nobody_opens_or_removes_the_receipt_of_somebody_else(
    steps: ReceiptSteps, pat: Person, sam: Person
) -> None:
    await steps.follow(pat)
    (row,) = steps.chat.rows("kept_receipts")
    for word in ("receipt", "receipt-remove"):
        await steps.chat.presses(sam, f"{word}:{row['id']}")
        assert steps.chat.answers[-1].text == t("en", "toast-receipt-gone")
    await steps.work()
    assert "Coffee" not in str([message.text for message in sam.chat.from_bot()])
    assert len(steps.chat.rows("kept_receipts")) == 1


async def test_an_empty_list_says_how_to_keep_a_receipt(steps: ReceiptSteps, pat: Person) -> None:
    assert "tap Keep it in Telegram" in (await steps.says(pat, "/bought")).text
