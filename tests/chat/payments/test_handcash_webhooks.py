"""Webhooks as HandCash sends them: proven by the application's secret in the body."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from bot.chat.model.request_spec import RequestSpec
from tests.support.chat_harness import ChatHarness, service_answer
from tests.support.service_harness import client
from tests.support.webhook_sender import APP_SECRET, HANDCASH, PAID, WebhookSender, serve

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


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


@pytest.mark.parametrize("told", WRONG, ids=range(len(WRONG)))
async def test_handcash_without_the_right_secret_is_401_and_nothing_is_stored(
    handcash: WebhookSender, told: Any
) -> None:
    assert await handcash.send(json.dumps(HANDCASH | {"appSecret": told}).encode()) == 401
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
