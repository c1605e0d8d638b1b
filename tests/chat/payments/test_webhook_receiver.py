"""Webhooks in: proved, recorded, then answered; each payment told once, nothing else stored."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from structlog.testing import capture_logs

from bot.chat.payments.webhook import PATH
from bot.chat.store import payment_rows
from bot.chat.store.link_rows import PaymentLink
from bot.core import exact_json, signing
from bot.core.net import request_body
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import ALERT
from bot.interface.vocabulary import WebhookEvent
from tests.support.asgi_server import serve_asgi
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer
from tests.support.raw_http import endless_body
from tests.support.service_harness import client
from tests.support.webhook_sender import APP_SECRET, PAID, SECRET, WebhookSender, serve

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


@pytest.fixture
async def service(chat: ChatHarness, link: PaymentLink) -> AsyncIterator[WebhookSender]:
    async with client(serve(chat, SECRET)) as http:
        yield WebhookSender(chat, http, link)


async def test_a_valid_webhook_is_stored_with_one_alert_and_answered_200(
    service: WebhookSender, chat: ChatHarness, link: PaymentLink, sam: Person
) -> None:
    assert await service.send_signed(PAID) == 200
    (row,) = chat.rows("received_payments")
    assert (row["listing_id"], row["transaction_id"]) == (link.id, "t1")
    assert (row["amount"], row["currency"]) == (250, "USD")
    (message,) = chat.rows("outbox")
    assert (message["queue"], message["lane"]) == ("messages", str(sam.id))
    assert message["priority"] == ALERT
    (text,) = chat.texts
    assert "$2.50" in text
    assert "pat@example.org" in text


async def test_payer_data_of_any_accepted_depth_has_its_alert(
    service: WebhookSender, chat: ChatHarness
) -> None:
    """The queue holds it some levels deeper within a message of ours."""
    data: dict[str, Any] = {"email": "pat@example.org"}
    for _ in range(exact_json.MAX_DEPTH - 2):
        data = {"more": data}
    assert await service.send_signed(PAID | {"userData": data}) == 200
    queue, now = chat.queues.messages, chat.clock()
    (message,) = chat.db.run(lambda tx: outbox.claim(tx, queue, now, room=1))
    assert message.body.payments[0].payer == data
    assert len(chat.texts) == 1


async def test_a_repeated_webhook_is_answered_200_without_a_second_alert(
    service: WebhookSender, chat: ChatHarness
) -> None:
    for _ in range(3):
        assert await service.send_signed(PAID) == 200
    assert (len(chat.rows("received_payments")), len(chat.said)) == (1, 1)


async def test_two_webhooks_at_the_same_moment_have_one_alert(
    service: WebhookSender, chat: ChatHarness
) -> None:
    assert await asyncio.gather(*(service.send_signed(PAID) for _ in range(5))) == [200] * 5
    assert (len(chat.rows("received_payments")), len(chat.said)) == (1, 1)


async def test_200_is_answered_only_after_the_payment_and_its_alert_are_stored(
    service: WebhookSender, chat: ChatHarness
) -> None:
    chat.db.run(lambda tx: tx.execute("ALTER TABLE outbox RENAME TO away"))
    assert await service.send_signed(PAID) == 500
    chat.db.run(lambda tx: tx.execute("ALTER TABLE away RENAME TO outbox"))
    assert service.nothing_happened()
    assert await service.send_signed(PAID) == 200
    assert len(chat.said) == 1


@pytest.mark.parametrize("token", ["unknown", "x" * 5000, "%00", "%ff", "'; DROP TABLE listings"])
async def test_an_unknown_address_is_404_to_a_server_with_a_proof(
    service: WebhookSender, token: str
) -> None:
    service.path = f"{PATH}/{token}"
    assert await service.send_signed(PAID) == 404
    assert await service.send_signed(PAID | {"event": WebhookEvent.CLAIMED}) == 404
    assert await service.send(json.dumps(PAID).encode()) == 401
    assert service.nothing_happened()


async def test_without_a_signature_it_is_401_also_with_the_applications_secret(
    service: WebhookSender,
) -> None:
    """With a signing secret, HandCash's weaker proof is not accepted."""
    assert await service.send(json.dumps(PAID).encode()) == 401
    assert await service.send(json.dumps(PAID | {"appSecret": APP_SECRET}).encode()) == 401
    assert service.nothing_happened()


@pytest.mark.parametrize("wrong", ["secret", "body", "too old", "too new", "id", "garbage"])
async def test_an_invalid_signature_is_401_and_nothing_is_stored(
    service: WebhookSender, chat: ChatHarness, wrong: str
) -> None:
    content = json.dumps(PAID).encode()
    seconds = {"too old": -301, "too new": 301}.get(wrong, 0)
    at = datetime.fromtimestamp(chat.clock() / 1000 + seconds, UTC)
    secret = signing.new_secret() if wrong == "secret" else SECRET
    headers = signing.sign([secret], "m1", at, content)
    if wrong == "id":
        headers["webhook-id"] = "m2"
    if wrong == "garbage":
        headers["webhook-signature"] = "v1,schluessel v1, \t,"
    if wrong == "body":
        content = content.replace(b"2.5", b"9.5")
    assert await service.send(content, headers) == 401
    assert service.nothing_happened()


MALFORMED = [
    *(b"", b"{", b'{"paymentRequestId": "0123', b"[]", b"null", b'"text"', b"\xff\xfe"),
    *(b'{"amount": NaN}', b"[" * 60_000, b'{"a": ' + b"9" * 5000 + b"}"),
    b'{"a":' * 101 + b"1" + b"}" * 101,
]


@pytest.mark.parametrize("body", MALFORMED, ids=range(len(MALFORMED)))
async def test_a_body_that_is_no_json_object_is_refused(
    service: WebhookSender, body: bytes
) -> None:
    assert await service.send(body) == 400
    assert service.nothing_happened()


@pytest.mark.parametrize(
    "fields",
    [
        {"paymentRequestId": "f" * 24},
        {"paymentRequestId": None},
        {"paymentRequestId": 5},
        {"transactionId": None},
        {"transactionId": ""},
        {"transactionId": 7},
        {"transactionId": "x" * 201},
        {"transactionId": "a\x00b"},
        {"transactionId": "a\ud800"},
    ],
    ids=str,
)
async def test_a_signed_body_without_valid_ids_is_400_and_nothing_is_stored(
    service: WebhookSender, fields: dict[str, Any]
) -> None:
    assert await service.send_signed(PAID | fields) == 400
    assert service.nothing_happened()


@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [
        (Decimal("0.3"), "USD", 30),
        (Decimal("0.00000001"), "BSV", 1),
        (Decimal("1e-8"), "BSV", 1),
        (Decimal("999999999.99999999"), "BTC", 99_999_999_999_999_999),
        (Decimal(1_000_000_000), "BSV", 100_000_000_000_000_000),
        (1_000_000_000, "JPY", 1_000_000_000),
        (Decimal("5.000"), "USD", 500),
    ],
)
async def test_amounts_of_any_size_are_kept_exact(
    service: WebhookSender, chat: ChatHarness, *, amount: Decimal, currency: str, minor: int
) -> None:
    assert await service.send_signed(PAID | {"amount": amount, "currencyCode": currency}) == 200
    (row,) = chat.rows("received_payments")
    assert (row["amount"], row["currency"]) == (minor, currency)


@pytest.mark.parametrize(
    "user_data",
    [
        {"email": "<b>&\x00", "odd": [1, {"deep": None}]},
        {"name": "half a character \ud83d"},
        {str(number): "x" * 500 for number in range(60)},
        "no object",
        None,
    ],
    ids=range(5),
)
async def test_any_user_data_of_the_payer_is_accepted(
    service: WebhookSender, chat: ChatHarness, user_data: Any
) -> None:
    assert await service.send_signed(PAID | {"userData": user_data}) == 200
    assert len(chat.said) == 1


@pytest.mark.parametrize(("left", "known"), [(0, 0), (2, 2), ("2", 2), (None, 2), (True, 2)])
async def test_the_units_left_are_the_services_else_counted(
    service: WebhookSender, chat: ChatHarness, link: PaymentLink, left: Any, known: int
) -> None:
    assert await service.send_signed(PAID | {"remainingUnits": left}) == 200
    kept = chat.link(link.id).answer
    assert kept is not None
    assert kept.remaining_units == known


async def test_a_webhook_before_the_answer_to_create_is_accepted(
    chat: ChatHarness, sam: Person
) -> None:
    async with client(serve(chat, SECRET)) as http:
        early = WebhookSender(chat, http, chat.add_link(sam, COFFEE))
        assert await early.send_signed(PAID) == 200
    assert len(chat.said) == 1


async def test_a_body_above_64_kib_is_413_and_one_below_is_not(service: WebhookSender) -> None:
    for large in (b" " * (64 * 1024 + 1), b"[" * 100_000):
        assert await service.send(large) == 413
    assert await service.send(b" " * (64 * 1024)) == 400
    assert service.nothing_happened()


async def test_a_body_that_breaks_off_is_a_line_in_the_log_and_nothing_is_stored(
    chat: ChatHarness, link: PaymentLink
) -> None:
    head = f"POST {PATH}/{link.token} HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n"
    with capture_logs() as logs:
        async with serve_asgi(serve(chat, SECRET)) as root:
            _, writer = await asyncio.open_connection("127.0.0.1", int(root.rpartition(":")[2]))
            writer.write(head.encode() + b'{"paymentRequestId"')
            writer.close()
            await writer.wait_closed()
            async with httpx.AsyncClient(base_url=root) as http:  # taken up after it
                assert (await http.post(f"{PATH}/unknown", json=PAID)).status_code == 401
    reasons = [line["reason"] for line in logs]
    assert (len(reasons), reasons[0]) == (2, "The body broke off.")
    assert (chat.rows("received_payments"), chat.said) == ([], [])


async def test_a_body_that_stalls_is_refused_and_nothing_is_stored(
    service: WebhookSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_body, "BODY_SECONDS", 0.01)
    assert (await service.http.post(service.path, content=endless_body())).status_code == 400
    assert service.nothing_happened()


ODD = "reported an amount that can't be right"
SAYS = "The payment service says {} was paid, but the price is $2.50."
ODD_AMOUNTS: list[tuple[dict[str, Any], tuple[int, str], str | None]] = [
    ({}, (250, "USD"), None),
    ({"amount": None, "currencyCode": None}, (250, "USD"), None),
    ({"amount": Decimal("2.5"), "currencyCode": None}, (250, "USD"), None),
    ({"amount": "2.50"}, (250, "USD"), None),
    ({"amount": 4}, (400, "USD"), SAYS.format("$4.00")),
    ({"amount": "4"}, (400, "USD"), SAYS.format("$4.00")),
    ({"amount": 3, "currencyCode": "EUR"}, (300, "EUR"), SAYS.format("€3.00")),
    ({"amount": 0}, (0, "USD"), SAYS.format("0 USD")),
    ({"amount": Decimal("-0.0"), "currencyCode": "DUR"}, (0, "USD"), SAYS.format("-0.0 DUR")),
    ({"amount": -5}, (0, "USD"), SAYS.format("-5 USD")),
    ({"amount": Decimal("2.501")}, (250, "USD"), ODD),
    ({"amount": Decimal("1E+999999")}, (250, "USD"), ODD),
    ({"amount": Decimal("1E-999999")}, (250, "USD"), ODD),
    ({"amount": 1_000_000_001}, (250, "USD"), ODD),
    ({"amount": 9**999}, (250, "USD"), ODD),
    ({"amount": "a <b>lot</b>"}, (250, "USD"), "be right: a &lt;b&gt;lot&lt;/b&gt; USD."),
    ({"amount": "\ud800"}, (250, "USD"), ODD),
    ({"amount": "9" * 5000}, (250, "USD"), ODD),
    ({"amount": True}, (250, "USD"), ODD),
    ({"amount": [2.5]}, (250, "USD"), ODD),
    ({"amount": {"value": 2}}, (250, "USD"), ODD),
    ({"amount": 7, "currencyCode": "DUR"}, (250, "USD"), "be right: 7 DUR."),
    ({"amount": 7, "currencyCode": ["USD"]}, (250, "USD"), ODD),
]


@pytest.mark.parametrize(("fields", "counts", "word"), ODD_AMOUNTS, ids=range(len(ODD_AMOUNTS)))
async def test_a_payment_with_any_amount_has_an_alert(
    service: WebhookSender,
    chat: ChatHarness,
    *,
    fields: dict[str, Any],
    counts: tuple[int, str],
    word: str | None,
) -> None:
    """An amount in an unknown format must not lose the payment or spoil the sum."""
    assert await service.send_signed(PAID | fields) == 200
    (row,) = chat.rows("received_payments")
    (sum_,) = chat.db.run(lambda tx: payment_rows.revenue_totals(tx, row["listing_id"])).earned
    assert (row["amount"], row["currency"]) == counts == sum_
    (text,) = chat.texts
    assert (word or "received for") in text
    assert ("⚠️" in text) == (word is not None)


async def test_odd_amounts_need_the_same_proof(
    service: WebhookSender, handcash: WebhookSender
) -> None:
    for fields, _, _ in ODD_AMOUNTS:
        body = exact_json.dumps(PAID | fields).encode()
        assert await service.send(body) == 401
        assert await handcash.send(body) == 401
    assert service.nothing_happened()


@pytest.mark.parametrize("left", [-1, 4, 10**30])
async def test_an_impossible_number_of_units_is_counted_instead(
    service: WebhookSender, chat: ChatHarness, link: PaymentLink, left: int
) -> None:
    assert await service.send_signed(PAID | {"remainingUnits": left}) == 200
    kept = chat.link(link.id).answer
    assert kept is not None
    assert kept.remaining_units == 2


async def test_a_request_without_units_shows_none_left(chat: ChatHarness, sam: Person) -> None:
    async with client(serve(chat, SECRET)) as http:
        donation = chat.add_link(sam, COFFEE, service_answer())
        assert (
            await WebhookSender(chat, http, donation).send_signed(PAID | {"remainingUnits": 0})
            == 200
        )
    kept = chat.link(donation.id).answer
    assert kept is not None
    assert kept.remaining_units is None
    assert "left" not in chat.texts[0]
    assert "SOLD OUT" not in chat.texts[0]


async def test_an_amount_that_is_no_number_is_shown_as_the_price(
    service: WebhookSender, chat: ChatHarness
) -> None:
    assert await service.send_signed(PAID | {"amount": True}) == 200
    assert chat.rows("received_payments")[0]["amount"] == 250
