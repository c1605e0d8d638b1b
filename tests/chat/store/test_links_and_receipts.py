"""What a seller looks through: as much as is shown is read, and what is typed is taken as typed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.cards.receipts import CODE, SENT, notify_owner, notify_waiting
from bot.chat.model.payloads import BuyerNotice
from bot.chat.model.payment import PaymentMarks
from bot.chat.store import link_rows, receipt_rows
from bot.chat.store.link_rows import LIVE, STOPPED
from bot.chat.store.receipt_rows import DeliveredGoods, Receipt, ReceiptKey, ReceiptOwner
from bot.interface.answers import UnitsAnswer
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, REQUEST_ID, ChatHarness, service_answer


def listed(chat: ChatHarness, person: Person, name: str, state: str = LIVE) -> str:
    chat.clock.advance(0.001)
    told = service_answer(id=f"{chat.clock():024x}")
    return chat.add_link(person, replace(COFFEE, name=name), told, state=state).id


def found(
    chat: ChatHarness, person: Person, text: str, limit: int = 9, start: int = 0
) -> list[str]:
    links = chat.db.run(
        lambda tx: link_rows.search_links(tx, person.id, text, limit, start, only_live=True)
    )
    return [link.spec.name for link in links]


@pytest.mark.parametrize("text", ["%", "_", "!", "0%", "a_b", "!%"])
def test_pattern_characters_are_searched_literally(
    chat: ChatHarness, sam: Person, text: str
) -> None:
    """A % in a search means a per cent sign."""
    listed(chat, sam, "Plain 50 axb")
    listed(chat, sam, f"With 5{text}")
    assert found(chat, sam, text) == [f"With 5{text}"]


@pytest.mark.parametrize("text", ["GRÖSSE", "größe", " Grösse ", "ΟΔΌΣ", "οδός"])
def test_letters_of_every_script_are_found_in_either_case(
    chat: ChatHarness, sam: Person, text: str
) -> None:
    """ß matches SS, and a final sigma matches a sigma."""
    listed(chat, sam, "Die Größe, η Οδός")
    assert found(chat, sam, text) == ["Die Größe, η Οδός"]


def test_a_search_returns_the_requested_page(chat: ChatHarness, sam: Person) -> None:
    """It returns the seller's own live requests, newest first; an id finds its request."""
    other = chat.add_person("Other")
    ids = [listed(chat, sam, f"Coffee {number}") for number in range(5)]
    listed(chat, sam, "Coffee stopped", STOPPED)
    listed(chat, other, "Coffee of another")
    assert found(chat, sam, "coffee", limit=2, start=1) == ["Coffee 3", "Coffee 2"]
    assert found(chat, sam, "coffee", start=4) == ["Coffee 0"]
    assert found(chat, sam, "coffee", start=5) == []
    assert found(chat, sam, ids[2].upper()) == ["Coffee 2"]


# Receipts that payers keep: one account each, newest first, and what they wait for.


KEY = ReceiptKey(REQUEST_ID, "a" * 24)
ANN, BOB = ReceiptOwner(7, "en"), ReceiptOwner(8, "de")
RECEIPT = Receipt("Coffee", 500, "EUR", "paid", f"https://pay.example.org/r/{KEY.transaction_id}")
UNITS = UnitsAnswer(first=3, last=4, total=5)
WAITS = replace(RECEIPT, units=UNITS, delivery=DeliveredGoods(waits=True))


def keep(
    chat: ChatHarness, owner: ReceiptOwner, key: ReceiptKey = KEY, receipt: Receipt = RECEIPT
) -> bool:
    chat.clock.advance(0.001)
    return chat.db.run(lambda tx: receipt_rows.keep(tx, key, owner, receipt, chat.clock()))


def page(chat: ChatHarness, owner: ReceiptOwner, start: int = 0) -> list[str]:
    found = chat.db.run(lambda tx: receipt_rows.page(tx, owner.account_id, 2, start))
    return [one.key.transaction_id[0] for one in found]


def test_a_receipt_belongs_to_the_account_that_kept_it_first(chat: ChatHarness) -> None:
    assert keep(chat, ANN)
    assert not keep(chat, BOB)
    assert chat.db.run(lambda tx: receipt_rows.owner_of(tx, *KEY)) == ANN
    assert page(chat, BOB) == []


def test_a_receipt_kept_twice_is_listed_once_and_brought_up_to_date(chat: ChatHarness) -> None:
    keep(chat, ANN)
    assert keep(
        chat, replace(ANN, language="de"), receipt=replace(RECEIPT, marks=PaymentMarks(sent_at=1))
    )
    (row,) = chat.rows("kept_receipts")
    assert (row["language"], row["sent"]) == ("de", 1)


def test_receipts_are_listed_newest_first_by_pages(chat: ChatHarness) -> None:
    for name in "abc":
        keep(chat, ANN, ReceiptKey(REQUEST_ID, name * 24))
    assert (page(chat, ANN), page(chat, ANN, 2)) == (["c", "b"], ["a"])
    assert chat.db.run(lambda tx: receipt_rows.count(tx, ANN.account_id)) == 3


def test_only_its_owner_removes_a_receipt(chat: ChatHarness) -> None:
    keep(chat, ANN)
    (row,) = chat.rows("kept_receipts")
    assert not chat.db.run(lambda tx: receipt_rows.remove(tx, row["id"], BOB.account_id))
    assert chat.db.run(lambda tx: receipt_rows.remove(tx, row["id"], ANN.account_id))
    assert keep(chat, BOB), "a removed receipt can be kept by anybody who has its address"


def test_a_notice_goes_to_the_owner_alone_and_holds_nothing_of_the_receipt(
    chat: ChatHarness,
) -> None:
    def notify() -> bool:
        return chat.db.run(lambda tx: notify_owner(chat.step(tx), KEY, SENT))

    assert not notify()
    assert chat.said == []
    keep(chat, BOB)
    assert notify()
    assert chat.said == [BuyerNotice(*KEY, "de", SENT)]
    (row,) = (one for one in chat.rows("outbox") if one["queue"] == "messages")
    assert row["lane"] == str(BOB.account_id)
    assert "Coffee" not in row["body"]


def test_buyers_who_wait_are_notified_once_and_no_others(chat: ChatHarness) -> None:
    """Whether all of theirs is there is looked up when the notice is sent.

    A payment of the units 3 and 4 isn't looked up while only three have their codes.
    """
    keep(chat, ANN, receipt=WAITS)
    keep(chat, BOB, ReceiptKey(REQUEST_ID, "b" * 24))

    def notify(served: int = 4) -> list[object]:
        chat.db.run(lambda tx: notify_waiting(chat.step(tx), REQUEST_ID, served))
        return chat.said

    assert notify(3) == []
    assert notify() == [BuyerNotice(*KEY, "en", CODE)]
    assert len(notify()) == 1, "more codes before the notice is sent are no news"
    chat.db.run(lambda tx: receipt_rows.update(tx, KEY, RECEIPT))
    assert len(notify()) == 1
    chat.db.run(lambda tx: receipt_rows.update(tx, KEY, WAITS))
    assert len(notify()) == 2
