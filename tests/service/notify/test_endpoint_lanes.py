"""Lanes of webhooks: one an endpoint, a limit for a host, and order for the bot's own."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from bot.core.net.webhook_addresses import LONGEST_ENDPOINT, AllowList
from bot.service.notify.webhook_delivery import CONCURRENCY, WebhookDelivery
from bot.service.usecases.delivery_queues import WEBHOOKS, lane_of
from bot.service.usecases.request_commands import INTERNAL_HOST
from tests.support.service_harness import DROP, LOOPBACK, ServiceHarness, open_service
from tests.support.webhook_delivery import (
    SECONDS,
    arrived,
    owe_many,
    pay_with_webhook,
    request_with_own_webhook,
    working,
)
from tests.support.webhook_receiver import Receiver, empty_answer, open_receiver

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bot.core.outbox.queue_policy import Queue


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
        WebhookDelivery(
            service.db,
            service.vault,
            service.clock,
            AllowList(),
            receiver.app,
            embedded_app_id=service.credentials.app_id,
        ) as bots,
        working(service, bots.own_job, receiver),
    ):
        yield


@pytest.mark.parametrize(
    ("url", "lane"),
    [
        ("https://h.example/w", "https://h.example:443/w"),
        ("https://H.example:443/w?key=secret#top", "https://h.example:443/w"),
        ("http://h.example", "http://h.example:80/"),
        ("http://h.example.:81/a/b", "http://h.example:81/a/b"),
        ("http://user:word@h.example/W", "http://h.example:80/W"),
        ("http://[2001:DB8::1]:8080/w", "http://[2001:db8::1]:8080/w"),
        ("https://evil。example/w", "https://evil.example:443/w"),
        ("http://2130706433/w", "http://127.0.0.1:80/w"),
        ("http://127.1:\uff181/w", "http://127.0.0.1:81/w"),
        (f"http://{INTERNAL_HOST}/w", f"{INTERNAL_HOST}/r1"),
        ("http://bot。internal/w", f"{INTERNAL_HOST}/r1"),
        (f"http://{INTERNAL_HOST}./w?a=b", f"{INTERNAL_HOST}/r1"),
    ],
)
def test_a_lane_is_an_endpoint_and_the_bots_own_a_request(url: str, lane: str) -> None:
    """It has neither the query nor a password, which may be secrets."""
    assert lane_of(url, "r1") == lane


def test_a_long_endpoint_has_a_short_lane_of_its_own() -> None:
    long = "https://h.example/" + "a" * 2000
    lanes = {lane_of(long + end, "r1") for end in ("b", "c", "c?query")}
    assert len(lanes) == 2
    assert max(map(len, lanes)) <= LONGEST_ENDPOINT
    assert {group(WEBHOOKS, lane) for lane in lanes} == {"h.example"}


def group(queue: Queue, lane: str) -> str | None:
    assert queue.group
    return queue.group(lane)


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
def test_endpoints_of_a_host_are_a_group(url: str, host: str | None) -> None:
    assert group(WEBHOOKS, lane_of(url, "r1")) == host


@pytest.mark.parametrize("other", ["path", "port"])
async def test_an_endpoint_that_hangs_delays_no_other(
    service: ServiceHarness,
    notifier: WebhookDelivery,
    receiver: Receiver,
    hanging: Receiver,
    other: str,
) -> None:
    """Of its hundred webhooks, no more than the lane's width are under way."""
    await owe_many(service, hanging.url, 100)
    url = {
        "path": hanging.url.replace("/hook", "/other"),
        "port": receiver.url,
    }[other]
    target = hanging if other == "path" else receiver
    async with working(service, notifier.job, hanging):
        async with asyncio.timeout(SECONDS):
            await hanging.count(WEBHOOKS.width)
        await pay_with_webhook(service, url)
        async with asyncio.timeout(SECONDS):
            await target.count(WEBHOOKS.width + 1 if other == "path" else 1)
        lines = [one.line for one in hanging.received]
        assert lines.count("POST /hook HTTP/1.1") == WEBHOOKS.width
        assert lines.count("POST /other HTTP/1.1") == (other == "path")


async def test_many_endpoints_of_a_host_that_hang_delay_no_other_host(
    service: ServiceHarness, notifier: WebhookDelivery, hanging: Receiver
) -> None:
    """With fifty full lanes, the host has no more than its limit."""
    for number in range(50):
        await owe_many(service, f"{hanging.url}/{number}", 3)
    async with (
        receiving_at("127.0.0.2") as (receiver, url),
        working(service, notifier.job, hanging),
    ):
        async with asyncio.timeout(SECONDS):
            await hanging.count(WEBHOOKS.group_width)
        await pay_with_webhook(service, url)
        async with asyncio.timeout(SECONDS):
            await receiver.count(1)
        assert len(hanging.received) == WEBHOOKS.group_width < CONCURRENCY


async def test_spellings_of_a_host_share_its_limit(
    service: ServiceHarness, notifier: WebhookDelivery, hanging: Receiver
) -> None:
    """Spellings of an endpoint share its lane."""
    for host in ("127.1", "2130706433", "127。0。0。1", "0x7f.1"):
        await owe_many(service, hanging.url.replace("127.0.0.1", host), WEBHOOKS.width)
    async with working(service, notifier.job, hanging):
        async with asyncio.timeout(SECONDS):
            await hanging.count(WEBHOOKS.width)
        rows = await service.rows("outbox")
        assert [row["state"] for row in rows].count("leased") == WEBHOOKS.width
    assert len({row["lane"] for row in rows}) == 1


@pytest.mark.long
async def test_webhooks_that_waited_for_their_host_go_as_soon_as_it_is_free(
    service: ServiceHarness, notifier: WebhookDelivery, hanging: Receiver
) -> None:
    """All of them arrive, without another message or a change of the clock."""
    for number in range(50):
        await owe_many(service, f"{hanging.url}/{number}", 2)
    async with working(service, notifier.job):
        async with asyncio.timeout(SECONDS):
            await hanging.count(WEBHOOKS.group_width)
        hanging.silent = False
        hanging.release.set()
        async with asyncio.timeout(SECONDS):
            await hanging.count(100)
        lines = [one.line for one in hanging.received]
    assert sorted(lines) == sorted(2 * [f"POST /hook/{n} HTTP/1.1" for n in range(50)])


@pytest.mark.long
async def test_seven_hosts_that_hang_leave_room_for_an_eighth(
    service: ServiceHarness, notifier: WebhookDelivery, receiver: Receiver
) -> None:
    async with AsyncExitStack() as stack:
        addresses = [f"127.0.0.{number}" for number in range(2, 9)]
        hosts = [await stack.enter_async_context(receiving_at(one)) for one in addresses]
        for one, url in hosts:
            one.silent = True
            for path in range(3):
                await owe_many(service, f"{url}/{path}", WEBHOOKS.width)
        silent = [one for one, _ in hosts]
        async with working(service, notifier.job, *silent):
            async with asyncio.timeout(SECONDS):
                for one in silent:
                    await one.count(WEBHOOKS.group_width)
            await pay_with_webhook(service, receiver.url)
            async with asyncio.timeout(SECONDS):
                await receiver.count(1)
            assert [len(one.received) for one in silent] == 7 * [WEBHOOKS.group_width]


@pytest.mark.parametrize("before", [True, False], ids=["waiting", "as they come"])
async def test_the_bots_receiver_gets_a_requests_payments_in_order(
    service: ServiceHarness, receiver: Receiver, *, before: bool
) -> None:
    """Five payments in one millisecond: the remaining units count down."""
    request_id = await request_with_own_webhook(service, expirationType="limit", totalUnits=5)

    async def pay() -> None:
        posts = (service.pay(request_id, f"{number:032d}") for number in range(5))
        assert {one.status_code for one in await asyncio.gather(*posts)} == {303}

    if before:
        await pay()
    async with working_inside(service, receiver):
        if not before:
            await pay()
        told = await arrived(receiver, 5)
    assert [one["remainingUnits"] for one in told] == [4, 3, 2, 1, 0]


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
