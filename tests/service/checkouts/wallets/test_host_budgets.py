"""Calls of a provider: never more than HOST_CALLS, and fairly shared among payers and wallets.

The provider is an LNbits over real HTTP that counts its calls; time is simulated in steps of 50 ms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from bot.core.database.database import Database, Transaction
from bot.core.net.rates import Rate
from bot.core.outbox import outbox
from bot.core.outbox.host_budgets import ASKED, HostBudget
from bot.core.outbox.queue_policy import Queue
from bot.core.outbox.worker import QueueHandler
from bot.interface.vocabulary import LNBITS, CheckoutState
from bot.service.checkouts import wallet_calls
from bot.service.checkouts.checkout import Holder
from bot.service.checkouts.wallet_calls import (
    OPENINGS,
    POLLS,
    ROOM,
    ZONE_ROOM,
    DueOpening,
    DuePoll,
    OpeningHandler,
    PaymentPoller,
    WalletLane,
    groups_of,
)
from bot.service.payments import account_rows
from bot.service.rails.host_calls import HostCalls
from bot.service.rails.lnbits import LNbitsRail
from bot.service.rails.rail import Rails
from tests.support.checkout_steps import begin, found, state_of
from tests.support.lightning_wallet import (
    INVOICE_KEY,
    THIS_MACHINE,
    LNbitsStandIn,
    serve_wallet,
    text_answer,
)
from tests.support.real_rails import connect
from tests.support.service_harness import Clock, ServiceHarness, open_service
from tests.support.webhook_delivery import handle

BUDGET = Rate(300, 60)
"""The default of HOST_CALLS."""

STEP = 0.05
POLL = 1.6
"""Seconds between two polls that an open page asks for."""


@dataclass
class Provider(LNbitsStandIn):
    """Notes when each call came, in epoch ms."""

    times: list[int] = field(default_factory=list)

    def _answer(self, route: str, fields: dict[str, Any], status: int = 200) -> Any:
        self.times.append(self.now())
        return super()._answer(route, fields, status)

    def most_in(self, seconds: int) -> int:
        """Return the most calls in any period of this length."""
        span = seconds * 1000
        return max(sum(at <= one < at + span for one in self.times) for at in self.times)


@dataclass
class Market:
    """Sellers whose wallets are at one provider, their payers, and the worker of each queue."""

    service: ServiceHarness
    provider: Provider
    queue_handlers: list[QueueHandler]
    pages: dict[str, int] = field(default_factory=dict)
    greedy: set[str] = field(default_factory=set)
    payers: int = 0

    @property
    def clock(self) -> Clock:
        return self.service.clock

    async def connect(self, owner: str) -> None:
        details = {"url": self.provider.url, "key": INVOICE_KEY}
        answer = await connect(self.service, LNBITS, owner, **details)
        assert answer.status_code == 200, answer.text
        self.clock.advance(60)

    async def link(self, owner: str) -> str:
        """Return the id of a new unlimited link of a seller."""
        receivers = [{"sendAmount": 21, "destination": f"account:{owner}"}]
        made = await self.service.create(instrumentCurrencyCode="SAT", receivers=receivers)
        return str(made["id"])

    async def press_pay(self, request_id: str, network: str) -> str:
        self.payers += 1
        holder = Holder(network, f"{self.payers}", peer=network)
        token = f"{self.payers:032x}"
        return await begin(self.service, request_id, LNBITS, token, holder=holder)

    async def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP)):
            self.clock.advance(STEP)
            for checkout_id, asks_at in self.pages.items():
                if asks_at <= self.clock():
                    await self.poll(checkout_id)
                    self.pages[checkout_id] = self.clock() + int(POLL * 1000)
            for queue_handler in self.queue_handlers:
                await self.work(queue_handler)

    async def poll(self, checkout_id: str) -> None:
        """Ask for news as the checkout's page does, whose script waits for the wallet."""
        it = await found(self.service, checkout_id)
        if it.state(self.clock()) is CheckoutState.OPEN:
            await wallet_calls.hint_for_page(self.service.db, it, self.clock())

    async def work(self, queue_handler: QueueHandler) -> None:
        """Claim and handle as long as something may go; a hostile page asks again at once."""
        db = self.service.db
        while claimed := await db.transaction(
            lambda tx: outbox.claim(
                tx, queue_handler.queue, self.clock(), queue_handler.concurrency
            )
        ):
            for message in claimed:
                await handle(queue_handler, message)
                if message.body.checkout_id in self.greedy:
                    hint = partial(wallet_calls.hint, checkout_id=message.body.checkout_id)
                    await db.transaction(partial(hint, now=self.clock()))

    async def until(self, checkout_id: str, state: str, most: float = 60) -> float:
        """Let time pass until a checkout has a state; return the seconds."""
        began = self.clock()
        while await state_of(self.service, checkout_id) != state:
            await self.pass_time(STEP)
            assert self.clock() < began + most * 1000, await self.service.rows("outbox")
        return (self.clock() - began) / 1000

    async def buy(self, request_id: str, network: str, hesitates: float) -> tuple[float, float]:
        """Open a checkout and pay its invoice; return the seconds until opened, and until told."""
        checkout_id = await self.press_pay(request_id, network)
        opened = await self.until(checkout_id, "open")
        self.pages[checkout_id] = self.clock()
        await self.pass_time(hesitates)
        it = await found(self.service, checkout_id)
        self.provider.paid.add(str(it.external_id))
        told = await self.until(checkout_id, "paid")
        del self.pages[checkout_id]
        return opened, told


@asynccontextmanager
async def open_market(database_url: str, rate: Rate | None = BUDGET) -> AsyncIterator[Market]:
    budget = HostBudget(rate)

    def rails(db: Any, clock: Clock) -> Rails:
        return Rails(LNbitsRail(THIS_MACHINE, clock, HostCalls(db, clock, budget)))

    async with open_service(database_url, rails=rails) as service:
        service.db.run(lambda tx: account_rows.write_offered(tx, [LNBITS]))
        provider = Provider(service.clock)
        try:
            async with serve_wallet(provider):
                given = (service.db, service.context, service.clock, budget)
                market = Market(
                    service,
                    provider,
                    [OpeningHandler(*given).queue_handler, PaymentPoller(*given).queue_handler],
                )
                for owner in ("anna", "mallory"):
                    await market.connect(owner)
                yield market
        finally:
            await service.context.rails.close()


async def besiege(market: Market, networks: int, links: int = 10, each: int = 100) -> None:
    """Open checkouts of a hostile seller's links, whose pages never stop asking."""
    free = OpeningHandler(market.service.db, market.service.context, market.clock).queue_handler
    paths = [await market.link("mallory") for _ in range(links)]
    for number in range(links * each):
        path = paths[number % links]
        market.greedy.add(await market.press_pay(path, f"hostile{number // links % networks}"))
        market.clock.advance(STEP)
        await market.work(free)
    rows = await market.service.db.query("SELECT id FROM checkouts WHERE state = 'open'")
    assert len(rows) == links * each
    market.provider.times.clear()
    market.clock.advance(120)


@pytest.mark.long
@pytest.mark.parametrize("networks", [1, 10])
async def test_another_sellers_payment_is_told_within_three_seconds_beside_a_thousand(
    database_url: str, networks: int
) -> None:
    """A thousand open checkouts of one network or ten, whose pages ask without a pause.

    Invoices are made at once, and the provider gets no more calls than its budget in any minute.
    """
    async with open_market(database_url) as market:
        honest = await market.link("anna")
        await besiege(market, networks)
        for checkout_id in market.greedy:
            await market.poll(checkout_id)
        await market.pass_time(10)
        bought = [
            await market.buy(honest, f"honest{number}", hesitates=4 + number * 0.7)
            for number in range(6)
        ]
        opened, told = zip(*bought, strict=True)
        assert max(opened) <= 0.5
        assert max(told) <= 3
        await market.pass_time(20)
        calls = market.provider.times
        assert market.provider.most_in(60) <= BUDGET.count
        assert len(calls) > 4.5 * (calls[-1] - calls[0]) / 1000


@pytest.mark.long
async def test_openings_are_shared_by_networks_too(database_url: str) -> None:
    """Four hundred forms of one network delay an honest payer's invoice by less than a second."""
    async with open_market(database_url) as market:
        honest, hostile = await market.link("anna"), await market.link("mallory")
        for _ in range(400):
            await market.press_pay(hostile, "hostile")
        await market.pass_time(20)
        opened, told = await market.buy(honest, "honest", hesitates=5)
        assert (opened <= 1, told <= 3) == (True, True)
        assert market.provider.most_in(60) <= BUDGET.count


async def test_payers_behind_one_address_share_by_link(database_url: str) -> None:
    """A hundred open checkouts of another link don't hold up who has the same address."""
    async with open_market(database_url) as market:
        honest = await market.link("anna")
        await besiege(market, networks=1, links=1)
        for checkout_id in market.greedy:
            await market.poll(checkout_id)
        await market.pass_time(10)
        opened, told = await market.buy(honest, "hostile0", hesitates=5)
        assert (opened <= 1, told <= 3) == (True, True)


@pytest.mark.parametrize("wallet", ["relay.example/key{}", "host.example:{}"])
def test_one_network_has_one_turn_however_many_wallets_it_pays_at_a_host(
    db: Database, clock: Clock, wallet: str
) -> None:
    """Two hundred keys of one relay, or ports of one host, whose pages never stop asking."""
    queue = replace(POLLS, budget=HostBudget(BUDGET))

    def ask(tx: Transaction, number: int, network: str) -> None:
        lane = WalletLane(wallet.format(number), network, ASKED)
        body = DuePoll(f"{number}")
        outbox.put(tx, POLLS, str(lane), body, clock(), subject=f"link{number}")

    def work(tx: Transaction) -> list[int]:
        found = outbox.claim(tx, queue, clock(), 256)
        for message in found:
            outbox.done(tx, queue, message, clock())
        polled = [int(message.body.checkout_id) for message in found]
        for number in polled:
            if number:
                ask(tx, number, "hostile")
        return polled

    for number in range(1, 201):
        db.run(partial(ask, number=number, network="hostile"))
    told = []
    for _ in range(6):
        for _ in range(60):
            clock.advance(STEP)
            db.run(work)
        db.run(partial(ask, number=0, network="honest"))
        began, polled = clock(), db.run(work)
        while 0 not in polled:
            clock.advance(STEP)
            polled = db.run(work)
            assert clock() < began + 60_000
        told.append((clock() - began) / 1000)
    assert max(told) <= 1


async def test_a_host_that_answers_429_gets_no_call_before_the_time_that_it_names(
    database_url: str,
) -> None:
    """Neither polls nor openings nor probes; what was asked for meanwhile happens then."""
    async with open_market(database_url) as market:
        honest = await market.link("anna")
        checkout_id = await market.press_pay(honest, "payer")
        await market.until(checkout_id, "open")
        it = await found(market.service, checkout_id)
        market.provider.answers["payment"] = text_answer("slow down", 429, **{"retry-after": "40"})
        await market.pass_time(1)
        await market.poll(checkout_id)
        await market.pass_time(2)
        calls = len(market.provider.asked)
        market.provider.answers.clear()
        market.provider.paid.add(str(it.external_id))
        await market.poll(checkout_id)
        other = await market.press_pay(honest, "another")
        refused = await connect(
            market.service, LNBITS, "new", url=market.provider.url, key=INVOICE_KEY
        )
        assert refused.status_code == 400
        await market.pass_time(36)
        assert (len(market.provider.asked), await state_of(market.service, other)) == (
            calls, "opening",
        )  # fmt: skip
        assert await market.until(checkout_id, "paid", most=4) <= 3
        assert await market.until(other, "open", most=1) <= 1


async def test_an_opening_is_refused_at_a_host_that_is_closed_for_long(database_url: str) -> None:
    """Its payer can choose another way; no call was made."""
    async with open_market(database_url) as market:
        honest = await market.link("anna")
        market.provider.answers["create"] = text_answer("tomorrow", 429, **{"retry-after": "7200"})
        first = await market.press_pay(honest, "payer")
        await market.pass_time(1)
        calls = len(market.provider.asked)
        assert await state_of(market.service, first) == "failed"
        second = await market.press_pay(honest, "another")
        await market.pass_time(1)
        it = await found(market.service, second)
        assert (it.stored_state.value, it.failure) == ("failed", "slow")
        assert len(market.provider.asked) == calls


async def test_an_opening_that_met_a_429_is_tried_again(database_url: str) -> None:
    """LNbits' own limit names no time: a quarter of a minute then."""
    async with open_market(database_url) as market:
        honest = await market.link("anna")
        body = '{"error":"Rate limit exceeded: 200 per 1 minute"}'
        market.provider.answers["create"] = text_answer(body, 429)
        checkout_id = await market.press_pay(honest, "payer")
        await market.pass_time(1)
        market.provider.answers.clear()
        seconds = await market.until(checkout_id, "open", most=20)
        assert 14 <= seconds <= 16
        assert market.provider.paths()[-2:] == ["/api/v1/payments"] * 2


async def test_a_hint_is_not_lost_to_a_429(database_url: str) -> None:
    """A wallet announces money once."""
    async with open_market(database_url) as market:
        honest = await market.link("anna")
        checkout_id = await market.press_pay(honest, "payer")
        await market.until(checkout_id, "open")
        it = await found(market.service, checkout_id)
        await market.pass_time(400)
        market.provider.answers["payment"] = text_answer("", 429, **{"retry-after": "3"})
        market.provider.paid.add(str(it.external_id))
        hint = partial(wallet_calls.hint, checkout_id=checkout_id, now=market.clock())
        await market.service.db.transaction(hint)
        await market.pass_time(1)
        market.provider.answers.clear()
        assert await market.until(checkout_id, "paid", most=4) <= 3


async def test_nobody_asks_for_it_so_a_wallet_is_asked_every_five_seconds(
    database_url: str,
) -> None:
    """The fast pace is for open pages and hints."""
    async with open_market(database_url) as market:
        honest = await market.link("anna")
        checkout_id = await market.press_pay(honest, "payer")
        await market.until(checkout_id, "open")
        market.provider.times.clear()
        await market.pass_time(60)
        assert len(market.provider.times) == 12
        market.provider.times.clear()
        market.pages[checkout_id] = 0
        await market.pass_time(60)
        assert 35 <= len(market.provider.times) <= 38


async def test_a_networks_pseudonym_is_forgotten_with_the_last_quick_poll(
    database_url: str,
) -> None:
    """The polls of an hour and a day later name nobody; neither does the pseudonym itself."""
    async with open_market(database_url) as market:
        honest = await market.link("anna")
        checkout_id = await market.press_pay(honest, "payer")
        await market.until(checkout_id, "open")
        lanes = "SELECT lane FROM outbox WHERE queue = 'looks'"
        (row,) = await market.service.db.query(lanes)
        assert WalletLane.parse(row["lane"]).peer == "payer"
        market.clock.advance(900 + 600)
        await market.pass_time(1)
        (row,) = await market.service.db.query(lanes)
        assert WalletLane.parse(row["lane"]).peer == ""


@pytest.mark.parametrize("rate", [None, BUDGET])
async def test_the_calls_of_a_host_are_counted_for_metrics(
    database_url: str, rate: Rate | None
) -> None:
    async with open_market(database_url, rate) as market:
        counted: Counter[tuple[str, ...]] = Counter()
        market.service.db.count_with(lambda *labels: counted.update([labels]))
        honest = await market.link("anna")
        checkout_id = await market.press_pay(honest, "payer")
        await market.until(checkout_id, "open")
        for _ in range(30):
            await market.press_pay(honest, "payer")
        await market.pass_time(1)
        assert (counted["host_calls", "opening", "taken"] == 31) is (rate is None)
        market.provider.answers["payment"] = text_answer("", 429)
        await market.poll(checkout_id)
        await market.pass_time(2)
        assert counted["host_calls", "asked", "taken"] == 1
        assert (counted["host_calls", "opening", "delayed"] > 0) is (rate is not None)
        assert counted["host_closings",] == 1


@pytest.mark.parametrize("queue", [OPENINGS, POLLS], ids=lambda queue: queue.name)
@pytest.mark.parametrize(
    ("domain", "others"),
    [
        ("silent.example", ["good.example", "relay.example"]),
        ("silent.com.br", ["honest.com.br"]),
    ],
)
async def test_wallets_of_one_zone_leave_room_for_others(
    service: ServiceHarness, queue: Queue, domain: str, others: list[str]
) -> None:
    """Whoever owns a domain can invent hosts and ports that never answer.

    Domains below one public suffix, such as `com.br`, are zones of their own.
    """
    body = DuePoll("one") if queue is POLLS else DueOpening("one")
    lanes = [f"w{number}.{domain}:{443 + number}" for number in range(ROOM)]

    def work(tx: Transaction) -> Counter[str]:
        for lane in [*lanes, *lanes, *(f"wallet.{other}/{'ab' * 32}" for other in others)]:
            outbox.put(tx, queue, str(WalletLane(lane)), body, service.clock())
        claimed = outbox.claim(tx, queue, service.clock(), ROOM)
        return Counter(groups_of(message.lane)[-1] for message in claimed)

    found = await service.db.transaction(work)
    assert found == {domain: ZONE_ROOM} | dict.fromkeys(others, 1)


@pytest.mark.parametrize(
    ("wallet", "host", "zone"),
    [
        ("wallet.example.org:443", "wallet.example.org", "example.org"),
        ("wallet.shop.com.br:443", "wallet.shop.com.br", "shop.com.br"),
        ("lnbits:5000", "lnbits", "lnbits"),
        ("192.0.2.7:8443", "192.0.2.7", "192.0.2.7"),
        ("2001:db8::7:443", "2001:db8::7", "2001:db8::7"),
        (f"relay.example.org/{'ab' * 32}", "relay.example.org", "example.org"),
    ],
)
def test_a_lane_has_the_groups_of_its_host_its_wallet_and_its_zone(
    wallet: str, host: str, zone: str
) -> None:
    lane = WalletLane(wallet, "0123456789abcdef", "asked")
    assert WalletLane.parse(str(lane)) == lane
    assert groups_of(str(lane)) == (f"asked {host}", f"wallet {wallet}", zone)
    assert groups_of(str(WalletLane(""))) == ()
