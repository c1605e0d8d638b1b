"""Webhooks: signed, retried until accepted, never sent to a forbidden address."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError
from structlog.testing import capture_logs

from bot.core import exact_json, signing
from bot.core.database.database import Row, Transaction
from bot.core.database.vault import Vault
from bot.core.errors import CommitUnknown
from bot.core.net.http_client import app_client
from bot.core.net.webhook_addresses import AllowList
from bot.interface.bodies import WebhookEvent
from bot.service.notifications import notification_queues, webhooks
from bot.service.notifications.webhooks import WebhookSender
from bot.service.pages.app import create_app
from bot.service.requests import applications
from tests.support.http_peers import HttpRequest, Receiver, empty_answer
from tests.support.service_harness import (
    DROP,
    LOOPBACK,
    NOON,
    ServiceHarness,
    client,
    make_service,
    open_service,
)
from tests.support.webhook_delivery import (
    Endpoint,
    attempt,
    pay_with_webhook,
    request_with_own_webhook,
)


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[ServiceHarness]:
    async with open_service(database_url, allow=LOOPBACK) as it:
        yield it


async def test_a_webhook_is_signed_with_the_applications_secret(endpoint: Endpoint) -> None:
    """The secret itself is never sent."""
    service = endpoint.service
    request_id = await endpoint.owe()
    row = await endpoint.attempt()
    (received,) = endpoint.receiver.received
    (payment,) = await service.rows("payments")
    assert received.line == "POST /hook HTTP/1.1"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["webhook-id"] == row["id"]
    assert exact_json.loads(received.body) == exact_json.loads(
        exact_json.dumps(
            {
                "paymentRequestId": request_id,
                "transactionId": payment["id"],
                "customParameters": {"listing": "a", "price": 1.25},
                "userData": {},
                "amount": 5,
                "currencyCode": "USD",
                "remainingUnits": 2,
                "completedAt": "2027-01-15T08:00:00.000Z",
            }
        )
    )
    WebhookEvent.model_validate(exact_json.loads(received.body))
    now = datetime.fromtimestamp(NOON / 1000, UTC)
    secret = service.credentials.webhook_secret
    signing.verify([secret], received.headers, received.body, now)
    whole = str(received.headers) + received.body.decode()
    assert secret not in whole
    assert service.credentials.app_secret not in whole
    assert (row["state"], row["attempts"], row["settled_at"]) == ("done", 1, NOON)


async def test_2xx_is_success_410_the_end_and_every_other_answer_is_retried(
    endpoint: Endpoint,
) -> None:
    """A redirect too, which is not followed. A Retry-After may put the next attempt off."""
    receiver = endpoint.receiver
    for status in (200, 201, 204, 299, 410, 301, 307, 400, 401, 404, 429, 500, 503):
        for wait in (5, 3600) if status == 503 else (5,):
            headers = (f"Location: {receiver.url}/elsewhere", f"Retry-After: {wait}")
            receiver.answers = [empty_answer(status, *headers)]
            receiver.received.clear()
            await endpoint.service.db.transaction(lambda tx: tx.execute("DELETE FROM outbox"))
            await endpoint.owe()
            row = await endpoint.attempt()
            state = {410: "dead"}.get(status, "done" if status < 300 else "waiting")
            assert (row["state"], len(receiver.received)) == (state, 1), status
            if state != "done":
                assert row["note"] == f"answered {status}"
            if state == "waiting":
                assert 0.8 * wait <= (row["due_at"] - NOON) / 1000 <= 1.2 * wait


async def test_after_the_last_attempt_a_webhook_is_dead_until_a_retry(endpoint: Endpoint) -> None:
    """Eight attempts, all with one id and one body, each with its own time."""
    service, receiver = endpoint.service, endpoint.receiver
    receiver.answers = [empty_answer(500)] * 8
    await endpoint.owe()
    waits = []
    for number in range(1, 9):
        row = await endpoint.attempt()
        assert row["attempts"] == number
        waits.append((row["due_at"] - service.clock.at) / 1000)
        service.clock.at = max(service.clock.at, row["due_at"])
    assert row["state"] == "dead"
    for wait, planned in zip(waits, notification_queues.RETRIES.delays, strict=False):
        assert 0.8 * planned <= wait * 1000 <= 1.2 * planned
    assert len({one.headers["webhook-id"] for one in receiver.received}) == 1
    assert len({one.body for one in receiver.received}) == 1
    assert len({one.headers["webhook-timestamp"] for one in receiver.received}) == 8
    again = service.db.run(lambda tx: notification_queues.retry(tx, row["id"], service.clock()))
    assert (again.state, again.attempts, again.next_at) == ("waiting", 0, service.clock.at)
    assert (await endpoint.attempt())["state"] == "done"


async def test_a_host_that_resolves_to_a_forbidden_address_makes_the_webhook_dead(
    service: ServiceHarness, receiver: Receiver
) -> None:
    """The address is checked again at the connection, and nothing is sent."""
    await pay_with_webhook(service, receiver.url)
    async with WebhookSender(service.db, service.vault, service.clock, AllowList()) as strict:
        row = await attempt(service, strict.queue_handler)
    assert row["state"] == "dead"
    assert "127.0.0.1" in row["note"]
    assert receiver.received == []


async def test_a_webhook_waits_while_its_secret_cannot_be_opened(
    service: ServiceHarness, receiver: Receiver
) -> None:
    """An unsigned webhook is never sent."""
    await pay_with_webhook(service, receiver.url)
    async with WebhookSender(service.db, Vault("other"), service.clock, LOOPBACK) as wrong:
        row = await attempt(service, wrong.queue_handler)
    assert row["state"] == "waiting"
    assert "SECRET_KEY" in row["note"]
    assert receiver.received == []


async def test_a_refused_connection_is_retried(
    service: ServiceHarness, notifier: WebhookSender
) -> None:
    await pay_with_webhook(service, "http://127.0.0.1:1/")
    row = await attempt(service, notifier.queue_handler)
    assert (row["state"], row["note"].split(":")[0]) == ("waiting", "ConnectError")


async def test_a_silent_endpoint_is_given_up_and_retried(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole attempt has 15 seconds."""
    assert webhooks.TIMEOUT == 15
    monkeypatch.setattr(webhooks, "TIMEOUT", 0.2)
    endpoint.receiver.silent = True
    row = await endpoint.deliver()
    assert (row["state"], row["note"]) == ("waiting", "no answer within 0.2 seconds")


async def test_an_endless_answer_is_not_read(endpoint: Endpoint) -> None:
    assert (
        await endpoint.deliver(
            b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n" + b"x" * 100_000
        )
    )["state"] == "done"


async def test_cookies_are_not_kept_between_notifications(endpoint: Endpoint) -> None:
    row = await endpoint.deliver(empty_answer(500, "Set-Cookie: who=me; Path=/"))
    endpoint.service.clock.at = row["due_at"]
    await endpoint.attempt()
    assert [one.headers.get("cookie") for one in endpoint.receiver.received] == [None, None]


async def test_during_an_overlap_a_webhook_is_signed_with_both_secrets(endpoint: Endpoint) -> None:
    """In one header, the new signature first, as the Standard Webhooks library reads it."""
    service = endpoint.service
    app_id, former = service.credentials.app_id, service.credentials.webhook_secret
    service.clock.at = int(time.time() * 1000)
    new = service.db.run(
        lambda tx: applications.rotate(tx, service.vault, app_id, service.clock(), 5000)
    )
    service.seller.headers["App-Secret"] = new.app_secret
    row = await endpoint.deliver(empty_answer(500))
    service.clock.at = row["due_at"] + 5000
    await endpoint.attempt()
    during, after = endpoint.receiver.received
    signatures = during.headers["webhook-signature"].split(" ")
    assert [one.partition(",")[0] for one in signatures] == ["v1", "v1"]
    assert proves(new.webhook_secret, during)
    assert proves(former, during)
    assert proves(new.webhook_secret, during, signatures[0])
    assert proves(new.webhook_secret, after)
    assert not proves(former, after)
    assert " " not in after.headers["webhook-signature"]


def proves(secret: str, received: HttpRequest, signature: str | None = None) -> bool:
    headers = dict(received.headers)
    headers["webhook-signature"] = signature or headers["webhook-signature"]
    try:
        Webhook(secret).verify(received.body, headers)
    except WebhookVerificationError:
        return False
    return True


async def test_the_bots_receiver_gets_what_it_would_get_over_a_socket(
    service: ServiceHarness, receiver: Receiver
) -> None:
    """Line, headers, signature and body are the same; no socket is opened."""
    await service.pay(await request_with_own_webhook(service))
    async with listening_inside(service, receiver, service.credentials.app_id) as bots:
        assert (await attempt(service, bots.own_queue_handler))["state"] == "done"
    (received,) = receiver.received
    assert received.line == "POST /w HTTP/1.1"
    assert received.headers["host"] == "bot.internal"
    assert received.headers["user-agent"] == "payment-request-bot"
    assert received.headers["content-type"] == "application/json"
    assert int(received.headers["content-length"]) == len(received.body)
    now = datetime.fromtimestamp(service.clock() / 1000, UTC)
    secret = service.credentials.webhook_secret
    signing.verify([secret], received.headers, received.body, now)
    assert receiver.open == {}


@pytest.mark.parametrize("status", [400, 401, 404, 410, 500, 503])
async def test_the_bots_receiver_refuses_as_any_endpoint_does(
    service: ServiceHarness, receiver: Receiver, status: int
) -> None:
    receiver.answers = [empty_answer(status, "Retry-After: 60")]
    await service.pay(await request_with_own_webhook(service))
    async with listening_inside(service, receiver, service.credentials.app_id) as bots:
        row = await attempt(service, bots.own_queue_handler)
    assert row["note"] == f"answered {status}"
    assert row["state"] == ("dead" if status == 410 else "waiting")
    assert status == 410 or row["due_at"] >= NOON + 60_000


async def test_a_bug_of_the_bots_receiver_is_a_failed_attempt(service: ServiceHarness) -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError

    await service.pay(await request_with_own_webhook(service))
    async with WebhookSender(
        service.db, service.vault, service.clock, AllowList(), app_client(broken),
        embedded_app_id=service.credentials.app_id,
    ) as bots:  # fmt: skip
        with capture_logs() as lines:
            row = await attempt(service, bots.own_queue_handler)
    assert (row["state"], row["note"]) == ("waiting", "answered 500")
    assert [one["event"] for one in lines] == ["application failed", "webhook failed"]


async def test_a_receiver_of_the_bot_that_hangs_is_given_up(
    service: ServiceHarness, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its request is cancelled, as the server does when a client leaves."""
    monkeypatch.setattr(webhooks, "TIMEOUT", 0.05)
    receiver.silent = True
    await service.pay(await request_with_own_webhook(service))
    async with listening_inside(service, receiver, service.credentials.app_id) as bots:
        row = await attempt(service, bots.own_queue_handler)
    assert (row["state"], row["note"]) == ("waiting", "no answer within 0.05 seconds")


def listening_inside(
    service: ServiceHarness, receiver: Receiver, embedded: str | None
) -> WebhookSender:
    """Return a notifier whose own receiver is this one."""
    return WebhookSender(
        service.db, service.vault, service.clock, AllowList(),
        app_client(receiver.app),
        embedded_app_id=embedded,
    )  # fmt: skip


@pytest.mark.parametrize("embedded", [None, "another"])
async def test_no_other_application_reaches_the_bots_receiver(
    service: ServiceHarness, receiver: Receiver, embedded: str | None
) -> None:
    """Also if its request has the internal address."""
    await service.pay(await request_with_own_webhook(service, "bot。internal"))
    async with listening_inside(service, receiver, embedded) as bots:
        assert (await attempt(service, bots.own_queue_handler))["state"] == "waiting"
    assert receiver.received == []


async def test_each_outcome_is_one_line_in_the_log_without_secrets(endpoint: Endpoint) -> None:
    endpoint.receiver.answers = [empty_answer(500), empty_answer(200)]
    await endpoint.owe()
    with capture_logs() as lines:
        endpoint.service.clock.at = (await endpoint.attempt())["due_at"]
        await endpoint.attempt()
    assert [(one["event"], one["log_level"]) for one in lines] == [
        ("webhook failed", "warning"),
        ("webhook delivered", "info"),
    ]
    assert endpoint.service.credentials.webhook_secret not in str(lines)
    assert lines[0]["host"] == "127.0.0.1"
    assert lines[0]["why"] == "answered 500"


async def test_a_payment_has_the_time_of_its_transaction(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forms overtake each other before the writer; their webhooks sort by transaction.

    The clock is read there, not when the form arrives.
    """
    running: set[object] = set()
    transaction = service.db.transaction

    async def noted(work: Callable[[Transaction], object], about: str = "") -> object:
        def run(tx: Transaction) -> object:
            running.add(tx)
            try:
                return work(tx)
            finally:
                running.discard(tx)

        return await transaction(run, about)

    def now() -> int:
        return NOON + 1000 * bool(running)

    monkeypatch.setattr(service.db, "transaction", noted)
    request_id = await request_with_own_webhook(service, **DROP)
    app = create_app(make_service(service.db, now))
    async with client(app) as payer:
        paid = await payer.post(f"/pay/{request_id}", data={"token": "t" * 32})
    assert paid.status_code == 303
    (row,) = await service.rows("outbox")
    assert row["due_at"] == NOON + 1000


BROKEN = {
    "chunk": b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\nnonsense\r\n",
    "late": b"Content-Length: 9\r\n\r\nok",
}


async def tried(service: ServiceHarness) -> Row:
    (row,) = await service.rows("delivery_attempts")
    return row


@pytest.mark.parametrize(("status", "state"), [(200, "done"), (410, "dead"), (500, "waiting")])
@pytest.mark.parametrize("body", BROKEN)
async def test_the_status_decides_whatever_happens_to_the_body(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, body: str, status: int, state: str
) -> None:
    """Of a body that breaks off or does not end, the beginning is stored."""
    assert webhooks.BODY_TIMEOUT == 2
    monkeypatch.setattr(webhooks, "BODY_TIMEOUT", 0.2)
    endpoint.receiver.answers = [f"HTTP/1.1 {status} X\r\n".encode() + BROKEN[body]]
    await endpoint.owe()
    async with asyncio.timeout(10):  # less than the client waits for anything
        row = await endpoint.attempt()
    written = await tried(endpoint.service)
    assert (row["state"], written["status"]) == (state, status)
    assert (written["answer"], written["trouble"]) == ("ok", None)


@pytest.mark.long
async def test_a_body_may_end_after_the_time_for_its_head(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A 2xx at the last moment counts: the body has a timeout of its own."""
    monkeypatch.setattr(webhooks, "TIMEOUT", 1.0)
    monkeypatch.setattr(webhooks, "BODY_TIMEOUT", 2.0)
    assert (await endpoint.deliver(b"HTTP/1.1 200 OK\r\n" + BROKEN["late"]))["state"] == "done"


async def test_a_connection_that_is_reset_is_named(endpoint: Endpoint) -> None:
    """Some errors of the library have no text; then the note has no colon."""
    receiver = endpoint.receiver
    receiver.silent = True
    await endpoint.owe()
    attempting = asyncio.create_task(endpoint.attempt())
    await receiver.count(1)
    for writer in receiver.open:
        reset = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        writer.transport.abort()
    receiver.release.set()
    assert (await attempting)["note"] == "ReadError"


@pytest.mark.parametrize("host", ["xn--a.example", "[::g]", "h.example:abc"])
async def test_an_address_that_httpx_refuses_is_a_failed_attempt(
    service: ServiceHarness, notifier: WebhookSender, host: str
) -> None:
    """It is stored like every other failure, without a traceback in the log."""
    await pay_with_webhook(service, "http://placeholder.example/w")
    service.db.run(
        lambda tx: tx.execute(
            "UPDATE outbox SET body = replace(body, 'placeholder.example', :host)", host=host
        )
    )
    with capture_logs() as lines:
        row = await attempt(service, notifier.queue_handler)
    assert (row["state"], row["attempts"]) == ("waiting", 1)
    assert (await tried(service))["trouble"] == row["note"] != ""
    assert [one["event"] for one in lines] == ["webhook failed"]


async def test_an_attempt_whose_commit_nobody_knows_is_listed_once(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = endpoint.service
    await endpoint.owe()
    transaction, lost = type(service.db).transaction, asyncio.Event()

    async def lose_the_outcome(db: Any, work: Callable[[Any], Any]) -> Any:
        result = await transaction(db, work)
        if result is True and not lost.is_set():
            lost.set()
            raise CommitUnknown("the answer to a commit was lost")
        return result

    monkeypatch.setattr(type(service.db), "transaction", lose_the_outcome)
    with capture_logs() as logs:
        row = await endpoint.attempt()
    assert (lost.is_set(), row["state"], (await tried(service))["status"]) == (True, "done", 200)
    assert [line["event"] for line in logs if "webhook" in line["event"]] == ["webhook delivered"]
