"""The reconciler at servers that say less than ours, or nothing: units, doubles, failures."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from fastapi import FastAPI
from structlog.testing import capture_logs

from bot.chat.payments import reconciler
from bot.chat.payments.claim_recording import ClaimedMoney, ClaimRecorder
from bot.chat.payments.reconciler import FIRST_WAIT, INTERVAL, LEAST_REST, RETRIES, Reconciler
from bot.chat.payments.webhook import PATH, Proof, Receiver
from bot.chat.provider.client import Client
from bot.chat.requests.request_bodies import Addresses, request_body
from bot.chat.store import listings
from bot.chat.store.listings import DELETED, FAILED, LIVE, STOPPED
from bot.chat.store.received_payments import Payment
from bot.core import errors
from tests.support.asgi_server import serve_asgi
from tests.support.bare_requests import item, units
from tests.support.chat_harness import COFFEE, DROP, PAINTING, REQUEST_ID, service_answer
from tests.support.handcash_server import handcash
from tests.support.http_messages import http_response
from tests.support.reconciler_service import RecordedSleep, alerts
from tests.support.scripted_server import CUT
from tests.support.webhook_sender import HELD

if TYPE_CHECKING:
    from bot.chat.model.wish import Wish
    from bot.sandbox.world.people import Person
    from tests.support.chat_harness import ChatHarness
    from tests.support.scripted_server import ScriptedServer

BACKOFF = [delay / 1000 for delay in RETRIES.delays]


@pytest.fixture
def looking(chat: ChatHarness, client: Client, recorded_sleep: RecordedSleep) -> Reconciler:
    return Reconciler(chat.db, client, chat.recorder, chat.clock, recorded_sleep)


async def looks(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, *items: dict[str, Any]
) -> int:
    """Compare with a server that has these requests, a minute after the comparison before."""
    chat.clock.advance(61)
    await peer.add_answers(http_response(200, {"items": list(items)}))
    return await looking.compare()


async def test_units_that_stay_gone_for_a_minute_were_sold(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """The alerts show the price, marked as found later, and no payer."""
    listing = chat.add_listing(sam, DROP, service_answer())
    gone = item(listing, **units(3))
    assert [await looks(chat, looking, peer, gone) for _ in range(3)] == [0, 2, 0]
    told_now = [(one.amount, one.payer, one.found) for one in alerts(chat)]
    assert told_now == [(250, {}, True)] * 2
    assert chat.listing(listing.id).paid_count == 2


async def test_webhooks_that_arrive_meanwhile_count(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """Of three units gone a minute ago two have had webhooks since, and one more is sold."""
    listing = chat.add_listing(sam, DROP, service_answer())
    assert await looks(chat, looking, peer, item(listing, **units(2))) == 0
    for name in ("t1", "t2"):
        payment = Payment(REQUEST_ID, name, 250, "USD", {})
        assert await chat.recorder.record(listing, payment, None)
    assert await looks(chat, looking, peer, item(listing, **units(1))) == 1
    assert [alert.found for alert in alerts(chat)] == [False, False, True]


async def test_units_that_are_back_at_the_second_comparison_were_not_sold(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    listing = chat.add_listing(sam, DROP, service_answer())
    for left in (0, 5, 0, 4, 5):
        count = await looks(chat, looking, peer, item(listing, **units(left)))
        assert count == (left == 4)
    assert len(alerts(chat)) == 1


async def test_two_comparisons_within_a_minute_count_as_one(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    listing = chat.add_listing(sam, DROP, service_answer())
    gone = item(listing, **units(3))
    assert await looks(chat, looking, peer, gone) == 0
    chat.clock.advance(-61 + 30)
    assert await looks(chat, looking, peer, gone) == 0
    chat.clock.advance(-61 + 30)
    assert await looks(chat, looking, peer, gone) == 2


async def test_a_late_webhook_replaces_a_placeholder_as_possibly_repeated(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    listing = chat.add_listing(sam, DROP, service_answer())
    gone = item(listing, **units(4))
    assert [await looks(chat, looking, peer, gone) for _ in range(2)] == [0, 1]
    late = Payment(REQUEST_ID, "t1", 250, "USD", {})
    await chat.recorder.record(listing, late, 4)
    assert [await looks(chat, looking, peer, gone) for _ in range(2)] == [0, 0]
    assert [alert.repeated for alert in alerts(chat)] == [False, True]
    assert [row["transaction_id"] for row in chat.rows("received_payments")] == ["t1"]


async def test_handcashs_late_webhook_records_no_second_payment(
    chat: ChatHarness, sam: Person, recorded_sleep: RecordedSleep
) -> None:
    """It names only the transaction, so its alert says "possibly repeated"."""
    app = FastAPI()
    secret = "the application's own"
    proof, claims = Proof(secret, None), ClaimRecorder(chat.db, chat.queues, HELD, chat.clock)
    app.include_router(Receiver(chat.db, chat.recorder, claims, proof, chat.clock).router())
    listing = chat.add_listing(sam, DROP)
    async with (
        handcash(app_secret=secret, now=lambda: chat.clock() / 1000) as server,
        serve_asgi(app) as root,
    ):
        client = Client(server.url, server.app_id, secret)
        body = request_body(listing, Addresses(f"{root}{PATH}", root), "BSV", chat.clock())
        made = await client.create(body, listing.id)
        chat.db.run(lambda tx: listings.set_answer(tx, listing.id, made))
        chat.db.run(lambda tx: listings.set_state(tx, listing.id, LIVE))
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
    assert chat.listing(listing.id).paid_count == 1


async def test_a_listed_payments_own_amount_counts_else_the_price(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """The units left are counted: more may have been sold since the server was asked."""
    listing = chat.add_listing(sam, DROP, service_answer())
    listed = [
        {"transactionId": "t2", "settlement": "oversold", "amount": 3, "currencyCode": "EUR"},
        {"transactionId": "t1", "amount": 3, "currencyCode": "DUCATS"},
    ]
    counted = item(listing, paymentsCount=2, **units(0))
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
    listing = chat.add_listing(sam, PAINTING, service_answer())
    gone = item(listing, isEnabled=False, **closed)
    assert [await looks(chat, looking, peer, gone) for _ in range(3)] == [0, 1, 0]
    assert [alert.amount for alert in alerts(chat)] == [12_000]


async def test_payments_that_are_counted_but_not_listed_are_recorded_by_their_number(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """The server sends a count and has no list of payments; it works for donations too."""
    listing = chat.add_listing(sam, COFFEE, service_answer())
    for status, found in ((404, 0), (405, 2)):
        chat.clock.advance(61)
        await peer.add_answers(
            http_response(200, {"items": [item(listing, paymentsCount=2)]}), http_response(status)
        )
        assert await looking.compare() == found
    assert [alert.amount for alert in alerts(chat)] == [500, 500]


async def test_a_gap_between_count_and_list_is_reported_once(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """The list is not read again at each comparison either."""
    listing = chat.add_listing(sam, COFFEE, service_answer())
    counted = http_response(200, {"items": [item(listing, paymentsCount=2)]})
    with capture_logs() as logs:
        await peer.add_answers(
            counted, http_response(200, {"items": [{"transactionId": "t1"}]}), counted
        )
        assert [await looking.compare() for _ in range(2)] == [1, 0]
    said = [(line["number"], line["listing"]) for line in logs if line["log_level"] == "warning"]
    assert said == [(1, listing.id)]
    assert len(peer.calls) == 3


async def test_a_payment_dated_in_the_future_is_found_when_its_time_has_come(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """The payment is listed, so no gap is logged."""
    listing = chat.add_listing(sam, COFFEE, service_answer())
    paid = {"transactionId": "t1", "completedAt": (chat.clock() + 10_000) // 1000}
    counted = http_response(200, {"items": [item(listing, paymentsCount=1)]})
    with capture_logs() as logs:
        for waited, found in ((0, 0), (60, 1)):
            chat.clock.advance(waited)
            await peer.add_answers(counted, http_response(200, {"items": [paid]}))
            assert await looking.compare() == found
    assert [line["log_level"] for line in logs] == ["debug", "info"]


OTHER = "f" * 24


@pytest.mark.parametrize("state", [LIVE, STOPPED, DELETED])
async def test_a_double_request_is_deleted(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person, state: str
) -> None:
    """It is deleted in every state of the listing: nobody has its link."""
    listing = chat.add_listing(sam, DROP, service_answer(), state=state)
    await peer.add_answers(
        http_response(200, {"items": [item(listing), item(listing, OTHER)]}), http_response(200)
    )
    await looking.compare()
    assert [(call.method, call.path) for call in peer.calls[1:]] == [
        ("DELETE", f"/v3/paymentRequests/{OTHER}")
    ]


async def test_a_request_of_a_failed_create_is_deleted(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    listing = chat.add_listing(sam, state=FAILED)
    await peer.add_answers(http_response(200, {"items": [item(listing)]}), http_response(404))
    await looking.compare()
    assert [call.method for call in peer.calls] == ["GET", "DELETE"]


async def test_doubles_are_left_alone_while_the_create_job_is_at_work(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    listing = chat.add_listing(sam, COFFEE)
    both = item(listing), item(listing, OTHER, paymentsCount=1)
    assert await looks(chat, looking, peer, *both) == 0
    assert len(peer.calls) == 1


async def test_a_deleted_listings_own_request_is_not_touched(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """A server that has it counted as having lost it; its link may be in use."""
    listing = chat.add_listing(sam, COFFEE, service_answer(), state=DELETED)
    await looks(chat, looking, peer, item(listing))
    assert len(peer.calls) == 1


PAID_TWICE: list[tuple[Wish, dict[str, Any]]] = [
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
    case: tuple[Wish, dict[str, Any]],
) -> None:
    """It is logged once, not at each comparison."""
    wish, fields = case
    listing = chat.add_listing(sam, wish, service_answer())
    with capture_logs() as logs:
        for _ in range(2):
            await looks(chat, looking, peer, item(listing, OTHER, **fields))
    assert [call.method for call in peer.calls] == ["GET", "GET"]
    said = [(line["listing"], line["request"]) for line in logs if line["log_level"] == "error"]
    assert said == [(listing.id, OTHER)]
    assert alerts(chat) == []


async def runs(looking: Reconciler, recorded_sleep: RecordedSleep, sleeps: int) -> list[float]:
    """Run it for a number of sleeps; return the waits between comparisons."""
    recorded_sleep.most = sleeps
    with pytest.raises(asyncio.CancelledError):
        await looking.run()
    return [one for one in recorded_sleep.seconds if one not in (0, LEAST_REST)]


async def test_failures_delay_the_next_comparison_more_and_more(
    looking: Reconciler, peer: ScriptedServer, recorded_sleep: RecordedSleep
) -> None:
    """Each failure is a line in the log, and a success resets the delays."""
    failures = [
        http_response(500),
        CUT,
        http_response(401),
        http_response(200, b"<html>"),
        http_response(200, {}),
        http_response(418),
    ]
    await peer.add_answers(*failures, http_response(200, {"items": []}), http_response(503))
    with capture_logs() as logs:
        slept = await runs(looking, recorded_sleep, 17)
    backoff = [*BACKOFF, BACKOFF[-1], BACKOFF[-1]]
    assert slept == [FIRST_WAIT, *backoff, INTERVAL, BACKOFF[0]]
    warnings = [line for line in logs if line["log_level"] == "warning"]
    assert [line["again_in"] for line in warnings] == [*backoff, BACKOFF[0]]
    assert warnings[1]["reason"].startswith("Unreachable: ")


@pytest.mark.parametrize(("asked", "wait"), [("1200", 1200), ("30", BACKOFF[0]), ("99999", 3600)])
async def test_the_servers_retry_after_is_respected(
    looking: Reconciler,
    peer: ScriptedServer,
    recorded_sleep: RecordedSleep,
    asked: str,
    wait: float,
) -> None:
    await peer.add_answers(http_response(429, Retry_After=asked))
    assert await runs(looking, recorded_sleep, 3) == [FIRST_WAIT, wait]


async def test_a_locked_database_does_not_end_it(
    chat: ChatHarness,
    looking: Reconciler,
    peer: ScriptedServer,
    recorded_sleep: RecordedSleep,
    monkeypatch: Any,
) -> None:
    listing = chat.add_listing(chat.add_person("Kim"), COFFEE, service_answer())

    async def locked(*_: object) -> None:
        raise errors.StorageError("database is locked")

    monkeypatch.setattr(listings, "listings_by_id", locked)
    await peer.add_answers(http_response(200, {"items": [item(listing)]}))
    assert await runs(looking, recorded_sleep, 3) == [FIRST_WAIT, BACKOFF[0]]


async def test_a_failure_of_one_request_does_not_hide_the_others(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    first, second = (
        chat.add_listing(sam, COFFEE, service_answer(id=f"{number:024}")) for number in range(2)
    )
    counted = [item(one, str(one.request_id), paymentsCount=1) for one in (first, second)]
    listed = http_response(200, {"items": [{"transactionId": "t1"}]})
    await peer.add_answers(http_response(200, {"items": counted}), http_response(500), listed)
    assert await looking.compare() == 1
    assert [alert.listing_id for alert in alerts(chat)] == [second.id]


async def test_failures_of_many_requests_are_a_failure_of_the_server(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    many = [
        chat.add_listing(sam, COFFEE, service_answer(id=f"{number:024}")) for number in range(10)
    ]
    counted = [item(one, str(one.request_id), paymentsCount=1) for one in many]
    await peer.add_answers(http_response(200, {"items": counted}), *[http_response(500)] * 10)
    with pytest.raises(errors.Overloaded):
        await looking.compare()
    assert len(peer.calls) == 1 + reconciler.MOST_FAILURES + 1


async def test_sightings_before_a_failure_are_remembered(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    listing = chat.add_listing(sam, DROP, service_answer())
    gone = item(listing, **units(4))
    assert await looks(chat, looking, peer, gone) == 0
    await peer.add_answers(http_response(500))
    with pytest.raises(errors.Overloaded):
        await looking.compare()
    assert await looks(chat, looking, peer, gone) == 1


async def test_real_money_is_found_with_its_rail_and_underpaid_money_is_no_missing_sale(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, sam: Person
) -> None:
    """Of a claim whose payment's webhook was lost, nothing is left to ask."""
    listing = chat.add_listing(sam, DROP, service_answer())
    recorder = ClaimRecorder(chat.db, chat.queues, HELD, chat.clock)
    await recorder.record(
        listing, ClaimedMoney("c1", REQUEST_ID, "bank", 250, "USD", "R1", chat.clock())
    )
    at = "2027-01-15T07:00:00Z"
    by = {"kind": "bank", "amount": 1, "currencyCode": "USD", "reference": "R1"}
    short = {"transactionId": "t2", "settlement": "underpaid", "paidBy": by}
    whole = {"transactionId": "t1", "checkoutId": "c1", "paidBy": by | {"amount": 2.5}}
    price = {"amount": 2.5, "currencyCode": "USD", "completedAt": at}
    await peer.add_answers(
        http_response(200, {"items": [item(listing, paymentsCount=1, **units(4))]}),
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
    assert chat.listing(listing.id).paid_count == 1
    assert chat.rows("claims")[0]["state"] == "paid"
