"""The seller's marks on a payment: each statement changes the payment it names, and once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.chat.model.payment import PAID_BACK, SENT
from bot.chat.store import payment_marks
from bot.chat.store.payment_marks import FoundPayment
from bot.chat.store.payment_rows import Payment
from bot.core.database.database import Row
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


@pytest.fixture
async def found(chat: ChatHarness, sam: Person) -> FoundPayment:
    """Find a payment beside another one of its link, and one with its number of another link."""
    links = [chat.add_link(sam, COFFEE, service_answer(id=f"{n:024x}")) for n in range(2)]
    for link, number in ((links[0], "other"), (links[1], "same"), (links[0], "same")):
        await chat.record(link, Payment(link.request_id or "", number, 250, "USD", {}), None)
    payments = chat.db.run(lambda tx: payment_marks.payments_of_seller(tx, sam.id, 9, 0))
    return next(one for one in payments if one.ids == (links[0].request_id, "same"))


def others(chat: ChatHarness, found: FoundPayment) -> list[Row]:
    rows = chat.rows("received_payments")
    return [row for row in rows if (row["request_id"], row["transaction_id"]) != found.ids]


@pytest.mark.parametrize("mark", [SENT, PAID_BACK])
def test_a_mark_is_set_noted_announced_and_removed_once(
    chat: ChatHarness, found: FoundPayment, mark: str
) -> None:
    """Only the note and the time that were announced count as announced."""
    before = others(chat, found)
    assert len(before) == 2

    def is_set(at: int) -> bool:
        return chat.db.run(lambda tx: payment_marks.set_mark(tx, found, mark, at))

    def is_noted(note: str) -> bool:
        return chat.db.run(lambda tx: payment_marks.save_note(tx, found, mark, note))

    def is_announced(at: int, note: str) -> bool:
        return chat.db.run(lambda tx: payment_marks.announce(tx, found.ids, mark, at, note))

    def is_cleared() -> bool:
        return chat.db.run(lambda tx: payment_marks.clear_mark(tx, found, mark))

    assert [is_noted("DHL"), is_cleared()] == [False, False]
    assert [is_set(5), is_set(6), is_noted("DHL")] == [True, False, True]
    announced = [(4, "DHL"), (5, "UPS"), (5, "DHL"), (5, "DHL")]
    assert [is_announced(*one) for one in announced] == [False, False, True, False]
    assert [is_noted("UPS"), is_announced(5, "UPS")] == [True, True]
    assert [is_cleared(), is_cleared(), is_noted("DHL")] == [True, False, False]
    assert others(chat, found) == before


def test_words_are_hidden_and_shown_once(chat: ChatHarness, found: FoundPayment) -> None:
    name = "UPDATE received_payments SET payer_name = 'Pat'"
    chat.db.run(lambda tx: tx.execute(name))
    before = others(chat, found)

    def is_changed(*, hidden: bool) -> bool:
        return chat.db.run(lambda tx: payment_marks.set_hidden(tx, found, hidden=hidden))

    changed = [is_changed(hidden=hidden) for hidden in (False, True, True, False)]
    assert changed == [False, True, False, True]
    assert others(chat, found) == before
