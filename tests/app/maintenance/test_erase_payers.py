"""`erase`: payers' data goes everywhere, money and counts stay."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from bot.app.maintenance import payer_erasure
from bot.app.maintenance.payer_erasure import Erased
from bot.chat.cards import alert_text
from bot.chat.model.jobs import EditRequest, ReplyTo
from bot.chat.model.payloads import TextMessage
from bot.chat.model.payment import PAID_BACK, SENT, PaymentKey
from bot.chat.store import message_rows, payment_marks, receipt_rows
from bot.chat.store.link_rows import PaymentLink
from bot.chat.store.payment_marks import payment_by_key
from bot.chat.store.payment_rows import Payment
from bot.chat.store.post_rows import MessagePlace
from bot.chat.store.receipt_rows import Receipt, ReceiptKey, ReceiptOwner
from bot.core import erasure
from bot.core.database.database import Database, Row, Transaction
from bot.core.outbox import outbox
from bot.interface.parts import PayerWords
from bot.service.notifications.webhooks import WebhookSender
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer
from tests.support.databases import text_of
from tests.support.http_peers import Receiver
from tests.support.outbox_queue import bodies
from tests.support.payer_data import ANNA, ASKED, BOB
from tests.support.service_harness import LOOPBACK, NOON, ServiceHarness, open_service
from tests.support.webhook_delivery import handle

MONEY = (
    "SELECT id, request_id, checkout_id, external_id, state, amount, currency, receivers,"
    " instrument_amount, completed_at FROM payments ORDER BY id"
)
UNITS = "SELECT id, remaining_units, reserved_units, paid_count FROM payment_requests ORDER BY id"


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[ServiceHarness]:
    """The service, whose webhooks may go to this machine."""
    async with open_service(database_url, allow=LOOPBACK) as it:
        yield it


async def erase(
    db: Database, *who: str, before: int | None = None, request: str | None = None
) -> Erased:
    """Erase as the command does, without the compaction of the file."""
    scope = db.run(lambda tx: payer_erasure.parse_scope(tx, who, before, request))
    return await payer_erasure.erase(db, await payer_erasure.survey(db, scope), NOON)


def digits(data: dict[str, str]) -> dict[str, str]:
    return data | {"phoneNumber": "+" + "".join(filter(str.isdigit, data["phoneNumber"]))}


@pytest.mark.parametrize(
    "who",
    ["anna.b@mail.example", "ANNA.B@mail.Example", "anna@hand.example", "+442079460958",
     "(0044) 20-7946 0958", "442079460958"],
)  # fmt: skip
async def test_a_payer_is_found_in_any_spelling_and_no_other_payer_is(
    service: ServiceHarness, who: str
) -> None:
    """All data given with these payments goes, not only the value named."""
    made = await service.create(**ASKED)
    for number, data in enumerate((ANNA, BOB)):
        assert (await service.pay(made["id"], token=f"{number}" * 32, **data)).status_code == 303
    await erase(service.db, who)
    kept = [
        json.loads(row["user_data"])
        for row in await service.rows("payments ORDER BY completed_at, id")
    ]
    assert sorted(kept, key=str) == sorted([{}, digits(BOB)], key=str)
    whole = (await text_of(service.db)).lower()
    assert not [value for value in digits(ANNA).values() if value.lower() in whole]
    assert all(value in whole for value in digits(BOB).values())


def figures(service: ServiceHarness) -> list[list[Row]]:
    return service.db.run(lambda tx: [tx.query(MONEY), tx.query(UNITS)])


async def test_the_money_and_the_counts_stay(service: ServiceHarness) -> None:
    """Three payers of four payments remain three payers, also after the next payment."""
    made = await service.create(**ASKED, expirationType="limit", totalUnits=9)
    for number, data in enumerate((ANNA, BOB, ANNA, BOB | {"paymail": "carl@hand.example"})):
        await service.pay(made["id"], token=f"{number}" * 32, **data)
    stats = f"/v3/paymentRequests/public/stats/{made['id']}"
    before, told = figures(service), (await service.anyone.get(stats)).json()
    assert told["uniqueUsers"] == 3
    await erase(service.db, "anna@hand.example")
    assert (figures(service), (await service.anyone.get(stats)).json()) == (before, told)
    await service.pay(made["id"], token="z" * 32, **BOB)
    assert (await service.anyone.get(stats)).json()["uniqueUsers"] == 3


async def test_a_checkout_that_was_never_paid_is_erased_too(service: ServiceHarness) -> None:
    made = await service.create(**ASKED)
    await service.pay(made["id"], manner="later", **ANNA)
    assert [row["state"] for row in await service.rows("checkouts")] == ["open"]
    await erase(service.db, ANNA["email"])
    assert [row["user_data"] for row in await service.rows("checkouts")] == ["{}"]


async def test_a_waiting_webhook_is_sent_without_its_payer(
    service: ServiceHarness, notifier: WebhookSender, receiver: Receiver
) -> None:
    """It is signed when it is sent, so its signature is valid. Its address stays."""
    made = await service.create(**ASKED, notifications={"webhook": {"webhookUrl": receiver.url}})
    await service.pay(made["id"], **ANNA)
    await erase(service.db, ANNA["email"])
    queue = notifier.queue_handler.queue
    (message,) = service.db.run(lambda tx: outbox.claim(tx, queue, service.clock(), 8))
    await handle(notifier.queue_handler, message)
    (got,) = receiver.received
    assert json.loads(got.body)["userData"] == {}
    assert json.loads(got.body)["amount"] == 5


async def test_an_endpoints_answer_is_erased_with_its_payer(
    service: ServiceHarness, notifier: WebhookSender, receiver: Receiver
) -> None:
    """Some endpoints echo the request in any form. Status and time of the answer stay."""
    receiver.answers.append(b"HTTP/1.1 500 X\r\nContent-Length: 24\r\n\r\nno anna.b%40mail.example")
    made = await service.create(**ASKED, notifications={"webhook": {"webhookUrl": receiver.url}})
    await service.pay(made["id"], **ANNA)
    queue = notifier.queue_handler.queue
    (message,) = service.db.run(lambda tx: outbox.claim(tx, queue, service.clock(), 8))
    await handle(notifier.queue_handler, message)
    assert "anna" in (await service.rows("delivery_attempts"))[0]["answer"]
    await erase(service.db, ANNA["email"])
    ((attempt),) = await service.rows("delivery_attempts")
    assert (attempt["status"], attempt["answer"]) == (500, None)


def record_payment(
    chat: ChatHarness, link: PaymentLink, transaction: str, payer: dict[str, Any]
) -> None:
    """Record a payment as its webhook does, with its alert."""
    payment = Payment(link.request_id or "", transaction, 500, "USD", payer)
    chat.db.run(lambda tx: chat.recorder.record(tx, link.id, payment, None))


async def test_records_and_waiting_alerts_of_the_chat_lose_their_payer(
    chat: ChatHarness,
) -> None:
    """The alert itself is sent still. The alert of another payer stays as it is."""
    link = chat.add_link(chat.add_person(), COFFEE, service_answer())
    record_payment(chat, link, "t1", {"email": "anna@é.example", "extra": {"nick": "Ann Bee"}})
    record_payment(chat, link, "t2", {"email": "bob@mail.example"})
    await erase(chat.db, "ANNA@é.example")
    assert sorted(row["body"] for row in chat.rows("received_payments")) == [
        '{"email":"bob@mail.example"}', "{}",
    ]  # fmt: skip
    told = [text for text in chat.texts if "received for" in text]
    assert len(told) == 2
    assert "é.example" not in await text_of(chat.db)
    assert "Ann Bee" not in await text_of(chat.db)
    assert "bob@mail.example" in "\n".join(told)


@pytest.mark.parametrize("who", ["anna@mail.example", "t1"])
async def test_what_a_payer_wrote_is_erased_from_waiting_and_sent_alerts(
    chat: ChatHarness, who: str
) -> None:
    """By the payer's address, and by the payment's id; the words of others stay."""
    link = chat.add_link(chat.add_person(), COFFEE, service_answer())
    for number, (email, words) in enumerate(
        (("anna@mail.example", ("Mia", "Drums forever")), ("bob@mail.example", ("Tom", "Rock on"))),
        1,
    ):
        request, data = link.request_id or "", {"email": email}
        payment = Payment(request, f"t{number}", 500, "USD", data, words=PayerWords(*words))
        record_words(chat, link, payment, number)
    await erase(chat.db, who)
    kept = await text_of(chat.db)
    assert not [word for word in ("Mia", "Drums", "forever", "anna@") if word in kept]
    assert not [word for word in ("Tom", "Rock on", "bob@") if word not in kept]
    assert [alert.payments[0].words.name for alert in chat.said] == [None, "Tom"]


def record_words(chat: ChatHarness, link: PaymentLink, payment: Payment, number: int) -> None:
    """Record a payment, and keep a copy of its waiting alert as one that was sent."""

    def work(tx: Transaction) -> None:
        chat.recorder.record(tx, link.id, payment, None)

    chat.db.run(work)
    place = MessagePlace(str(link.chat_id), number)
    alert = chat.said[-1]
    chat.db.run(lambda tx: message_rows.save_alert(tx, place, alert, chat.clock()))


async def test_the_text_of_an_alert_is_erased_from_stored_button_presses(chat: ChatHarness) -> None:
    """Telegram sends the message with the press, and updates are kept for two days."""
    update = {
        "update_id": 1,
        "callback_query": {"message": {"text": "$5 received\nE-mail: anna.b@mail.example."}},
    }
    queue = chat.queues.updates
    chat.db.run(lambda tx: outbox.put(tx, queue, "7", update, NOON, key="u"))
    settled = "UPDATE outbox SET state = 'dead', settled_at = 1, note = :note WHERE id = 'u'"
    chat.db.run(lambda tx: tx.execute(settled, note="Refused: anna.b@mail.example"))
    await erase(chat.db, "anna.b@mail.example")
    (row,) = chat.rows("outbox")
    assert "anna" not in row["body"]
    assert row["note"] == "Refused: …"
    assert "$5 received" in row["body"]


async def test_values_of_several_words_are_erased_from_stored_button_presses(
    chat: ChatHarness,
) -> None:
    """Another server sends phone numbers as they were typed, and names."""
    anna = {"email": "anna@mail.example", "phoneNumber": "+44 20 7946 0958", "name": "Anna O'Bee"}
    link = chat.add_link(chat.add_person(), COFFEE, service_answer())
    record_payment(chat, link, "t1", anna)
    update = {"callback_query": {"message": {"text": f"{chat.texts[-1]}\nAnna O'Bee paid."}}}
    queue = chat.queues.updates
    chat.db.run(lambda tx: outbox.put(tx, queue, "7", update, NOON, key="u"))
    chat.db.run(
        lambda tx: tx.execute("UPDATE outbox SET state = 'done', settled_at = 1 WHERE id = 'u'")
    )
    done = await erase(chat.db, "anna@mail.example")
    assert set(done.gone) == {*anna.values()}
    (body,) = [row["body"] for row in chat.rows("outbox") if row["id"] == "u"]
    assert "received for" in body
    assert "… paid." in body
    assert [one for one in ("anna", "Anna", "Bee", "7946", "0958") if one in body] == []


async def test_payer_data_that_equals_words_of_ours_breaks_no_message(chat: ChatHarness) -> None:
    """Another server's payers may give any words; the alerts of all the others go on."""
    link = chat.add_link(chat.add_person(), COFFEE, service_answer())
    words = {"email": "anna@mail.example", "a": "en", "b": "Alert", "c": "Coffee", "d": "usd"}
    words |= {"e": link.id, "f": link.spec.kind, "g": "text"}
    record_payment(chat, link, "t1", words)
    record_payment(chat, link, "t2", {"email": "bob@mail.example"})
    reply = TextMessage("anna@mail.example", "en")
    chat.db.run(lambda tx: outbox.put(tx, chat.queues.messages, "7", reply, NOON))
    await erase(chat.db, "t1")
    (first, second), text = [one.payments[0] for one in chat.said[:2]], chat.said[2]
    assert (first.payer, second.payer) == ({}, {"email": "bob@mail.example"})
    assert (first.name, second.currency, text) == ("Coffee", "USD", TextMessage("…", "en"))
    assert "anna@" not in await text_of(chat.db)


async def test_an_unreadable_message_is_emptied_and_hinders_no_erasure(chat: ChatHarness) -> None:
    """Nobody can tell whom it names; in the outbox it is a dead letter."""
    link = chat.add_link(chat.add_person(), COFFEE, service_answer())
    record_payment(chat, link, "t1", {"email": "anna@mail.example"})
    broken = "UPDATE outbox SET body = 'anna@mail.example' WHERE queue = 'messages'"
    chat.db.run(lambda tx: tx.execute(broken))
    for changed in (1, 0):
        assert (await erase(chat.db, "anna@mail.example")).messages == changed
    assert "anna@" not in await text_of(chat.db)


async def test_jobs_and_messages_of_sellers_are_left_alone(chat: ChatHarness) -> None:
    """A payer's paymail may be a seller's destination, and a job without it creates nothing."""
    queue_handler = EditRequest("7", ReplyTo(7, "en"), "email", "anna@hand.example")
    chat.db.run(lambda tx: outbox.put(tx, chat.queues.jobs, "7", queue_handler, NOON))
    update = {"destination": "anna@hand.example"}
    chat.db.run(lambda tx: outbox.put(tx, chat.queues.updates, "7", update, NOON))
    await erase(chat.db, "anna@hand.example")
    waiting = bodies(chat.db, chat.queues.jobs) + bodies(chat.db, chat.queues.updates)
    assert waiting == [queue_handler, update]


async def test_a_payment_stands_for_its_payer(service: ServiceHarness) -> None:
    """A person who has a receipt need not name an address."""
    made = await service.create(**ASKED)
    await service.pay(made["id"], **ANNA)
    await service.pay(made["id"], token="z" * 32, **ANNA)
    first = (await service.rows("payments"))[0]["id"]
    await erase(service.db, first)
    assert [row["user_data"] for row in await service.rows("payments")] == ["{}", "{}"]


async def test_a_payment_whose_payer_was_erased_stands_for_nobody(service: ServiceHarness) -> None:
    """Erased again, it must not erase everybody's data."""
    made = await service.create(**ASKED)
    await service.pay(made["id"], **ANNA)
    (anna,) = await service.rows("payments")
    await service.pay(made["id"], token="z" * 32, **BOB)
    for _ in range(2):
        await erase(service.db, anna["id"])
        kept = {row["id"]: row["user_data"] for row in await service.rows("payments")}
        assert kept.pop(anna["id"]) == "{}"
        assert [json.loads(data) for data in kept.values()] == [digits(BOB)]


async def test_before_a_time_all_data_is_erased_and_later_data_stays(
    service: ServiceHarness,
) -> None:
    """Payers who paid again since keep the later payment, and their data elsewhere."""
    made = await service.create(**ASKED)
    await service.pay(made["id"], **ANNA)
    service.clock.advance(10)
    await service.pay(made["id"], token="z" * 32, **ANNA)
    done = await erase(service.db, before=NOON + 10_000)
    found = await service.rows("payments ORDER BY completed_at")
    assert [json.loads(row["user_data"]) for row in found] == [{}, digits(ANNA)]
    assert done.gone == ()


async def test_of_one_request_only_its_own_data_is_erased(service: ServiceHarness) -> None:
    one, other = await service.create(**ASKED), await service.create(**ASKED)
    await service.pay(one["id"], **ANNA)
    await service.pay(other["id"], **BOB)
    await erase(service.db, request=one["id"])
    kept = {
        row["request_id"]: json.loads(row["user_data"]) for row in await service.rows("payments")
    }
    assert kept == {one["id"]: {}, other["id"]: digits(BOB)}


async def test_an_alert_of_that_request_is_sent_without_its_payer(chat: ChatHarness) -> None:
    """Also where the same person is a payer of another request."""
    anna = {"email": "anna@mail.example"}
    link = chat.add_link(chat.add_person(), COFFEE, service_answer())
    other = chat.add_link(chat.add_person("Eve"), COFFEE, service_answer(id="f" * 24))
    record_payment(chat, link, "t1", anna)
    record_payment(chat, other, "t2", anna)
    await erase(chat.db, request=link.request_id)
    payers = {it.payments[0].link_id: it.payments[0].payer for it in chat.said}
    assert payers == {link.id: {}, other.id: anna}
    assert all(alert_text.alert_message(it).text for it in chat.said)


async def test_a_receipt_that_was_kept_after_the_time_goes_with_its_payment(
    chat: ChatHarness,
) -> None:
    """Of receipts alone, those kept since stay."""
    link = chat.add_link(chat.add_person(), COFFEE, service_answer())
    record_payment(chat, link, "t1", {"email": "anna@mail.example"})
    chat.clock.advance(60)
    before = chat.clock()
    for account, transaction in ((7, "t1"), (8, "t2")):
        key = ReceiptKey(link.request_id or "", transaction)
        owner, receipt = ReceiptOwner(account, "en"), Receipt("Coffee", 500, "USD", "paid", "")
        chat.db.run(partial(receipt_rows.keep, key=key, owner=owner, receipt=receipt, now=before))
    await erase(chat.db, before=before)
    assert [row["account_id"] for row in chat.rows("kept_receipts")] == [8]


@pytest.mark.parametrize("mark", [PAID_BACK, SENT])
async def test_notes_on_marked_payments_lose_the_payer(chat: ChatHarness, mark: str) -> None:
    """The note on the payer's own payment goes, the name goes from all others."""
    link = chat.add_link(chat.add_person(), COFFEE, service_answer())
    for number, email in enumerate(("anna@mail.example", "bob@mail.example")):
        record_payment(chat, link, f"t{number}", {"email": email})
        key = PaymentKey.of(link.id, chat.clock(), f"t{number}")
        note(chat, link, key, mark, f"For anna@mail.example, invoice {number}")
    await erase(chat.db, "anna@mail.example")
    column = mark.replace("-", "_")
    notes = [row[f"{column}_note"] for row in chat.rows("received_payments")]
    assert notes == [None, "For …, invoice 1"]
    assert all(row[f"{column}_at"] for row in chat.rows("received_payments"))
    assert "anna@mail" not in await text_of(chat.db)


def note(chat: ChatHarness, link: PaymentLink, key: PaymentKey, mark: str, text: str) -> None:
    """Mark a payment, with a note."""

    def store(tx: Transaction) -> None:
        found = payment_by_key(tx, link.seller_id, key)
        assert found is not None
        assert payment_marks.set_mark(tx, found, mark, chat.clock())
        assert payment_marks.save_note(tx, found, mark, text)

    chat.db.run(store)


@pytest.mark.parametrize(
    ("data", "gone", "expected"),
    [
        ({"email": "A@b.c", "n": 1}, {"a@b.c"}, {"n": 1}),
        (["a@b.c", "x"], {"a@b.c"}, ["x"]),
        ("Mail: a@b.c, now", {"a@b.c"}, "Mail: …, now"),
        ("see aa@b.c", {"a@b.c"}, "see aa@b.c"),
        ({"t": {"u": "+44 20"}}, {"a@b.c"}, {"t": {"u": "+44 20"}}),
        (None, {"a@b.c"}, None),
        ("(Anna  Bee), Anna Beer", {"Anna Bee"}, "(…), Anna Beer"),
        ("Anna Bee Cee, Anna Bee", {"Anna Bee", "anna bee cee"}, "…, …"),
        ("of <b>O&#x27;Bee &amp; Co</b>.", {"O'Bee & Co"}, "of <b>…</b>."),
        ("by\nphone: +44 20 7946-0958!", {"442079460958"}, "by\nphone: …!"),
        ("$5.00 (20 7946 0958)", {"442079460958"}, "$5.00 (20 7946 0958)"),
        ("wow ... so", {"...", "()"}, "wow ... so"),
    ],
)
def test_erased_words_leave_the_others(data: Any, gone: set[str], expected: Any) -> None:
    assert erasure.redact(data, erasure.ErasedValues.of(gone)) == expected
