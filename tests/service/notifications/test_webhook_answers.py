"""Answers to webhooks that break off, come late or never: the stored attempt."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.core.database.database import Row
from bot.core.errors import CommitUnknown
from bot.service.notifications import webhooks
from bot.service.notifications.webhooks import WebhookSender
from tests.support.service_harness import (
    LOOPBACK,
    NEW,
    NOON,
    REQUESTS_PATH,
    ServiceHarness,
    open_service,
    refusal_code,
)
from tests.support.webhook_delivery import attempt, pay_with_webhook
from tests.support.webhook_receiver import Receiver

BROKEN = {
    "chunk": b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\nnonsense\r\n",
    "late": b"Content-Length: 9\r\n\r\nok",
}


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[ServiceHarness]:
    async with open_service(database_url, allow=LOOPBACK) as it:
        yield it


async def tried(service: ServiceHarness) -> Row:
    (row,) = await service.rows("delivery_attempts")
    return row


@pytest.mark.parametrize(("status", "state"), [(200, "done"), (410, "dead"), (500, "waiting")])
@pytest.mark.parametrize("body", BROKEN)
async def test_the_status_decides_whatever_happens_to_the_body(
    service: ServiceHarness,
    notifier: WebhookSender,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    *,
    body: str,
    status: int,
    state: str,
) -> None:
    """Of a body that breaks off or does not end, the beginning is stored."""
    assert webhooks.BODY_TIMEOUT == 2
    monkeypatch.setattr(webhooks, "BODY_TIMEOUT", 0.2)
    receiver.answers = [f"HTTP/1.1 {status} X\r\n".encode() + BROKEN[body]]
    await pay_with_webhook(service, receiver.url)
    async with asyncio.timeout(10):  # less than the client waits for anything
        row = await attempt(service, notifier.queue_handler)
    written = await tried(service)
    assert (row["state"], written["status"]) == (state, status)
    assert (written["answer"], written["trouble"]) == ("ok", None)


@pytest.mark.long
async def test_a_body_may_end_after_the_time_for_its_head(
    service: ServiceHarness,
    notifier: WebhookSender,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A 2xx at the last moment counts: the body has a timeout of its own."""
    monkeypatch.setattr(webhooks, "TIMEOUT", 1.0)
    monkeypatch.setattr(webhooks, "BODY_TIMEOUT", 2.0)
    receiver.answers = [b"HTTP/1.1 200 OK\r\n" + BROKEN["late"]]
    await pay_with_webhook(service, receiver.url)
    assert (await attempt(service, notifier.queue_handler))["state"] == "done"


async def test_a_nonsense_retry_after_leaves_the_schedule_as_it_is(
    service: ServiceHarness, notifier: WebhookSender, receiver: Receiver
) -> None:
    when = b"Retry-After: Mon, 01 Jan 2024 00:00:99999999999999999999 GMT"
    receiver.answers = [b"HTTP/1.1 503 X\r\nContent-Length: 0\r\n" + when + b"\r\n\r\n"]
    await pay_with_webhook(service, receiver.url)
    row = await attempt(service, notifier.queue_handler)
    assert (row["state"], row["note"]) == ("waiting", "answered 503")
    assert NOON + 4000 <= row["due_at"] <= NOON + 6000


async def test_a_connection_that_is_reset_is_named(
    service: ServiceHarness, notifier: WebhookSender, receiver: Receiver
) -> None:
    """Some errors of the library have no text; then the note has no colon."""
    receiver.silent = True
    await pay_with_webhook(service, receiver.url)
    attempting = asyncio.create_task(attempt(service, notifier.queue_handler))
    await receiver.count(1)
    for writer in receiver.open:
        reset = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        writer.transport.abort()
    receiver.release.set()
    assert (await attempting)["note"] == "ReadError"


@pytest.mark.parametrize("host", ["xn--a.example", "xn--0.xn--0", "[::g]", "h.example:abc"])
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


@pytest.mark.parametrize(
    "url",
    [
        "http://xn--a.example/",
        "http://bot。internal/any/path",
        "http://bot\uff0einternal/",
        "http://bot\uff61internal:81/",
        "http://h.example/\x85",
        "http://h.example/\u202egnp.exe",
    ],
)
async def test_an_address_that_httpx_refuses_is_refused_at_create_and_edit(
    service: ServiceHarness, url: str
) -> None:
    hooks = {"notifications": {"webhook": {"webhookUrl": url}}}
    made = await service.create()
    answers = [
        await service.seller.post(REQUESTS_PATH, json=NEW | hooks),
        await service.edit(made["id"], hooks),
    ]
    assert [refusal_code(answer) for answer in answers] == [(400, "invalidBody")] * 2
    assert [one["webhook_url"] for one in await service.rows("payment_requests")] == [None]


async def test_an_attempt_whose_commit_nobody_knows_is_listed_once(
    service: ServiceHarness,
    notifier: WebhookSender,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await pay_with_webhook(service, receiver.url)
    transaction, lost = type(service.db).transaction, asyncio.Event()

    async def lose_the_outcome(db: Any, work: Callable[[Any], Any]) -> Any:
        result = await transaction(db, work)
        if result is True and not lost.is_set():
            lost.set()
            raise CommitUnknown("the answer to a commit was lost")
        return result

    monkeypatch.setattr(type(service.db), "transaction", lose_the_outcome)
    with capture_logs() as logs:
        row = await attempt(service, notifier.queue_handler)
    assert (lost.is_set(), row["state"], (await tried(service))["status"]) == (True, "done", 200)
    assert [line["event"] for line in logs if "webhook" in line["event"]] == ["webhook delivered"]
