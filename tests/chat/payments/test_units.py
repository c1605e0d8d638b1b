"""Payments of several units: stock, sums and the end of a drop count units, lists payments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.chat.model.payloads import Alert
from bot.chat.model.remote_request import read_payment
from bot.chat.model.request_spec import RequestSpec
from bot.chat.payments.reconciler import count_sold
from bot.chat.payments.recording import payment_of
from bot.chat.store.link_rows import LIVE, STOPPED, PaymentLink
from bot.chat.store.payment_rows import Payment, revenue_totals
from bot.core.database.database import Transaction
from bot.sandbox.world.people import Person
from tests.support.chat_harness import (
    COFFEE,
    DROP,
    PAINTING,
    REQUEST_ID,
    STICKERS,
    ChatHarness,
    service_answer,
    text_of,
)
from tests.support.service_harness import NOON
from tests.support.service_harness import client as http_client
from tests.support.webhook_sender import PAID, SECRET, WebhookSender, serve

THREE = PAID | {"quantity": 3, "amount": 7.50, "remainingUnits": 2}


@pytest.fixture
def drop(chat: ChatHarness, sam: Person) -> PaymentLink:
    spec = replace(DROP, max_quantity=3)
    return chat.add_link(sam, spec, service_answer(total_units=5, remaining_units=5))


async def send(chat: ChatHarness, link: PaymentLink, body: dict[str, Any]) -> None:
    """Send a signed webhook."""
    async with http_client(serve(chat, SECRET)) as http:
        assert await WebhookSender(chat, http, link).send_signed(body) == 200


async def test_a_payment_of_three_is_one_payment_of_three_units(
    chat: ChatHarness, drop: PaymentLink
) -> None:
    await send(chat, drop, THREE)
    known = chat.link(drop.id)
    assert (known.paid_count, known.units_sold, known.left) == (1, 3, 2)
    sums = chat.db.run(lambda tx: revenue_totals(tx, drop.id))
    assert (sums.earned, sums.earned_count, sums.units_sold) == (((750, "USD"),), 1, 3)
    (text,) = chat.texts
    assert text.split("\n")[0] == "💰 <b>$7.50</b> received for <b>3 × Stickers</b>"
    assert "2 of 5 left" in text
    assert "⚠️" not in text


async def test_an_amount_other_than_that_of_all_units_is_remarked(
    chat: ChatHarness, drop: PaymentLink
) -> None:
    await send(chat, drop, THREE | {"amount": 2.50})
    assert "the price is $7.50" in chat.texts[0]


@pytest.mark.parametrize("quantity", [0, -1, 1001, True, "3", 2.5, None])
async def test_an_impossible_quantity_counts_as_one(
    chat: ChatHarness, drop: PaymentLink, quantity: object
) -> None:
    await send(chat, drop, PAID | {"quantity": quantity})
    assert chat.link(drop.id).units_sold == 1


async def test_units_that_are_recorded_are_no_lost_payments(
    chat: ChatHarness, drop: PaymentLink
) -> None:
    """By the units of a server that counts no payments, and by one that counts them."""
    await send(chat, drop, THREE)
    known = chat.link(drop.id)
    gone = service_answer(total_units=5, remaining_units=2)
    assert count_sold(gone, known, chat.clock()) == known.units_sold
    assert count_sold(replace(gone, paid_count=1), known, chat.clock()) == known.units_sold
    assert count_sold(replace(gone, paid_count=2), known, chat.clock()) == known.units_sold + 1


async def test_a_late_webhook_takes_the_place_of_a_placeholder_for_each_unit(
    chat: ChatHarness, drop: PaymentLink
) -> None:
    assert await chat.record_missing(drop.id, 0, 4) == 4
    await send(chat, drop, THREE)
    known = chat.link(drop.id)
    assert (known.paid_count, known.units_sold) == (2, 4)
    sums = chat.db.run(lambda tx: revenue_totals(tx, drop.id))
    assert (sums.earned, sums.earned_count) == (((1000, "USD"),), 2)


async def test_a_drop_ends_with_its_last_unit(chat: ChatHarness, sam: Person) -> None:
    told = service_answer(total_units=3, remaining_units=3)
    link = chat.add_link(sam, STICKERS, told)
    chat.db.run(lambda tx: tx.execute("UPDATE listings SET alerts = 'off'") and None)

    def record(tx: Transaction) -> None:
        for number, units in enumerate((1, 2)):
            paid = Payment(REQUEST_ID, f"t{number}", 250 * units, "USD", {}, quantity=units)
            chat.recorder.record(tx, link.id, paid, None)

    chat.db.run(record)
    (end,) = [text for text in chat.texts if "🏁" in text]
    assert end == (
        "🏁 <b>Stickers</b>\nSold out: all 3 sold.\n2 payments came in while alerts were off."
    )


async def test_a_digest_counts_payments_and_units(chat: ChatHarness, drop: PaymentLink) -> None:
    await send(chat, drop, THREE)
    await send(chat, drop, PAID | {"transactionId": "t2", "remainingUnits": 1})
    payments = tuple(one.payments[0] for one in chat.said)
    text = text_of(chat.db, Alert(payments, "en"), chat.clock())
    assert text.startswith("💰 <b>$10.00</b> received for <b>4 × Stickers</b>: 2 payments\n")
    assert "3 items" in text


async def test_buyers_who_wait_for_codes_are_in_the_alert(
    chat: ChatHarness, drop: PaymentLink
) -> None:
    await send(chat, drop, PAID | {"codesWaiting": 1})
    (alert,) = chat.worded
    assert "1 buyer is waiting: send one code." in alert.text
    buttons = [one for row in alert.keyboard["inline_keyboard"] for one in row]
    assert f"codes:{drop.id}" in [one["callback_data"] for one in buttons]


def test_the_list_of_the_service_says_quantity_and_words() -> None:
    paid = read_payment(
        {"transactionId": "t1", "quantity": 2, "name": " Mia ", "message": "\u200b", "amount": 5}
    )
    assert (paid.quantity, paid.words.name, paid.words.message) == (2, "Mia", None)


def test_units_without_an_amount_are_counted_at_their_price(drop: PaymentLink) -> None:
    for sent in ({}, {"amount": "much"}):
        paid = read_payment({"transactionId": "t1", "quantity": 3} | sent)
        assert payment_of(paid, REQUEST_ID, drop).amount == 3 * drop.spec.amount


# How many units were sold, from what servers of every kind say: never more than is sure.


def link(spec: RequestSpec, state: str = LIVE) -> PaymentLink:
    return PaymentLink("abc", 1, 1, "token", state, spec, None, None, 0, NOON)


@pytest.mark.parametrize(
    ("spec", "fields", "number"),
    [
        (COFFEE, {}, 0),
        (COFFEE, {"is_enabled": False}, 0),
        (COFFEE, {"paid_count": 7}, 7),
        (STICKERS, {"paid_count": 4, "total_units": 3, "remaining_units": 0}, 4),
        (STICKERS, {"paid_count": 0, "total_units": 3, "remaining_units": 1}, 0),
        (STICKERS, {"total_units": 3, "remaining_units": 1}, 2),
        (STICKERS, {"total_units": 3, "remaining_units": 1, "reserved_units": 1}, 1),
        (STICKERS, {"total_units": 3, "remaining_units": 1, "reserved_units": 5}, 0),
        (STICKERS, {"total_units": 3, "remaining_units": 5}, 0),
        (STICKERS, {"remaining_units": 1}, 2),
        (replace(STICKERS, units=2), {"total_units": 3, "remaining_units": 1}, 1),
        (replace(STICKERS, units=2), {"total_units": 2, "remaining_units": 1}, 1),
        (STICKERS, {"total_units": 3}, 0),
        (STICKERS, {"is_enabled": False}, 0),
        (PAINTING, {}, 0),
        (PAINTING, {"is_enabled": False}, 1),
        (PAINTING, {"is_enabled": False, "expires_at": NOON + 1}, 1),
        (PAINTING, {"is_enabled": False, "expires_at": NOON}, 0),
        (PAINTING, {"is_enabled": False, "enabled_at": NOON}, 1),
        (PAINTING, {"is_enabled": False, "enabled_at": NOON + 1}, 0),
        (PAINTING, {"is_enabled": False, "paid_count": 0}, 0),
        (PAINTING, {"is_enabled": False, "status": "completed", "expires_at": NOON}, 1),
        (PAINTING, {"is_enabled": False, "status": "soldOut"}, 1),
        (PAINTING, {"is_enabled": False, "status": "active"}, 0),
        (PAINTING, {"is_enabled": False, "status": "expired"}, 0),
        (PAINTING, {"is_enabled": True, "status": "completed"}, 0),
    ],
)
def test_sold_units_are_counted_from_the_servers_answer(
    spec: RequestSpec, fields: dict[str, Any], number: int
) -> None:
    """By its count, else by units gone and not reserved, else by the reason why it is closed.

    Units that were taken out are off the spec, and off the total of some servers.
    """
    assert count_sold(service_answer(**fields), link(spec), NOON) == number


def test_a_stopped_one_off_does_not_count_as_paid() -> None:
    closed = service_answer(is_enabled=False)
    assert count_sold(closed, link(PAINTING, STOPPED), NOON) == 0
    assert count_sold(service_answer(paid_count=1), link(PAINTING, STOPPED), NOON) == 1
