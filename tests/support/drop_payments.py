"""Payments of requests, and the messages at the end of a drop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.store.link_rows import PaymentLink
from bot.chat.store.payment_rows import Payment
from bot.core.database.database import Transaction
from tests.support.chat_harness import ChatHarness

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


def pay(chat: ChatHarness, link: PaymentLink, *numbers: int, **given: object) -> None:
    """Record payments of these numbers at a request's price."""
    spec, request_id = link.spec, link.request_id or ""

    def work(tx: Transaction) -> None:
        for number in numbers:
            paid = Payment(request_id, f"t{number}", spec.amount, spec.currency, {})
            assert chat.recorder.record(tx, link.id, replace(paid, **given), None)  # type: ignore[arg-type] # fields of a payment

    chat.db.run(work)


def texts(sam: Person) -> list[str]:
    return [message.text for message in sam.chat.from_bot()]


def lines(sam: Person) -> list[str]:
    """Return the messages about drops that have ended."""
    return [text for text in texts(sam) if text.startswith("🏁")]
