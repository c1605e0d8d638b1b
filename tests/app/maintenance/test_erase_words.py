"""Erasure of what payers tell their sellers, and of what sellers note: down to the bytes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.app.maintenance import payer_erasure
from bot.chat.model.replies import inert, inert_lines, plain
from bot.chat.store.payment_rows import Payment
from bot.core.database.database import Database, Row
from bot.core.erasure import ErasedValues, redact
from bot.interface.parts import PayerWords
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer
from tests.support.databases import text_of
from tests.support.service_harness import HOOK, NOON, ServiceHarness, open_service

WORDS = ("Mia-Zanzibar", "For the drums-Zanzibar!", "Sent to Zanzibar-Street", "back to Zanzibar")
OTHER = "Ben-Timbuktu"
MIA = "mia@payer.example"
ABOUT_MIA = f"write me at mailto:{MIA}, +44 20 7946-0958 or „{MIA.title()}“"


async def erase(db: Database, *who: str, request: str | None = None) -> None:
    scope = db.run(lambda tx: payer_erasure.parse_scope(tx, who, None, request))
    await payer_erasure.erase(db, await payer_erasure.survey(db, scope), NOON)


@pytest.mark.parametrize(
    "words",
    [
        *("see you at mia.example", "call +49 170 1234567 soon", "\u05de\u05d9\u05d4", "@mia_l"),
        "Zoe\u0308 Mu\u0308ller",
    ],
)
@pytest.mark.parametrize("shown", [inert, inert_lines])
def test_words_are_found_as_telegram_shows_them(words: str, shown: Callable[[str], str]) -> None:
    """Inert texts have characters that the payer did not type."""
    gone = ErasedValues.of([words])
    left = redact({"text": f"5 EUR from Mia: {shown(words)}\nFor Coffee"}, gone)["text"]
    assert left.replace("\u2068", "").replace("\u2069", "") == "5 EUR from Mia: …\nFor Coffee"


@pytest.mark.parametrize(
    "words",
    [
        "For the drums & the bass",
        "Zoe\u0308-Maria Mu\u0308ller-Lu\u0308denscheidt",
        "\u05de\u05d9\u05d4 " * 9,
    ],
)
@pytest.mark.parametrize("shown", [inert, inert_lines, plain])
@pytest.mark.parametrize("limit", [12, 18, 19, 20])
def test_words_are_found_where_they_were_cut(
    words: str, shown: Callable[[str, int], str], limit: int
) -> None:
    """As in lists of payments, and on the buttons below them."""
    gone = ErasedValues.of([words, "For the drummer", "Zoo"])
    left = redact({"text": f"Hide: {shown(words, limit)} (2)"}, gone)["text"]
    assert left.replace("\u2068", "").replace("\u2069", "") == "Hide: … (2)"


@pytest.mark.parametrize(
    "around",
    [
        *(
            "„{}“",
            "“{}”",
            "»{}«",
            "&lt;{}&gt;",
            "*{}*",
            "{{{}}}",
            "|{}|",
            "→{}",
            "Hi!{}",
            "{}–Danke",
        ),
        *("{}_", "\u2068{}\u2069.", "mailto:{}?subject=Hi"),
    ],
)
@pytest.mark.parametrize("shown", [str, inert])
def test_an_address_is_found_whatever_is_around_it(
    around: str, shown: Callable[[str], str]
) -> None:
    text = {"text": f"Write to {around.format(shown(MIA.title()))} soon"}
    gone = ErasedValues.of([MIA])
    assert redact(text, gone) == {"text": f"Write to {around.format('…')} soon"}


@pytest.mark.parametrize("words", ["notmia@payer.example", "mia@payer.example.org", "a.mia@payer"])
def test_other_addresses_stay(words: str) -> None:
    assert redact({"text": f"„{words}“"}, ErasedValues.of([MIA])) == {"text": f"„{words}“"}


@pytest.mark.parametrize("word", ["a", "a@", "@a.", "a-@-", "1("])
def test_a_long_word_is_searched_in_time(word: str) -> None:
    """Of a time that grows with the square of its length, it would take minutes."""
    text = {"text": word * (200_000 // len(word))}
    assert redact(text, ErasedValues.of([MIA])) == text


def test_other_texts_that_were_cut_stay() -> None:
    gone = ErasedValues.of(["For the drums and the bass", "Mia"])
    text = {"text": "For the guitar…, For the drums tonight…, For…, … and Mi…"}
    assert redact(text, gone) == text


async def two_payments(service: ServiceHarness, **given: str) -> tuple[str, str]:
    """Store a payment with words and notes, and another payer's; return their ids."""
    hook = {"notifications": {"webhook": HOOK, "email": "seller@shop.example"}}
    asked = {"requestedUserData": [*given]}
    request_id = (await service.create(**asked, **hook))["id"]
    for number, (name, message) in enumerate((WORDS[:2], (OTHER, "Hi"))):
        service.clock.advance(1)
        data = {field: f"{number}{value}" for field, value in given.items()}
        await service.pay(request_id, f"{number}" * 32, **data, name=name, message=message)
    rows = await service.rows("payments ORDER BY completed_at")
    first, second = rows
    await write(service, first, WORDS[0], WORDS[1])
    await write(service, second, OTHER, "Hi")
    notes = "UPDATE payments SET sent_at = 1, sent_note = :sent, paid_back_at = 1,"
    notes = f"{notes} paid_back_note = :back WHERE id = :id"
    await change(service, notes, sent=WORDS[2], back=WORDS[3], id=first["id"])
    return first["id"], second["id"]


async def write(service: ServiceHarness, payment: Row, name: str, message: str) -> None:
    """Store a name and a message with a payment and its checkout."""
    for table, row_id in (("payments", payment["id"]), ("checkouts", payment["checkout_id"])):
        sql = f"UPDATE {table} SET payer_name = :name, message = :message WHERE id = :id"
        await change(service, sql, name=name, message=message, id=row_id)


async def change(service: ServiceHarness, sql: str, **values: object) -> None:
    await service.db.transaction(lambda tx: tx.execute(sql, **values))


async def test_the_words_of_a_payer_go_with_their_address(database_url: str) -> None:
    async with open_service(database_url, mails=True) as service:
        await two_payments(service, email="mia@payer.example")
        await erase(service.db, "0mia@payer.example")
        whole = await text_of(service.db)
        assert "anzibar" not in whole
        assert OTHER in whole


async def test_the_number_of_a_payment_erases_the_words_of_a_payer_who_gave_nothing_else(
    database_url: str,
) -> None:
    async with open_service(database_url, mails=True) as service:
        first, _ = await two_payments(service)
        assert "anzibar" in await text_of(service.db)
        await erase(service.db, first)
        whole = await text_of(service.db)
    assert "anzibar" not in whole
    assert OTHER in whole


async def test_a_number_erases_its_payment_and_no_other_of_that_name(database_url: str) -> None:
    """A name names nobody: another Mia keeps hers."""
    async with open_service(database_url, mails=True) as service:
        first, second = await two_payments(service)
        name, message = WORDS[:2]
        same = "UPDATE payments SET payer_name = :name, message = :message"
        await change(service, same, name=name, message=message)
        for _ in range(2):
            await erase(service.db, first)
            rows = {row["id"]: row for row in await service.rows("payments")}
            assert (rows[first]["payer_name"], rows[first]["message"]) == (None, None)
            assert (rows[second]["payer_name"], rows[second]["message"]) == (name, message)


async def test_of_a_request_all_words_go(database_url: str) -> None:
    async with open_service(database_url, mails=True) as service:
        await two_payments(service)
        (row,) = await service.rows("payment_requests")
        await erase(service.db, request=row["id"])
        whole = await text_of(service.db)
        assert "anzibar" not in whole
        assert OTHER not in whole
        payments = await service.rows("payments ORDER BY completed_at")
        assert [row["amount"] for row in payments] == [500, 500]
        assert [row["paid_back_at"] for row in payments] == [1, None]


async def mentioned(service: ServiceHarness) -> str:
    """Store a payment of Mia, and one of somebody who writes of her; return the latter's id."""
    hook = {"notifications": {"webhook": HOOK, "email": "seller@shop.example"}}
    asked = await service.create(requestedUserData=["email", "phoneNumber"], **hook)
    plain = await service.create(**hook)
    await service.pay(asked["id"], email=MIA, phoneNumber="+442079460958", name="Thanks")
    sent = await service.pay(plain["id"], name="Ben", message=f"Thanks, {ABOUT_MIA}")
    (payment,) = await service.rows(f"payments WHERE request_id = '{plain['id']}'")
    assert sent.headers["location"].endswith(payment["id"])
    await change(service, "UPDATE payments SET sent_note = :note", note=f"Sent to {MIA}")
    return str(payment["id"])


async def test_words_and_notes_of_other_payments_lose_the_address(database_url: str) -> None:
    """Those payments stay otherwise, with their reports: no payer is known by a word alone."""
    async with open_service(database_url, mails=True) as service:
        other = await mentioned(service)
        assert str(await service.rows("outbox")).count("Thanks, write me at") == 2
        scope = service.db.run(lambda tx: payer_erasure.parse_scope(tx, [MIA], None, None))
        found = await payer_erasure.survey(service.db, scope)
        assert found.counts == {"payments": 2, "checkouts": 2}
        await payer_erasure.erase(service.db, found, NOON)
        assert (await payer_erasure.survey(service.db, scope)).rows == 0
        whole = (await text_of(service.db)).lower()
        assert MIA not in whole
        assert "7946" not in whole
        (row,) = await service.rows(f"payments WHERE id = '{other}'")
        words = "Thanks, write me at mailto:…, … or „…“"
        assert (row["payer_name"], row["message"]) == ("Ben", words)
        assert row["sent_note"] == "Sent to …"
        assert str(await service.rows("outbox")).count(words) == 2


async def test_words_of_other_payments_keep_dates_and_numbers(database_url: str) -> None:
    """The erased payer's message was such a date, which looks like a phone number."""
    async with open_service(database_url, mails=True) as service:
        await two_payments(service, email=MIA)
        first, second = await service.rows("payments ORDER BY completed_at")
        await write(service, first, "Mia 2026-08-01", "10.10.2025")
        await write(service, second, "Ben", "See you 10.10.2025!")
        await erase(service.db, f"0{MIA}")
        rows = await service.rows("payments ORDER BY completed_at")
        assert [row["message"] for row in rows] == [None, "See you 10.10.2025!"]


async def test_words_outside_the_scope_keep_the_address(database_url: str) -> None:
    async with open_service(database_url, mails=True) as service:
        other = await mentioned(service)
        (row,) = await service.rows(f"payments WHERE id <> '{other}'")
        await erase(service.db, MIA, request=row["request_id"])
        (row,) = await service.rows(f"payments WHERE id = '{other}'")
        assert row["message"] == f"Thanks, {ABOUT_MIA}"


async def test_payments_that_the_chat_recorded_lose_the_address_in_words_and_notes(
    chat: ChatHarness,
) -> None:
    link = chat.add_link(chat.add_person(), COFFEE, service_answer())
    payment = Payment("0" * 24, "t1", 500, "USD", {}, words=PayerWords("Ben", f"Mail {MIA}!"))
    chat.db.run(lambda tx: chat.recorder.record(tx, link.id, payment, None))
    noted = "UPDATE received_payments SET sent_at = 1, sent_note = :note"
    chat.db.run(lambda tx: tx.execute(noted, note=f"Sent to {MIA}"))
    await erase(chat.db, MIA)
    (row,) = chat.rows("received_payments")
    assert (row["payer_name"], row["message"], row["sent_note"]) == ("Ben", "Mail …!", "Sent to …")
    assert MIA not in await text_of(chat.db)
