"""`/find`: a payment by its transaction number, among all of a seller's, or a link by its name."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from bot.chat.conversation.payments_and_alerts import MOST_LINKS, MOST_PAYMENTS
from bot.chat.model.payment import fold_number
from bot.chat.store import payment_marks
from bot.chat.store.link_rows import DELETED, STOPPED, PaymentLink
from bot.chat.store.payment_marks import find_payments
from bot.chat.store.payment_rows import Payment, add_payment
from bot.core.database.database import Row, Transaction
from bot.core.text.translations import t
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, REQUEST_ID, STICKERS, ChatHarness, service_answer
from tests.support.databases import SQLITE

NUMBER = "64B7c0ffee15ba5eba11ad42"


def pay(chat: ChatHarness, link: PaymentLink, number: str, **given: Any) -> None:
    payment = Payment("r", number, 250, "USD", {"email": "pat@x.example"})
    chat.db.run(lambda tx: add_payment(tx, link.id, replace(payment, **given), chat.clock()))


async def find(chat: ChatHarness, person: Person, text: str) -> str:
    chat.clear_messages()
    await chat.says(person, f"/find {text}")
    (answer,) = chat.texts
    return answer


def buttons(chat: ChatHarness) -> list[str]:
    rows = (chat.said[-1].keyboard or {"inline_keyboard": []})["inline_keyboard"]
    return [button["callback_data"] for row in rows for button in row]


@pytest.fixture
def stickers(chat: ChatHarness, sam: Person) -> PaymentLink:
    return chat.add_link(sam, STICKERS, service_answer())


QUOTED = (
    *(NUMBER, NUMBER.lower(), f"#{NUMBER}", "64B7 c0ff ee15 ba5e ba11 ad42", "64b7c0"),
    *("64b7c0ff…", "11AD42", "#ba11 ad42", "64b7\u200bc0ffee"),
)


async def test_a_payment_is_found_by_its_number_however_it_is_quoted(
    chat: ChatHarness, sam: Person, stickers: PaymentLink
) -> None:
    """In any case, with spaces and a hash sign, by its beginning and by its end."""
    pay(chat, stickers, NUMBER, oversold=True)
    pay(chat, stickers, "0000000000")
    for typed in QUOTED:
        assert (await find(chat, sam, typed)).splitlines() == [
            "🔎 <b>Payment for Stickers</b>",
            "Fri, 15 Jan 2027, 08:00 (UTC) · <b>$2.50</b>",
            t("en", "payments-oversold"),
            "Email: pat@x.example",
            f"🧾 <code>{NUMBER}</code>",
        ], typed
        details, *others = buttons(chat)
        assert details.startswith(f"payment:{stickers.id}:")
        assert others == [f"card:{stickers.id}", f"payments:{stickers.id}:0"]


async def test_too_short_a_part_and_a_middle_find_nothing(
    chat: ChatHarness, sam: Person, stickers: PaymentLink
) -> None:
    pay(chat, stickers, NUMBER)
    for typed in ("64b7c", "ad42", "b7c0ffee", "64b7c0ffee15ba5eba11ad4200"):
        answer = await find(chat, sam, typed)
        assert answer.startswith(f"Nothing found for “{typed}”.")
        assert "at least 6 characters" in answer
        assert "a reference or a transaction number" in answer


async def test_a_short_number_is_found_as_a_whole(
    chat: ChatHarness, sam: Person, stickers: PaymentLink
) -> None:
    """A whole number goes before longer ones that begin with it."""
    for number in ("t1", "t1x", "123456", "1234567"):
        pay(chat, stickers, number)
    assert "<code>t1</code>" in await find(chat, sam, "T1")
    only = await find(chat, sam, "123456")
    assert ("<code>123456</code>" in only, "1234567" in only) == (True, False)


async def test_several_payments_are_listed_each_with_its_link(
    chat: ChatHarness, sam: Person, stickers: PaymentLink
) -> None:
    coffee = chat.add_link(sam, COFFEE, service_answer(id="c" * 24))
    pay(chat, stickers, "abcdef01")
    pay(chat, coffee, "abcdef02", request_id="c")
    answer = await find(chat, sam, "abcdef")
    assert answer.startswith("🔎 <b>2 payments match</b>")
    assert ("<b>Coffee</b>" in answer, "<b>Stickers</b>" in answer) == (True, True)
    assert "There are more" not in answer
    assert buttons(chat) == [f"card:{stickers.id}", f"card:{coffee.id}"]


async def test_of_many_payments_the_first_are_listed_and_more_is_asked_for(
    chat: ChatHarness, sam: Person, stickers: PaymentLink
) -> None:
    for number in range(MOST_PAYMENTS + 1):
        pay(chat, stickers, f"abcdef0{number}")
    answer = await find(chat, sam, "abcdef")
    assert answer.count("<code>") == MOST_PAYMENTS
    assert "There are more" in answer


async def test_nobody_finds_the_payments_of_somebody_else(
    chat: ChatHarness, pat: Person, stickers: PaymentLink
) -> None:
    pay(chat, stickers, NUMBER)
    for typed in (NUMBER, NUMBER[:8], NUMBER[-8:], "Stickers"):
        assert (await find(chat, pat, typed)).startswith("Nothing found")


async def test_a_payment_of_a_deleted_link_is_found_without_its_card(
    chat: ChatHarness, sam: Person
) -> None:
    gone = chat.add_link(sam, STICKERS, service_answer(), state=DELETED)
    pay(chat, gone, NUMBER)
    assert "Payment for Stickers" in await find(chat, sam, NUMBER)
    assert [data.partition(":")[0] for data in buttons(chat)] == ["payment"]


async def test_a_placeholder_has_no_number_until_its_payment_is_known(
    chat: ChatHarness, sam: Person, stickers: PaymentLink
) -> None:
    await chat.record_missing(stickers.id, 0, 1)
    (row,) = chat.rows("received_payments")
    assert (row["number"], row["number_reversed"]) == (None, None)
    assert (await find(chat, sam, row["transaction_id"])).startswith("Nothing found")
    await chat.record(stickers, Payment(REQUEST_ID, NUMBER, 250, "USD", {}), None)
    assert f"<code>{NUMBER}</code>" in await find(chat, sam, NUMBER)


async def test_another_text_finds_links_by_name(chat: ChatHarness, sam: Person) -> None:
    """Stopped links too, which inline results leave out; each is a button to its card."""
    stopped = chat.add_link(sam, COFFEE, service_answer(), state=STOPPED)
    assert await find(chat, sam, "<coff") == t("en", "find-none", text="&lt;coff", least=6)
    assert await find(chat, sam, "COFF") == "🔎 <b>Payment links with “COFF”</b>"
    assert buttons(chat) == [f"card:{stopped.id}"]
    for number in range(MOST_LINKS):
        chat.add_link(sam, COFFEE, service_answer(id=f"{number:024x}"))
    assert "There are more" in await find(chat, sam, "coffee")
    assert len(buttons(chat)) == MOST_LINKS


async def test_find_without_an_argument_explains_itself(chat: ChatHarness, sam: Person) -> None:
    assert await find(chat, sam, "") == t("en", "find-help", least=6)


@pytest.mark.long
@pytest.mark.only(SQLITE, "its query plans; PostgreSQL's are in test_query_plans.py")
def test_a_payment_is_found_among_ten_thousand_by_an_index(
    chat: ChatHarness, sam: Person, stickers: PaymentLink
) -> None:
    """Each search reads through an index, never all payments."""

    def fill(tx: Transaction) -> None:
        for number in range(10_000):
            payment = Payment("r", f"{number:08x}{number * 7919:08x}", 250, "USD", {})
            add_payment(tx, stickers.id, payment, chat.clock())

    chat.db.run(fill)
    wanted = f"{4321:08x}{4321 * 7919:08x}"
    for typed in (wanted, wanted[:8], wanted[-8:]):
        (found,) = chat.db.run(partial(find_payments, seller_id=sam.id, text=typed, most=6))
        assert found.payment.transaction_id == wanted
    given = {"seller": sam.id, "number": "n", "part": "p", "beyond": "q", "most": 6}
    for sql in (payment_marks.WHOLE, payment_marks.BEGINNING, payment_marks.END):
        used = {name: value for name, value in given.items() if f":{name}" in sql}
        plan = chat.db.run(partial(explain, sql=sql, given=used))
        steps = [str(row["detail"]) for row in plan]
        assert all(step.startswith("SEARCH received_payments USING INDEX") for step in steps), steps


def explain(tx: Transaction, sql: str, given: dict[str, Any]) -> list[Row]:
    return tx.query(f"EXPLAIN QUERY PLAN {sql}", **given)


@pytest.mark.parametrize(
    ("typed", "folded"),
    [(" # AB cd\n", "abcd"), ("…", ""), ("\u202eab\x00", "ab"), ("a-b:c", "a-b:c"), ("ẞ", "ss")],
)
def test_spellings_of_a_number_are_folded(typed: str, folded: str) -> None:
    assert fold_number(typed) == folded
