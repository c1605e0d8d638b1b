"""Lanes of webhooks: one a request of an endpoint, with limits for an endpoint and a host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.core import exact_json
from bot.core.net.http_client import app_client
from bot.core.net.webhook_addresses import LONGEST_ENDPOINT, AllowList
from bot.core.outbox import outbox
from bot.core.outbox.outbox import Message
from bot.core.outbox.worker import QueueHandler
from bot.service.notifications.notification_queues import groups_of, lane_of
from bot.service.notifications.webhooks import CONCURRENCY, START, WebhookSender
from bot.service.requests.request_commands import INTERNAL_HOST
from tests.support.http_peers import Receiver, empty_answer, open_receiver
from tests.support.service_harness import DROP, LOOPBACK, ServiceHarness, open_service
from tests.support.webhook_delivery import (
    SECONDS,
    arrived,
    handle,
    owe_each,
    owe_many,
    pay_with_webhook,
    request_with_own_webhook,
    working,
)

NEW_ENDPOINT, NEW_HOST = START["endpoint"], START["host"]
PAYMENTS = 70
"""More than two batches."""


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[ServiceHarness]:
    async with open_service(database_url, allow=LOOPBACK) as it:
        yield it


@pytest.fixture
async def hanging() -> AsyncIterator[Receiver]:
    async with open_receiver() as it:
        it.silent = True
        yield it


@asynccontextmanager
async def receiving_at(address: str) -> AsyncIterator[tuple[Receiver, str]]:
    """Yield a receiver at another address of this machine, and its URL."""
    async with open_receiver() as it:
        server = await asyncio.start_server(it.serve, address, 0)
        yield it, f"http://{address}:{server.sockets[0].getsockname()[1]}/hook"
        server.close()


@asynccontextmanager
async def working_inside(service: ServiceHarness, receiver: Receiver) -> AsyncIterator[None]:
    """Deliver the webhooks to the bot's own receiver; the shop is the bot's application."""
    async with (
        WebhookSender(
            service.db,
            service.vault,
            service.clock,
            AllowList(),
            app_client(receiver.app),
            embedded_app_id=service.credentials.app_id,
        ) as bots,
        working(service, bots.own_queue_handler, receiver),
    ):
        yield


@pytest.mark.parametrize(
    ("url", "lane"),
    [
        ("https://h.example/w", "https://h.example:443/w r1"),
        ("https://H.example:443/w?key=secret#top", "https://h.example:443/w r1"),
        ("http://h.example", "http://h.example:80/ r1"),
        ("http://h.example.:81/a/b", "http://h.example:81/a/b r1"),
        ("http://user:word@h.example/W", "http://h.example:80/W r1"),
        ("http://[2001:DB8::1]:8080/w", "http://[2001:db8::1]:8080/w r1"),
        ("https://evil。example/w", "https://evil.example:443/w r1"),
        ("http://2130706433/w", "http://127.0.0.1:80/w r1"),
        ("http://127.1:\uff181/w", "http://127.0.0.1:81/w r1"),
        (f"http://{INTERNAL_HOST}/w", f"{INTERNAL_HOST}/r1"),
        ("http://bot。internal/w", f"{INTERNAL_HOST}/r1"),
        (f"http://{INTERNAL_HOST}./w?a=b", f"{INTERNAL_HOST}/r1"),
    ],
)
def test_a_lane_is_a_request_of_an_endpoint(url: str, lane: str) -> None:
    """It has neither the query nor a password, which may be secrets."""
    assert lane_of(url, "r1") == lane


def test_a_long_endpoint_has_a_short_lane_of_its_own() -> None:
    long = "https://h.example/" + "a" * 2000
    lanes = {lane_of(long + end, "r1") for end in ("b", "c", "c?query")}
    assert len(lanes) == 2
    assert max(map(len, lanes)) <= LONGEST_ENDPOINT + len(" r1")
    assert {groups_of(lane)[1:] for lane in lanes} == {("h.example",)}


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://h.example/w", "h.example"),
        ("http://h.example:81/v", "h.example"),
        ("http://[2001:db8::1]:8080/w", "2001:db8::1"),
        ("http://127.1/w", "127.0.0.1"),
        ("http://evil\uff0eexample/w", "evil.example"),
        ("http://[::g]/w", None),
    ],
)
def test_an_endpoint_is_a_group_and_so_is_its_host(url: str, host: str | None) -> None:
    lane = lane_of(url, "r1")
    endpoint = lane.removesuffix(" r1")
    assert groups_of(lane) == ((endpoint, host) if host else (endpoint,))


@pytest.mark.parametrize("other", ["path", "port"])
async def test_an_endpoint_that_hangs_delays_no_other(
    service: ServiceHarness,
    notifier: WebhookSender,
    receiver: Receiver,
    hanging: Receiver,
    other: str,
) -> None:
    """Of its hundred requests, no more than an unknown endpoint's window are under way."""
    await owe_each(service, hanging.url, 100)
    url = {
        "path": hanging.url.replace("/hook", "/other"),
        "port": receiver.url,
    }[other]
    target = hanging if other == "path" else receiver
    async with working(service, notifier.queue_handler, hanging):
        async with asyncio.timeout(SECONDS):
            await hanging.count(NEW_ENDPOINT)
        await pay_with_webhook(service, url)
        async with asyncio.timeout(SECONDS):
            await target.count(NEW_ENDPOINT + 1 if other == "path" else 1)
        lines = [one.line for one in hanging.received]
        assert lines.count("POST /hook HTTP/1.1") == NEW_ENDPOINT
        assert lines.count("POST /other HTTP/1.1") == (other == "path")


async def test_many_endpoints_of_a_host_that_hang_delay_no_other_host(
    service: ServiceHarness, notifier: WebhookSender, hanging: Receiver
) -> None:
    """With fifty endpoints that wait, the host has no more than its limit."""
    for number in range(50):
        await owe_many(service, f"{hanging.url}/{number}", 3)
    async with (
        receiving_at("127.0.0.2") as (receiver, url),
        working(service, notifier.queue_handler, hanging),
    ):
        async with asyncio.timeout(SECONDS):
            await hanging.count(NEW_HOST)
        await pay_with_webhook(service, url)
        async with asyncio.timeout(SECONDS):
            await receiver.count(1)
        assert len(hanging.received) == NEW_HOST < CONCURRENCY


@pytest.mark.long
async def test_webhooks_that_waited_for_their_host_go_as_soon_as_it_is_free(
    service: ServiceHarness, notifier: WebhookSender, hanging: Receiver
) -> None:
    """All of them arrive, without another message or a change of the clock."""
    for number in range(50):
        await owe_many(service, f"{hanging.url}/{number}", 2)
    async with working(service, notifier.queue_handler):
        async with asyncio.timeout(SECONDS):
            await hanging.count(NEW_HOST)
        hanging.silent = False
        hanging.release.set()
        async with asyncio.timeout(SECONDS):
            await hanging.count(100)
        lines = [one.line for one in hanging.received]
    assert sorted(lines) == sorted(2 * [f"POST /hook/{n} HTTP/1.1" for n in range(50)])


@pytest.mark.parametrize("before", [True, False], ids=["waiting", "as they come"])
@pytest.mark.parametrize("inside", [True, False], ids=["the bot's", "an endpoint"])
async def test_a_receiver_gets_a_requests_payments_in_order(
    service: ServiceHarness,
    notifier: WebhookSender,
    receiver: Receiver,
    *,
    before: bool,
    inside: bool,
) -> None:
    """Seventy payments in one millisecond: the remaining units count down."""
    drop: dict[str, Any] = {"expirationType": "limit", "totalUnits": PAYMENTS}
    if inside:
        request_id = await request_with_own_webhook(service, **drop)
    else:
        hook = {"webhook": {"webhookUrl": receiver.url}}
        request_id = (await service.create(**drop, notifications=hook))["id"]

    async def pay() -> None:
        posts = (service.pay(request_id, f"{number:032d}") for number in range(PAYMENTS))
        assert {one.status_code for one in await asyncio.gather(*posts)} == {303}

    work = working_inside(service, receiver) if inside else working(service, notifier.queue_handler)
    if before:
        await pay()
    async with work:
        if not before:
            await pay()
        told = await arrived(receiver, PAYMENTS)
    assert [one["remainingUnits"] for one in told] == [*reversed(range(PAYMENTS))]


async def test_payments_of_different_requests_are_told_at_once(
    service: ServiceHarness, notifier: WebhookSender, hanging: Receiver
) -> None:
    """Those of one request wait for each other's answers."""
    await owe_many(service, hanging.url, 3)
    await owe_many(service, hanging.url, 3)
    async with working(service, notifier.queue_handler):
        async with asyncio.timeout(SECONDS):
            await hanging.count(2)
        assert len(told_requests(hanging)) == 2
        hanging.silent = False
        hanging.release.set()
        async with asyncio.timeout(SECONDS):
            await hanging.count(6)


def told_requests(receiver: Receiver) -> set[str]:
    """Return the requests whose payments were told."""
    return {exact_json.loads(one.body)["paymentRequestId"] for one in receiver.received}


async def test_an_endpoint_that_fails_gets_one_at_a_time_and_then_more(
    service: ServiceHarness, notifier: WebhookSender, receiver: Receiver
) -> None:
    """Each success makes its window one wider."""
    await owe_each(service, receiver.url, 3)
    receiver.answers = [empty_answer(503)]
    (endpoint, host) = groups_of(lane_of(receiver.url, ""))
    width_of = notifier.queue_handler.queue.group_width
    assert callable(width_of)
    messages = await claimed(service, notifier.queue_handler)
    widths = [width_of(endpoint)]
    for message in messages:
        await handle(notifier.queue_handler, message)
        widths.append(width_of(endpoint))
    assert (widths, width_of(host)) == ([NEW_ENDPOINT, 1, 2, 3], NEW_HOST + 2)


async def claimed(service: ServiceHarness, queue_handler: QueueHandler) -> list[Message]:
    """Claim what is due now."""
    return await service.db.transaction(
        lambda tx: outbox.claim(tx, queue_handler.queue, service.clock(), queue_handler.concurrency)
    )


async def test_a_webhook_that_waits_for_a_retry_is_passed_by_a_newer_one(
    service: ServiceHarness, receiver: Receiver
) -> None:
    request_id = await request_with_own_webhook(service, **DROP)
    receiver.answers = [empty_answer(500)]
    async with working_inside(service, receiver):
        await service.pay(request_id, "a" * 32)
        await arrived(receiver, 1)
        await service.pay(request_id, "b" * 32)
        told = await arrived(receiver, 2)
    assert [one["remainingUnits"] for one in told] == [2, 1]
