"""The reconciler at servers that say less than ours, or nothing: units gone, payments counted."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from structlog.testing import capture_logs

from bot.chat.model.request_spec import RequestSpec
from bot.chat.payments.client import Client
from bot.chat.payments.reconciler import Reconciler
from bot.chat.payments.request_bodies import Addresses, request_body
from bot.chat.payments.webhook import PATH, Proof, Receiver
from bot.chat.store import link_rows
from bot.chat.store.link_rows import DELETED, FAILED, LIVE, STOPPED
from bot.chat.store.payment_rows import Payment
from bot.sandbox.world.people import Person
from tests.support.asgi_server import serve_asgi
from tests.support.chat_harness import (
    COFFEE,
    DROP,
    PAINTING,
    REQUEST_ID,
    ChatHarness,
    service_answer,
)
from tests.support.handcash_server import handcash
from tests.support.http_peers import ScriptedServer, http_response
from tests.support.reconciler_service import RecordedSleep, alerts, item, looks, units
from tests.support.webhook_sender import HELD, record_claim


async def test_webhooks_that_arrive_meanwhile_count(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """Of three units gone a minute ago two have had webhooks since, and one more is sold."""
    link = chat.add_link(sam, DROP, service_answer())
    assert await looks(chat, looking, peer, item(link, **units(2))) == 0
    for name in ("t1", "t2"):
        payment = Payment(REQUEST_ID, name, 250, "USD", {})
        assert await chat.record(link, payment, None)
    assert await looks(chat, looking, peer, item(link, **units(1))) == 1
    assert [alert.found for alert in alerts(chat)] == [False, False, True]


async def test_a_late_webhook_replaces_a_placeholder_as_possibly_repeated(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    link = chat.add_link(sam, DROP, service_answer())
    gone = item(link, **units(4))
    assert [await looks(chat, looking, peer, gone) for _ in range(2)] == [0, 1]
    late = Payment(REQUEST_ID, "t1", 250, "USD", {})
    await chat.record(link, late, 4)
    assert [await looks(chat, looking, peer, gone) for _ in range(2)] == [0, 0]
    assert [alert.repeated for alert in alerts(chat)] == [False, True]
    assert [row["transaction_id"] for row in chat.rows("received_payments")] == ["t1"]


async def test_handcashs_late_webhook_records_no_second_payment(
    chat: ChatHarness, sam: Person, recorded_sleep: RecordedSleep
) -> None:
    """It names only the transaction, so its alert says "possibly repeated"."""
    app = FastAPI()
    secret = "the application's own"
    receiver = Receiver(chat.db, chat.recorder, HELD, Proof(secret, None), chat.clock)
    app.include_router(receiver.router())
    link = chat.add_link(sam, DROP)
    async with (
        handcash(app_secret=secret, now=lambda: chat.clock() / 1000) as server,
        serve_asgi(app) as root,
    ):
        client = Client(server.url, server.app_id, secret)
        body = request_body(link, Addresses(f"{root}{PATH}", root), "BSV", chat.clock())
        made = await client.create(body, link.id)
        chat.db.run(lambda tx: link_rows.set_answer(tx, link.id, made))
        chat.db.run(lambda tx: link_rows.set_state(tx, link.id, LIVE))
        looking = Reconciler(chat.db, client, chat.recorder, chat.clock, recorded_sleep)
        transaction = await server.pay(made.id, hook=False)
        for found in (0, 1, 0):
            assert await looking.compare() == found
            chat.clock.advance(60)
        assert await server.send(made.id, server.hook(transaction)) == 200
        for _ in range(2):
            assert await looking.compare() == 0
            chat.clock.advance(60)
        await client.close()
    assert [(one.found, one.repeated) for one in alerts(chat)] == [
        (True, False),
        (False, True),
    ]
    assert chat.link(link.id).paid_count == 1


async def test_a_listed_payments_own_amount_counts_else_the_price(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """The units left are counted: more may have been sold since the server was asked."""
    link = chat.add_link(sam, DROP, service_answer())
    listed = [
        {"transactionId": "t2", "settlement": "oversold", "amount": 3, "currencyCode": "EUR"},
        {"transactionId": "t1", "amount": 3, "currencyCode": "DUCATS"},
    ]
    counted = item(link, paymentsCount=2, **units(0))
    await peer.add_answers(
        http_response(200, {"items": [counted]}), http_response(200, {"items": listed})
    )
    assert await looking.compare() == 2
    assert [
        (one.amount, one.currency, one.remaining_units, one.oversold) for one in alerts(chat)
    ] == [(250, "USD", 4, False), (300, "EUR", 3, True)]


@pytest.mark.parametrize("closed", [{}, {"status": "completed"}])
async def test_a_one_off_that_is_closed_for_no_other_reason_was_paid(
    chat: ChatHarness,
    looking: Reconciler,
    peer: ScriptedServer,
    sam: Person,
    closed: dict[str, Any],
) -> None:
    link = chat.add_link(sam, PAINTING, service_answer())
    gone = item(link, isEnabled=False, **closed)
    assert [await looks(chat, looking, peer, gone) for _ in range(3)] == [0, 1, 0]
    assert [alert.amount for alert in alerts(chat)] == [12_000]


async def test_payments_that_are_counted_but_not_listed_are_recorded_by_their_number(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """The server sends a count and has no list of payments; it works for donations too."""
    link = chat.add_link(sam, COFFEE, service_answer())
    for status, found in ((404, 0), (405, 2)):
        chat.clock.advance(61)
        await peer.add_answers(
            http_response(200, {"items": [item(link, paymentsCount=2)]}), http_response(status)
        )
        assert await looking.compare() == found
    assert [alert.amount for alert in alerts(chat)] == [500, 500]


async def test_a_payment_dated_in_the_future_is_found_when_its_time_has_come(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """The payment is listed, so no gap is logged."""
    link = chat.add_link(sam, COFFEE, service_answer())
    paid = {"transactionId": "t1", "completedAt": (chat.clock() + 10_000) // 1000}
    counted = http_response(200, {"items": [item(link, paymentsCount=1)]})
    with capture_logs() as logs:
        for waited, found in ((0, 0), (60, 1)):
            chat.clock.advance(waited)
            await peer.add_answers(counted, http_response(200, {"items": [paid]}))
            assert await looking.compare() == found
    assert [line["log_level"] for line in logs] == ["debug", "info"]


async def test_real_money_is_found_with_its_rail_and_underpaid_money_is_no_missing_sale(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """Of a claim whose payment's webhook was lost, nothing is left to ask."""
    link = chat.add_link(sam, DROP, service_answer())
    await record_claim(chat, link, "R1")
    at = "2027-01-15T07:00:00Z"
    by = {"kind": "bank", "amount": 1, "currencyCode": "USD", "reference": "R1"}
    short = {"transactionId": "t2", "settlement": "underpaid", "paidBy": by}
    whole = {"transactionId": "t1", "checkoutId": "c1", "paidBy": by | {"amount": 2.5}}
    price = {"amount": 2.5, "currencyCode": "USD", "completedAt": at}
    await peer.add_answers(
        http_response(200, {"items": [item(link, paymentsCount=1, **units(4))]}),
        http_response(200, {"items": [short | price, whole | price]}),
    )
    assert await looking.compare() == 2
    found = {one.transaction_id: one for one in alerts(chat)}
    assert (found["t1"].amount, found["t1"].underpaid) == (250, False)
    assert (found["t2"].amount, found["t2"].underpaid, found["t2"].price) == (
        100,
        True,
        (250, "USD"),
    )
    assert chat.link(link.id).paid_count == 1
    assert chat.rows("claims")[0]["state"] == "paid"


async def test_underpaid_money_that_became_a_sale_is_found_again(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """The webhook of its confirmation was lost."""
    link = chat.add_link(sam, DROP, service_answer())
    short = Payment(REQUEST_ID, "t1", 100, "USD", {}, underpaid=True)
    assert await chat.record(link, short, None)
    by = {"kind": "bank", "amount": 1, "currencyCode": "USD", "reference": "R1"}
    price = {"amount": 2.5, "currencyCode": "USD", "completedAt": "2027-01-15T07:00:00Z"}
    await peer.add_answers(
        http_response(200, {"items": [item(link, paymentsCount=1, **units(4))]}),
        http_response(200, {"items": [{"transactionId": "t1", "paidBy": by} | price]}),
    )
    assert await looking.compare() == 1
    (row,) = chat.rows("received_payments")
    assert (row["amount"], row["underpaid"]) == (250, 0)
    assert chat.link(link.id).paid_count == 1


# Doubles: requests that a server has twice are deleted, but one that was paid is not.


OTHER = "f" * 24


@pytest.mark.parametrize("state", [LIVE, STOPPED, DELETED])
async def test_a_double_request_is_deleted(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person, state: str
) -> None:
    """It is deleted in every state of the link: nobody has its link."""
    link = chat.add_link(sam, DROP, service_answer(), state=state)
    await peer.add_answers(
        http_response(200, {"items": [item(link), item(link, OTHER)]}), http_response(200)
    )
    await looking.compare()
    assert [(call.method, call.path) for call in peer.calls[1:]] == [
        ("DELETE", f"/v3/paymentRequests/{OTHER}")
    ]


async def test_a_request_of_a_failed_create_is_deleted(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    link = chat.add_link(sam, state=FAILED)
    await peer.add_answers(http_response(200, {"items": [item(link)]}), http_response(404))
    await looking.compare()
    assert [call.method for call in peer.calls] == ["GET", "DELETE"]


async def test_doubles_are_left_alone_while_the_create_job_is_at_work(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    link = chat.add_link(sam, COFFEE)
    both = item(link), item(link, OTHER, paymentsCount=1)
    assert await looks(chat, looking, peer, *both) == 0
    assert len(peer.calls) == 1


async def test_a_deleted_links_own_request_is_not_touched(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """A server that has it counted as having lost it; its link may be in use."""
    link = chat.add_link(sam, COFFEE, service_answer(), state=DELETED)
    await looks(chat, looking, peer, item(link))
    assert len(peer.calls) == 1


PAID_TWICE: list[tuple[RequestSpec, dict[str, Any]]] = [
    (COFFEE, {"paymentsCount": 1}),
    (DROP, units(4)),
    (PAINTING, {"isEnabled": False}),
]


@pytest.mark.parametrize("case", PAID_TWICE, ids=range(3))
async def test_a_paid_double_is_left_to_the_operator(
    chat: ChatHarness,
    looking: Reconciler,
    peer: ScriptedServer,
    sam: Person,
    case: tuple[RequestSpec, dict[str, Any]],
) -> None:
    """It is logged once, not at each comparison."""
    spec, fields = case
    link = chat.add_link(sam, spec, service_answer())
    with capture_logs() as logs:
        for _ in range(2):
            await looks(chat, looking, peer, item(link, OTHER, **fields))
    assert [call.method for call in peer.calls] == ["GET", "GET"]
    said = [(line["listing"], line["request"]) for line in logs if line["log_level"] == "error"]
    assert said == [(link.id, OTHER)]
    assert alerts(chat) == []
