"""Rate limits of applications, payers and failed logins, over a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.core.net.rates import Rate, subscriber_key
from bot.service.app import create_app
from tests.support.http_messages import HttpAnswer
from tests.support.raw_http import NOBODY, RunningServer, get, open_web_server
from tests.support.service_harness import REQUESTS_PATH, ServiceHarness, headers_of, make_service

US = ("127.0.0.1",)
"""The trusted proxies of a test that forwards by itself."""

PAGE = "/pay/" + "0" * 24
PUBLIC = f"{REQUESTS_PATH}/public/{'0' * 24}"
WRONG = ("App-Id: x", "App-Secret: y")


@asynccontextmanager
async def limited(
    service: ServiceHarness, *, proxies: tuple[str, ...] = NOBODY, **rates: Any
) -> AsyncIterator[RunningServer]:
    app = create_app(make_service(service.db, service.clock, **rates))
    async with open_web_server(app, proxies) as site:
        yield site


def right(service: ServiceHarness) -> list[str]:
    return [f"{name}: {value}" for name, value in headers_of(service.credentials).items()]


def waits(answer: HttpAnswer) -> bool:
    """Return whether a refusal names a time to wait."""
    return answer.status == 429 and 1 <= int(answer.headers["retry-after"]) <= 60


@pytest.mark.parametrize("path", [PAGE, f"{PAGE}/receipt/x", "/qr/x.png", "/qr/x.svg", PUBLIC])
async def test_a_payer_beyond_the_rate_gets_a_time_to_wait(
    service: ServiceHarness, path: str
) -> None:
    async with limited(service, payer_rate=Rate(2, 60)) as site:
        answers = [await site.ask(get(path)) for _ in range(3)]
    assert [answer.status for answer in answers] == [404, 404, 429]
    assert waits(answers[2])


async def test_the_page_and_the_api_refuse_in_their_own_forms(service: ServiceHarness) -> None:
    async with limited(service, payer_rate=Rate(1, 60)) as site:
        await site.ask(get(PAGE))
        page, public = await site.ask(get(PAGE)), await site.ask(get(PUBLIC))
    assert waits(page)
    assert waits(public)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert public.code == (429, "rateLimited")


async def test_payers_are_counted_one_by_one(service: ServiceHarness) -> None:
    async with limited(service, payer_rate=Rate(1, 60)) as site:
        told = [(await site.ask(get(PAGE), host)).status for host in ("127.0.0.1", "127.0.0.2") * 2]
    assert told == [404, 404, 429, 429]


async def test_forwarding_headers_of_strangers_are_ignored(service: ServiceHarness) -> None:
    """Otherwise each call could claim an address of its own."""
    async with limited(service, payer_rate=Rate(1, 60)) as site:
        calls = [get(PAGE, f"X-Forwarded-For: 198.51.100.{number}") for number in range(3)]
        assert [(await site.ask(call)).status for call in calls] == [404, 429, 429]


async def test_a_trusted_proxy_names_the_caller(service: ServiceHarness) -> None:
    async with limited(service, payer_rate=Rate(1, 60), proxies=US) as site:
        calls = [get(PAGE, f"X-Forwarded-For: 198.51.100.{number}") for number in (1, 2, 1)]
        assert [(await site.ask(call)).status for call in calls] == [404, 404, 429]


@pytest.mark.parametrize(
    "told",
    [
        "{}, 198.51.100.1",
        "{}, 198.51.100.1, 127.0.0.1",
        "{}, 198.51.100.1:{}",
        "{}\r\nX-Forwarded-For: 198.51.100.1",
    ],
)
async def test_of_forwarded_addresses_the_last_untrusted_one_counts(
    service: ServiceHarness, told: str
) -> None:
    """It is the right-most one that is no proxy: callers can invent those before it."""
    async with limited(service, payer_rate=Rate(1, 60), proxies=US) as site:
        calls = [get(PAGE, "X-Forwarded-For: " + told.format(f"6.6.6.{n}", n)) for n in range(2)]
        assert [(await site.ask(call)).status for call in calls] == [404, 429]


async def test_proxies_may_be_a_network(service: ServiceHarness) -> None:
    """A network may be written with any address in it."""
    async with limited(service, payer_rate=Rate(1, 60), proxies=("127.0.0.1/8",)) as site:
        calls = [get(PAGE, f"X-Forwarded-For: 198.51.100.{number}") for number in (1, 2)]
        assert [(await site.ask(call, "127.0.0.9")).status for call in calls] == [404, 404]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:0:ffff::", True),
        ("2001:db8::1", "2001:0DB8:0::1%eth0", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("unknown", "_hidden", False),
        ("", "unknown", False),
    ],
)
def test_payers_count_by_subscriber(*, one: str, other: str, same: bool) -> None:
    assert (subscriber_key(one) == subscriber_key(other)) is same


def test_a_peer_without_an_address_counts_by_its_cut_name() -> None:
    assert subscriber_key("unknown") == "unknown"
    assert len(subscriber_key("x" * 30_000)) == 64


async def test_all_addresses_of_a_subscriber_are_one_payer(service: ServiceHarness) -> None:
    async with limited(service, payer_rate=Rate(1, 60), proxies=US) as site:
        names = ("2001:db8::1", "2001:db8::2", "[2001:db8::3]:4711", "2001:db8:0:1::1")
        calls = [get(PAGE, f"X-Forwarded-For: {name}") for name in names]
        assert [(await site.ask(call)).status for call in calls] == [404, 429, 429, 404]


async def test_failed_logins_are_limited_and_correct_ones_are_not(service: ServiceHarness) -> None:
    """They count for their address, not for the application that they name."""
    named = (right(service)[0], "App-Secret: guessed")
    async with limited(service, api_rate=Rate(2, 60)) as site:
        guesses = [
            await site.ask(get(REQUESTS_PATH, *headers)) for headers in (WRONG, (), named, named)
        ]
        calls = [await site.ask(get(REQUESTS_PATH, *right(service))) for _ in range(3)]
        elsewhere = await site.ask(get(REQUESTS_PATH, *named), "127.0.0.2")
    assert [answer.status for answer in guesses] == [401, 401, 429, 429]
    assert guesses[2].code == (429, "rateLimited")
    assert waits(guesses[2])
    assert [answer.status for answer in calls] == [200, 200, 429]
    assert waits(calls[2])
    assert elsewhere.status == 401


async def test_correct_calls_do_not_count_as_failed_logins(service: ServiceHarness) -> None:
    async with limited(service, api_rate=Rate(2, 60)) as site:
        for _ in range(3):
            await site.ask(get(REQUESTS_PATH, *right(service)))
        assert (await site.ask(get(REQUESTS_PATH, *WRONG))).status == 401


async def test_without_a_rate_there_is_no_limit(service: ServiceHarness) -> None:
    async with limited(service) as site:
        told = [(await site.ask(get(path, *WRONG))).status for path in (REQUESTS_PATH, PAGE) * 5]
    assert told == [401, 404] * 5
