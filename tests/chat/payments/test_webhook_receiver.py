"""Webhooks in: proved, recorded, then answered; each payment told once, nothing else stored."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from bot.chat.model.request_spec import RequestSpec
from bot.chat.payments.webhook import PATH
from bot.chat.store import payment_rows
from bot.chat.store.link_rows import PaymentLink
from bot.core import exact_json, signing
from bot.core.net import request_body
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import ALERT
from bot.interface.vocabulary import WebhookEvent
from bot.sandbox.world.people import Person
from tests.support.asgi_server import serve_asgi
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer
from tests.support.raw_http import endless_body
from tests.support.service_harness import client
from tests.support.webhook_sender import APP_SECRET, HANDCASH, PAID, SECRET, WebhookSender, serve


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


async def test_an_unknown_address_is_404_to_a_server_with_a_proof(service: WebhookSender) -> None:
    for token in ("unknown", "x" * 5000, "%00", "%ff", "'; DROP TABLE listings"):
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


async def test_a_body_that_is_no_json_object_is_refused(service: WebhookSender) -> None:
    assert [await service.send(body) for body in MALFORMED] == [400] * len(MALFORMED)
    assert service.nothing_happened()


async def test_a_signed_body_without_valid_ids_is_400_and_nothing_is_stored(
    service: WebhookSender,
) -> None:
    wrong = [{"paymentRequestId": one} for one in ("f" * 24, None, 5)]
    wrong += [{"transactionId": one} for one in (None, "", 7, "x" * 201, "a\x00b", "a\ud800")]
    assert [await service.send_signed(PAID | one) for one in wrong] == [400] * len(wrong)
    assert service.nothing_happened()


async def test_a_body_that_is_refused_is_answered_with_its_first_wrong_field(
    service: WebhookSender,
) -> None:
    wrong = PAID | {"paymentRequestId": None, "transactionId": None}
    answer = await service.post_signed(wrong)
    assert answer.json()["message"] == "transactionId is missing or not valid."


EXACT: list[tuple[Decimal | int, str, int]] = [
    (Decimal("0.3"), "USD", 30),
    (Decimal("0.00000001"), "BSV", 1),
    (Decimal("1e-8"), "BSV", 1),
    (Decimal("999999999.99999999"), "BTC", 99_999_999_999_999_999),
    (Decimal(1_000_000_000), "BSV", 100_000_000_000_000_000),
    (1_000_000_000, "JPY", 1_000_000_000),
    (Decimal("5.000"), "USD", 500),
]


def stored_amounts(chat: ChatHarness) -> dict[str, tuple[int, str]]:
    """Return the amount of each payment by its transaction."""
    rows = chat.rows("received_payments")
    return {row["transaction_id"]: (row["amount"], row["currency"]) for row in rows}


async def test_amounts_of_any_size_are_kept_exact(
    service: WebhookSender, chat: ChatHarness
) -> None:
    for number, (amount, currency, _) in enumerate(EXACT):
        paid = {"transactionId": f"t{number}", "amount": amount, "currencyCode": currency}
        assert await service.send_signed(PAID | paid) == 200
    expected = {f"t{number}": (minor, code) for number, (_, code, minor) in enumerate(EXACT)}
    assert stored_amounts(chat) == expected


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


@pytest.mark.parametrize(
    ("left", "known"), [(0, 0), (2, 2), *((odd, 2) for odd in ("2", None, True, -1, 4, 10**30))]
)
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


async def test_a_payment_with_any_amount_has_an_alert(
    service: WebhookSender, chat: ChatHarness, link: PaymentLink
) -> None:
    """An amount in an unknown format must not lose the payment or spoil the sum."""
    sums: Counter[str] = Counter()
    for number, (fields, (minor, currency), word) in enumerate(ODD_AMOUNTS):
        assert await service.send_signed(PAID | fields | {"transactionId": f"t{number}"}) == 200
        sums[currency] += minor
        text = chat.texts[-1]
        assert (word or "received for") in text, fields
        assert ("⚠️" in text) == (word is not None), fields
    expected = {f"t{number}": counts for number, (_, counts, _) in enumerate(ODD_AMOUNTS)}
    assert stored_amounts(chat) == expected
    earned = chat.db.run(lambda tx: payment_rows.revenue_totals(tx, link.id)).earned
    assert {code: minor for minor, code in earned} == sums


async def test_odd_amounts_need_the_same_proof(
    service: WebhookSender, handcash: WebhookSender
) -> None:
    for fields, _, _ in ODD_AMOUNTS:
        body = exact_json.dumps(PAID | fields).encode()
        assert await service.send(body) == 401
        assert await handcash.send(body) == 401
    assert service.nothing_happened()


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


# Webhooks as HandCash sends them: proven by the application's secret in the body.


WRONG: list[Any] = [
    *(None, "", "x", APP_SECRET[:-1], APP_SECRET + "x", APP_SECRET.upper(), 5, True, [], {}),
    *("schlüssel", "half \ud800", [APP_SECRET]),
]


async def test_handcash_is_authenticated_by_the_applications_secret_in_the_body(
    handcash: WebhookSender, chat: ChatHarness
) -> None:
    """It sends no amount: the alert shows the price of the request."""
    assert await handcash.send(json.dumps(HANDCASH).encode()) == 200
    (row,) = chat.rows("received_payments")
    assert (row["amount"], row["currency"]) == (250, "USD")
    (text,) = chat.texts
    assert "$2.50" in text


async def test_handcashs_proof_is_enough_for_odd_amounts(
    handcash: WebhookSender, chat: ChatHarness
) -> None:
    body = HANDCASH | {"amount": 0, "currencyCode": "BSV"}
    assert await handcash.send(json.dumps(body).encode()) == 200
    (text,) = chat.texts
    assert "The payment service says 0 BSV was paid, but the price is $2.50." in text


async def test_handcash_without_the_right_secret_is_401_and_nothing_is_stored(
    handcash: WebhookSender,
) -> None:
    for told in WRONG:
        body = json.dumps(HANDCASH | {"appSecret": told}).encode()
        assert await handcash.send(body) == 401, told
    assert handcash.nothing_happened()


async def test_without_a_signing_secret_a_signature_counts_for_nothing(
    handcash: WebhookSender,
) -> None:
    """The signature could not be verified."""
    assert await handcash.send_signed(PAID) == 401
    assert handcash.nothing_happened()


async def test_the_applications_secret_is_never_kept_nor_logged(
    handcash: WebhookSender, chat: ChatHarness
) -> None:
    sent = (
        HANDCASH, HANDCASH | {"appSecret": "a-wrong-secret"}, HANDCASH | {"transactionId": 5},
    )  # fmt: skip
    with capture_logs() as logs:
        for body in sent:
            await handcash.send(json.dumps(body).encode())
    assert [line["event"] for line in logs] == [
        *("payment received", "webhook refused", "webhook refused"),
    ]
    kept = f"{logs} {chat.rows('received_payments')} {chat.rows('outbox')}"
    assert APP_SECRET not in kept
    assert "a-wrong-secret" not in kept


async def test_an_alert_shows_the_price_of_a_currency_without_decimals(
    chat: ChatHarness, sam: Person
) -> None:
    spec = RequestSpec("donation", "Tea", None, 500, "JPY", None, "$anna")
    async with client(serve(chat, None)) as http:
        handcash = WebhookSender(chat, http, chat.add_link(sam, spec, service_answer()))
        assert await handcash.send(json.dumps(HANDCASH).encode()) == 200
    assert "¥500" in chat.texts[0]
