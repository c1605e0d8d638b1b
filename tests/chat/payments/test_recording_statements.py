"""How many statements a webhook of a payment takes: all of a burst wait for one writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.store import link_rows
from bot.chat.store.link_rows import PaymentLink
from bot.chat.store.payment_rows import Payment
from bot.core.database.database import Transaction
from tests.support.chat_harness import COFFEE, STICKERS, ChatHarness, service_answer
from tests.support.counted_statements import CountedTransaction

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


def record(
    chat: ChatHarness, link: PaymentLink, *numbers: int, units: int | None = None
) -> list[str]:
    """Record payments as the receiver does; return the statements of the last one."""

    def work(tx: Transaction, number: int) -> list[str]:
        counted = CountedTransaction(tx)
        known = link_rows.link_by_token(counted, link.token)
        assert known is not None
        payment = Payment(known.request_id or "", f"t{number}", 250, "USD", {})
        left = None if units is None else units - number
        assert chat.recorder.receive(counted, known, payment, left)
        return counted.texts

    return [chat.db.run(lambda tx: work(tx, number)) for number in numbers][-1]  # noqa: B023 - run at once


def test_a_payment_behind_others_is_nine_statements(chat: ChatHarness, sam: Person) -> None:
    """Link, placeholders, payment, revenue added and read, cards, seller, and two of the put."""
    link = chat.add_link(sam, COFFEE, service_answer(remaining_units=None))
    assert len(record(chat, link, 1, 2)) == 9


def test_the_first_payment_opens_the_lane_of_its_chat(chat: ChatHarness, sam: Person) -> None:
    link = chat.add_link(sam, COFFEE, service_answer(remaining_units=None))
    assert len(record(chat, link, 1)) == 11


def test_a_unit_sold_is_two_statements_more(chat: ChatHarness, sam: Person) -> None:
    """The units left are stored in the answer, and what time changes next is read from it."""
    link = chat.add_link(sam, STICKERS, service_answer(remaining_units=3))
    assert len(record(chat, link, 1, 2, units=3)) == 11
