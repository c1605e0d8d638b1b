"""Calls of hosts: each takes from its budget, whichever rail, redirect or replica makes it."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from bot.core.database.database import Database
from bot.core.errors import InvalidBody, Throttled, Unreachable
from bot.core.net.guarded_transport import GuardedDialler
from bot.core.net.http_client import ssl_context
from bot.core.net.rates import Rate
from bot.core.net.webhook_addresses import AllowList
from bot.core.outbox.host_budgets import OPENING, OTHER, HostBudget
from bot.service.rails.host_calls import HostCalls, claimed
from bot.service.rails.nostr_wallet import Call, Scheme, Wallets
from bot.service.rails.nwc import NwcRail
from bot.service.rails.rail import Opened, Unavailable, Waiting
from bot.service.rails.relays import Relays, guarded_dial
from bot.service.rails.wallet_http import WalletHttp
from tests.support.lightning_wallet import (
    LnurlService,
    WalletShop,
    redirect_to,
    serve_wallet,
    text_answer,
)
from tests.support.nwc_wallet import LocalRelay, NwcWallet
from tests.support.relays import Request, connection, scripted_relay
from tests.support.service_harness import LOOPBACK, Clock

HOST = "127.0.0.1"
MINUTE = Rate(2, 60)


@pytest.fixture
def calls(db: Database, clock: Clock) -> HostCalls:
    """Budgets of two calls a minute, of which one purpose has one at once."""
    return HostCalls(db, clock, HostBudget(MINUTE))


def called(db: Database) -> set[str]:
    """Return the hosts that were called."""
    rows = db.run(lambda tx: tx.query("SELECT lane FROM lanes WHERE queue = 'hosts'"))
    return {row["lane"].partition(" ")[0] for row in rows}


async def test_what_a_claim_has_taken_is_not_taken_again(calls: HostCalls, db: Database) -> None:
    """What its message needs beyond that is; it waits for a slot of its own, but not for long."""
    with claimed(HOST, OPENING):
        await calls.take(HOST)
        assert called(db) == set()
        await calls.take(HOST)
        await calls.take(HOST)
        with pytest.raises(Throttled) as late:
            await calls.take(HOST)
    assert late.value.retry_after == 60
    assert called(db) == {HOST}


async def test_a_call_of_a_host_that_no_claim_paid_for_is_refused_once_its_share_is_used(
    calls: HostCalls, db: Database, clock: Clock
) -> None:
    """Whoever names a stranger's host takes no more than that share of its calls."""
    counted: Counter[tuple[str, ...]] = Counter()
    db.count_with(lambda *labels: counted.update([labels]))
    await calls.take(HOST)
    with claimed("elsewhere.example", OPENING), pytest.raises(Throttled):
        await calls.take(HOST)
    clock.advance(60)
    await calls.take(HOST)
    outcomes = {outcome: counted["host_calls", OTHER, outcome] for outcome in ("taken", "delayed")}
    assert outcomes == {"taken": 2, "delayed": 1}


async def test_replicas_share_budgets_and_closings(
    calls: HostCalls, db: Database, clock: Clock
) -> None:
    other = HostCalls(db, clock, HostBudget(MINUTE))
    await calls.take(HOST)
    with pytest.raises(Throttled):
        await other.take(HOST)
    await calls.close("closed.example", 30)
    for one in (calls, other):
        with pytest.raises(Throttled) as closed:
            await one.take("closed.example")
        assert closed.value.retry_after == 30
    clock.advance(30)
    await other.take("closed.example")


async def test_a_host_is_closed_for_a_day_at_most(calls: HostCalls, clock: Clock) -> None:
    await calls.close(HOST, 10**9)
    clock.advance(24 * 3600 - 1)
    with pytest.raises(Throttled):
        await calls.take(HOST)
    clock.advance(1)
    await calls.take(HOST)


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_a_clock_that_was_a_year_ahead_closes_no_host_for_a_year(
    calls: HostCalls, db: Database, clock: Clock, *, is_restarted: bool
) -> None:
    """What a host asks for after that is heeded again."""
    clock.advance(366 * 86_400)
    await calls.close(HOST, 40)
    clock.advance(-366 * 86_400)
    it = HostCalls(db, clock, HostBudget(MINUTE)) if is_restarted else calls
    await it.take(HOST)
    await it.close(HOST, 30)
    for one in (it, HostCalls(db, clock, HostBudget(None))):
        with pytest.raises(Throttled) as closed:
            await one.take(HOST)
        assert closed.value.retry_after == 30


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (429, {"retry-after": "40"}, 40),
        (429, {}, 15),
        (429, {"retry-after": "soon"}, 15),
        (503, {"retry-after": "7"}, 7),
        (503, {}, 0),
        (500, {"retry-after": "7"}, 0),
        (
            429,
            {
                "retry-after": "Fri, 15 Jan 2027 08:00:20 GMT",
                "date": "Fri, 15 Jan 2027 08:00:00 GMT",
            },
            20,
        ),
    ],
)
@pytest.mark.parametrize("body", ["{}", "<html>" + "x" * 70_000])
async def test_a_host_says_when_it_may_be_called_again(
    *, db: Database, clock: Clock, status: int, headers: dict[str, str], seconds: int, body: str
) -> None:
    """Whatever the body is; a date counts by the host's own clock."""
    http = WalletHttp(AllowList.parse(HOST), HostCalls(db, clock, HostBudget(None)))
    wallet = LnurlService(clock)
    wallet.answers["offer"] = text_answer(body, status, **headers)
    async with serve_wallet(wallet):
        url = f"{wallet.url}/.well-known/lnurlp/shop"
        for _ in range(2):
            try:
                await http.get(url)
            except Exception as error:  # noqa: BLE001 - some bodies are no answer either
                refused = error
        assert len(wallet.asked) == (1 if seconds else 2)
        if seconds:
            assert isinstance(refused, Throttled)
            assert refused.retry_after == seconds
            clock.advance(seconds - 1)
            with pytest.raises(Throttled):
                await http.get(url)
            assert len(wallet.asked) == 1
        await http.close()


async def test_each_host_of_a_redirect_is_counted(db: Database, clock: Clock) -> None:
    allow = AllowList.parse("127.0.0.1, localhost")
    http = WalletHttp(allow, HostCalls(db, clock, HostBudget(Rate(300, 60))))
    wallet = LnurlService(clock)
    async with serve_wallet(wallet):
        wallet.answers["offer"] = redirect_to(f"{wallet.url}/verify/{'0' * 64}")
        moved = wallet.url.replace("127.0.0.1", "localhost")
        await http.get(f"{moved}/.well-known/lnurlp/shop")
        await http.close()
    assert called(db) == {"localhost", "127.0.0.1"}


async def test_asks_of_a_relay_are_calls_of_its_host(db: Database, clock: Clock) -> None:
    """An opening that gets none is tried again, and a poll; a probe says that nobody answered."""
    clock.at = int(time.time() * 1000)
    calls = HostCalls(db, clock, HostBudget(MINUTE))
    rail = NwcRail(AllowList.parse(HOST), clock, calls)
    async with LocalRelay() as relay, NwcWallet(relay.url) as wallet:
        details = {"connection": wallet.connection, "encryption": "nip44_v2"}
        shop = WalletShop(rail, clock, details)
        first = await shop.open()
        heard = len(wallet.heard)
        assert heard == 1, first
        again = await shop.open()
        assert isinstance(again, Unavailable)
        assert (again.reason, again.again_in) == ("slow", 60)
        found = await shop.poll(Opened("0" * 64))
        assert isinstance(found, Waiting)
        assert found.again_in == 60
        with pytest.raises(InvalidBody):
            await rail.connect(details)
        assert len(wallet.heard) == heard
    await rail.close()


async def test_a_relay_that_is_asked_too_fast_is_left_alone(db: Database, clock: Clock) -> None:
    """NIP-01 has no Retry-After: a quarter of a minute then."""
    relays = Relays(guarded_dial(GuardedDialler(LOOPBACK), ssl_context()))
    heard: list[str] = []

    async def busy(request: Request) -> None:
        heard.append("busy")
        await request.acknowledge("rate-limited: slow down")

    calls = HostCalls(db, clock, HostBudget(None))
    wallets = Wallets(relays, clock, calls)
    ask = Call("get_info", {}, (5.0,))
    async with scripted_relay(busy) as one:
        with pytest.raises(Unreachable):
            await wallets.call(connection(one.url), Scheme.NIP44, ask)
        with pytest.raises(Throttled):
            await wallets.call(connection(one.url), Scheme.NIP44, ask)
        assert heard == ["busy"]
        clock.advance(15)
        with pytest.raises(Unreachable):
            await wallets.call(connection(one.url), Scheme.NIP44, ask)
        assert heard == ["busy"] * 2
    await relays.close()
