"""Rate limits of applications, payers and failed logins, alone and shared by replicas."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from bot.core.database.database import Database
from bot.core.errors import RateLimited, StorageError
from bot.core.net.rates import Rate, subscriber_key
from bot.service.api.rate_limits import KEPT_SECONDS, SWEEP_SECONDS, RateLimits, SharedCounts
from bot.service.pages.app import create_app
from tests.support.http_peers import HttpAnswer
from tests.support.raw_http import NOBODY, RunningServer, get, open_web_server
from tests.support.service_harness import (
    REQUESTS_PATH,
    Clock,
    ServiceHarness,
    headers_of,
    make_service,
)

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


async def test_a_payer_beyond_the_rate_gets_a_time_to_wait(service: ServiceHarness) -> None:
    """Whatever was called counts; the page and the interface refuse in their own forms."""
    called = [PAGE, f"{PAGE}/receipt/x", "/qr/x.png", "/qr/x.svg", PUBLIC]
    async with limited(service, payer_rate=Rate(len(called), 60)) as site:
        assert {(await site.ask(get(path))).status for path in called} == {404}
        refused = [await site.ask(get(path)) for path in called]
    assert all(map(waits, refused))
    assert refused[0].headers["content-type"] == "text/html; charset=utf-8"
    assert refused[-1].code == (429, "rateLimited")


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


KEY = b"a key that all replicas share"
PAYER = "198.51.100.7"
LIMIT = 60
A_SECOND = 5
"""Calls that one replica gets between two times at which it shares its counts."""


class Replica:
    """The limits of one replica, whose clock is wrong by `skew` seconds."""

    def __init__(self, db: Database, clock: Clock, skew: float = 0) -> None:
        self.counts = SharedCounts(db, KEY, lambda: clock() / 1000 + skew)
        self.limits = RateLimits(Rate(LIMIT, 60), Rate(LIMIT, 60), self.counts)

    def admits(self, calls: int, payer: str = PAYER) -> int:
        """Return how many of the calls were admitted."""
        admitted = 0
        for _ in range(calls):
            with suppress(RateLimited):
                self.limits.payers.hit(payer)
                admitted += 1
        return admitted


async def admitted_in(clock: Clock, replicas: list[Replica], seconds: int) -> int:
    """Return the calls of one payer that were admitted, from all replicas in turn."""
    admitted = 0
    for _ in range(seconds):
        admitted += sum(one.admits(A_SECOND) for one in replicas)
        for one in replicas:
            await one.counts.share()
        clock.advance(1)
    return admitted


@pytest.mark.parametrize("number", [2, 3])
async def test_replicas_together_admit_the_limit_and_at_most_a_second_more(
    db: Database, clock: Clock, number: int
) -> None:
    replicas = [Replica(db, clock) for _ in range(number)]
    admitted = await admitted_in(clock, replicas, 50)
    assert LIMIT <= admitted <= LIMIT + A_SECOND * (number - 1)


async def test_one_replica_admits_exactly_the_limit(db: Database, clock: Clock) -> None:
    assert await admitted_in(clock, [Replica(db, clock)], 50) == LIMIT


async def test_clocks_a_second_apart_add_nothing_to_a_window(db: Database, clock: Clock) -> None:
    """Calls are summed by the window that each replica's own clock names."""
    skews = (-1.0, 0.0, 1.0)
    replicas = [Replica(db, clock, skew) for skew in skews]
    clock.advance(30)  # far from the windows' edges
    assert await admitted_in(clock, replicas, 25) <= LIMIT + A_SECOND * 2
    over_edges = await admitted_in(clock, replicas, 60)
    assert over_edges <= 2 * (LIMIT + A_SECOND * 2)
    sums = await db.query("SELECT slot, hits FROM rates WHERE name = 'payer' ORDER BY slot")
    assert len(sums) == 2


async def test_the_next_window_admits_again_on_all_replicas_at_once(
    db: Database, clock: Clock
) -> None:
    one, other = Replica(db, clock), Replica(db, clock)
    clock.advance(59)
    assert one.admits(LIMIT) == LIMIT
    await one.counts.share()
    assert other.admits(1) == 1  # it hasn't looked yet
    await other.counts.share()
    assert (one.admits(1), other.admits(1)) == (0, 0)
    clock.advance(1)
    assert (one.admits(1), other.admits(1)) == (1, 1)


async def test_a_refusal_names_the_seconds_until_the_window_ends(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 120_042.5)
    limits = RateLimits(None, Rate(1, 60), SharedCounts(db, KEY, lambda: 120_042.5))
    limits.payers.hit(PAYER)
    with pytest.raises(RateLimited) as refused:
        limits.payers.hit(PAYER)
    assert refused.value.retry_after == 18  # 120,060 is a multiple of 60


async def test_each_limit_and_each_payer_is_counted_apart(db: Database, clock: Clock) -> None:
    one, other = Replica(db, clock), Replica(db, clock)
    assert one.admits(LIMIT) == LIMIT
    await one.counts.share()
    assert other.admits(LIMIT, "203.0.113.9") == LIMIT
    other.limits.checkouts.hit(PAYER)
    other.limits.failed_logins.hit(PAYER)


async def test_calls_during_the_sharing_are_neither_lost_nor_counted_twice(
    db: Database, clock: Clock
) -> None:
    one, other = Replica(db, clock), Replica(db, clock)
    assert one.admits(20) == 20
    sharing = asyncio.create_task(one.counts.share())
    await asyncio.sleep(0)
    assert one.admits(20) == 20
    await sharing
    assert one.admits(30) == 20
    await one.counts.share()
    other.admits(1)
    await other.counts.share()
    assert [row["hits"] for row in await db.query("SELECT hits FROM rates")] == [71]


async def test_replicas_that_share_many_payers_at_once_lose_no_call(
    db: Database, clock: Clock
) -> None:
    """Rows are locked in one order: none waits for another that waits for it."""
    replicas = [Replica(db, clock) for _ in range(3)]
    payers = [f"2001:db8:0:{number:x}::/64" for number in range(150)]
    for round_number in range(4):
        for turn, one in enumerate(replicas):
            for payer in payers if (turn + round_number) % 2 else reversed(payers):
                one.admits(1, payer)
        await asyncio.gather(*(one.counts.share() for one in replicas))
    (found,) = await db.query(
        "SELECT COUNT(*) AS payers, MIN(hits) AS least, SUM(hits) AS calls FROM rates"
    )
    assert found == {"payers": 150, "least": 12, "calls": 150 * 12}


async def test_during_an_outage_each_replica_counts_on_alone(
    db: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_work: object) -> None:
        raise StorageError("the server is away")

    one, other = Replica(db, clock), Replica(db, clock)
    with monkeypatch.context() as away:
        away.setattr(db, "transaction", fail)
        assert one.admits(LIMIT - 20) == LIMIT - 20
        with pytest.raises(StorageError):
            await one.counts.share()
        assert one.admits(40) == 20
    await one.counts.share()
    assert other.admits(1) == 1
    await other.counts.share()
    assert other.admits(1) == 0


async def test_no_address_is_in_the_database_in_clear(db: Database, clock: Clock) -> None:
    """Nor a digest without a key: all addresses are quickly tried."""
    one = Replica(db, clock)
    one.admits(1)
    one.limits.failed_logins.hit(PAYER)
    await one.counts.share()
    rows = await db.query("SELECT name, subject FROM rates ORDER BY name")
    assert [row["name"] for row in rows] == ["failed login", "payer"]
    assert all(len(row["subject"]) == 32 and PAYER not in row["subject"] for row in rows)
    assert rows[0]["subject"] != rows[1]["subject"]
    other = SharedCounts(db, b"another key", lambda: clock() / 1000)
    RateLimits(None, Rate(LIMIT, 60), other).payers.hit(PAYER)
    await other.share()
    assert len(await db.query("SELECT 1 AS one FROM rates WHERE name = 'payer'")) == 2


async def test_windows_that_are_over_are_swept(db: Database, clock: Clock) -> None:
    one = Replica(db, clock)
    one.admits(1)
    await one.counts.share()
    clock.advance(KEPT_SECONDS - SWEEP_SECONDS)
    one.admits(1)
    await one.counts.share()
    assert len(await db.query("SELECT slot FROM rates")) == 2
    clock.advance(2 * SWEEP_SECONDS)
    await one.counts.share()
    assert len(await db.query("SELECT slot FROM rates")) == 1


async def test_windows_that_are_over_leave_the_memory(db: Database, clock: Clock) -> None:
    one = Replica(db, clock)
    one.admits(1)
    clock.advance(60)
    await one.counts.share()
    assert one.counts.reset() == 0
    assert await db.query("SELECT slot FROM rates") == []  # it would inform nobody


async def test_counts_are_shared_again_after_an_outage(
    db: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.service.api.rate_limits.SHARE_SECONDS", 0)
    one, outages = Replica(db, clock), [StorageError("the server is away")] * 3
    stored, share = asyncio.Event(), one.counts.share

    async def share_later() -> None:
        if outages:
            raise outages.pop()
        await share()
        stored.set()

    monkeypatch.setattr(one.counts, "share", share_later)
    one.admits(3)
    running = asyncio.create_task(one.counts.run())
    await stored.wait()
    running.cancel()
    assert [row["hits"] for row in await db.query("SELECT hits FROM rates")] == [3]
