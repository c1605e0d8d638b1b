"""The stage of a flood: the product as it starts by default, payers, and how late sellers hear.

`measure` pays in calm, during the flood and afterwards, and holds what came of it to the promises.
"""

from __future__ import annotations

import asyncio
import ipaddress
import itertools
import ssl
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from bench.stage import TOKEN
from tests.proofs import clusters, flood_telegram, processes, proof
from tests.support.free_ports import free_port

RATE = 5.0
"""Payments a second."""

CALM_PART = 3
"""The payments before the flood last a third as long as it."""

QUIET_SECONDS = 2.0
"""Seconds without a call after which what was prepared counts as done."""

SETTLE_SECONDS = 180.0
"""The longest wait for alerts."""

LATE_SECONDS = 2.0
"""How late one in a hundred alerts may be in a flood."""

GROWTH_MIB = 50.0
"""How much more memory the product may hold after a flood than before it."""

FIRST_ADDRESS = ipaddress.IPv4Address("127.1.0.1")
PROBE_ADDRESS = "127.9.0.1"
PROBE_SECONDS = 0.25
PATIENCE = 10.0
"""Seconds after which a payer gives up."""

LOOK_AGAIN = 0.5
NEVER = float("inf")
_TLS = ssl.create_default_context()
"""Shared: nothing here speaks TLS, and making one takes longer than a payment."""


@dataclass(slots=True)
class Payment:
    """One attempt to pay; its times are epoch seconds."""

    chat: int
    began: float
    posted: bool = False
    """Whether the form was sent: then it may be paid without the payer hearing of it."""

    status: int = 0
    """303 once paid, 0 if no answer came."""

    paid: float = 0.0
    receipt: str = ""

    @property
    def is_served(self) -> bool:
        """Whether the payer has paid and knows it."""
        return self.status == httpx.codes.SEE_OTHER


@dataclass(slots=True)
class Payers:
    """Whoever pays the sellers in turn, each a browser with its own address and cookies."""

    url: str
    pages: dict[int, str]
    """The path of each seller's page, by chat."""

    made: list[Payment] = field(default_factory=list)

    async def pay(self, seconds: float, rate: float = RATE) -> None:
        """Begin `rate` payments a second, whether those before have been answered or not."""
        chats = itertools.cycle(self.pages)
        due, until = time.monotonic(), time.monotonic() + seconds
        async with asyncio.TaskGroup() as payers:
            while due < until:
                payment = Payment(next(chats), time.time())
                self.made.append(payment)
                payers.create_task(self._pay(payment, len(self.made)))
                due += 1 / rate
                await asyncio.sleep(max(0.0, due - time.monotonic()))

    async def _pay(self, payment: Payment, number: int) -> None:
        try:
            async with asyncio.timeout(PATIENCE), browser(self.url, address(number)) as http:
                page = self.pages[payment.chat]
                token = TOKEN.search((await http.get(page)).text)
                payment.posted = True
                answer = await http.post(page, data={"token": token[1] if token else ""})
                payment.paid, payment.status = time.time(), answer.status_code
                payment.receipt = answer.headers.get("location", "")
        except (TimeoutError, httpx.TransportError):
            payment.paid = time.time()


def address(number: int, first: ipaddress.IPv4Address = FIRST_ADDRESS) -> str:
    """Return an address of this machine, another one for each number."""
    return str(first + number)


@asynccontextmanager
async def browser(url: str, source: str) -> AsyncIterator[httpx.AsyncClient]:
    """Make a client with a cookie jar that connects from an address of this machine."""
    transport = httpx.AsyncHTTPTransport(local_address=source, verify=_TLS)
    client = httpx.AsyncClient(
        base_url=url, transport=transport, timeout=PATIENCE, trust_env=False, verify=_TLS
    )
    async with client:
        yield client


async def pay_once(url: str, path: str, source: str) -> httpx.Response:
    """Pay as a browser that connects from this address; the answer to its form."""
    async with browser(url, source) as http:
        token = TOKEN.search((await http.get(path)).text)
        return await http.post(path, data={"token": token[1] if token else ""})


@dataclass(slots=True)
class Alerts:
    """The alerts that a Bot API server has taken, by chat: when each payment was told of."""

    telegram: flood_telegram.Telegram
    chats: frozenset[int]
    """Only those count: others may sell and be paid beside the payers who are measured."""

    told: defaultdict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    seen: int = 0

    async def look(self) -> None:
        """Take in the alerts that are new."""
        self.seen, found = await self.telegram.ask("alerts", after=self.seen)
        for chat, at, payments in found:
            if chat in self.chats:
                self.told[chat] += [at] * payments

    async def settle(self, payments: Sequence[Payment]) -> None:
        """Wait until every payment is told of, but not for too long."""
        until = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < until:
            await self.look()
            if not self.lost(payments):
                return
            await asyncio.sleep(LOOK_AGAIN)

    def lags(self, payments: Sequence[Payment]) -> list[tuple[Payment, float]]:
        """Return each payment with the seconds until it was told of: in a chat they go in order."""
        found = []
        for chat, paid in _paid(payments).items():
            told = self.told[chat]
            for place, payment in enumerate(paid):
                at = told[place] if place < len(told) else NEVER
                found.append((payment, max(0.0, at - payment.paid)))
        return found

    def late(self, everything: Sequence[Payment], some: Sequence[Payment]) -> proof.Spread:
        """Return how late the alerts of some of the payments came."""
        chosen = {id(payment) for payment in some}
        lags = self.lags(everything)
        return proof.Spread.of([lag for payment, lag in lags if id(payment) in chosen])

    def lost(self, payments: Sequence[Payment]) -> int:
        """Return how many payments were not told of."""
        paid = _paid(payments)
        return sum(max(0, len(made) - len(self.told[chat])) for chat, made in paid.items())

    def doubled(self, payments: Sequence[Payment]) -> int:
        """Return how many alerts there were of nothing that was paid."""
        possible = Counter(payment.chat for payment in payments if payment.posted)
        return sum(max(0, len(told) - possible[chat]) for chat, told in self.told.items())


def _paid(payments: Sequence[Payment]) -> dict[int, list[Payment]]:
    by_chat: defaultdict[int, list[Payment]] = defaultdict(list)
    for payment in sorted(payments, key=lambda one: one.paid):
        if payment.is_served:
            by_chat[payment.chat].append(payment)
    return by_chat


@dataclass(frozen=True, slots=True)
class Stage:
    """The product at work, with sellers whose requests can be paid."""

    telegram: flood_telegram.Telegram
    server: clusters.Replica
    payers: Payers
    figures: proof.Figures

    @property
    def pages(self) -> list[str]:
        """Return the paths of the sellers' pay pages."""
        return list(self.payers.pages.values())

    @property
    def pid(self) -> int:
        assert self.server.process
        return self.server.process.pid


Act = Callable[[Stage, float], Coroutine[Any, Any, object]]
"""A flood that lasts for the seconds it is told; it adds what it saw itself to the figures."""


@dataclass(frozen=True, slots=True)
class Flood:
    """One flood."""

    name: str
    act: Act
    prepare: Callable[[Stage], Coroutine[Any, Any, None]] | None = None
    letters: bool = False
    """Whether the product sends emails."""


async def measure(size: proof.Size, *floods: Flood) -> proof.Figures:
    """Play each flood on a product and a Telegram of its own."""
    figures = proof.Figures()
    for flood in floods:
        async with playing(size.sellers, figures, letters=flood.letters) as stage:
            with figures.of(flood.name):
                if flood.prepare:
                    await flood.prepare(stage)
                await stage.telegram.ask("quiet", seconds=QUIET_SECONDS)
                await _measure(flood, size.seconds, stage)
    return figures


async def _measure(flood: Flood, seconds: float, stage: Stage) -> None:
    payers, figures = stage.payers, stage.figures
    alerts = Alerts(stage.telegram, frozenset(payers.pages))
    await alerts.look()
    alerts.told.clear()  # of what was paid in preparation
    await payers.pay(seconds / CALM_PART)
    await alerts.settle(payers.made)
    calm = list(payers.made)
    async with processes.peak(stage.pid) as memory, probing(stage.server.url) as livez:
        async with asyncio.TaskGroup() as both:
            both.create_task(flood.act(stage, seconds))
            both.create_task(payers.pay(seconds))
        ended = time.monotonic()
    await alerts.settle(payers.made)
    await asyncio.sleep(max(0.0, ended + seconds - time.monotonic()))  # memory comes back meanwhile
    await alerts.look()
    flooded = payers.made[len(calm) :]
    late = alerts.late(payers.made, flooded)
    figures.note("alerts in calm, p50/p99/max", alerts.late(payers.made, calm))
    figures.note("alerts in the flood, p50/p99/max", late)
    figures.at_most("alerts in the flood, p99 in seconds", late.p99, LATE_SECONDS)
    paying = proof.Spread.of([payment.paid - payment.began for payment in flooded])
    figures.note("paying, p50/p99/max", paying)
    figures.note("/livez, p50/p99/max", proof.Spread.of(livez))
    hold_memory(figures, memory, stage)
    hold_payers(figures, alerts, payers.made)
    hold_process(figures, stage)


def hold_memory(figures: proof.Figures, memory: processes.Peak, stage: Stage) -> None:
    """Hold the memory to what it was before."""
    after = processes.resident(stage.pid)
    figures.note("MiB before/peak/after", f"{memory.before:.0f}/{memory.most:.0f}/{after:.0f}")
    figures.at_most("MiB more than before", after - memory.before, GROWTH_MIB)


def hold_payers(figures: proof.Figures, alerts: Alerts, made: Sequence[Payment]) -> None:
    """Hold the payers to having paid, and the alerts to their payments."""
    figures.hold("payers served", sum(payment.is_served for payment in made), len(made))
    figures.hold("alerts lost", alerts.lost(made), 0)
    figures.hold("alerts doubled", alerts.doubled(made), 0)


def hold_process(figures: proof.Figures, stage: Stage) -> None:
    """Hold the product to what should be so whatever the flood."""
    figures.hold("ends of the product", int(not stage.server.is_running), 0)
    figures.hold("tracebacks in the log", stage.server.tracebacks(), 0)


@asynccontextmanager
async def probing(url: str) -> AsyncIterator[list[float]]:
    """Ask /livez during the block, each time on a new connection; yield the seconds it took.

    They are `PATIENCE` if no answer came.
    """
    taken: list[float] = []

    async def ask() -> None:
        began = time.perf_counter()
        try:
            async with browser(url, PROBE_ADDRESS) as http:
                (await http.get("/livez")).raise_for_status()
            taken.append(time.perf_counter() - began)
        except httpx.HTTPError:
            taken.append(PATIENCE)

    async def steadily() -> None:
        async with asyncio.TaskGroup() as asking:
            while True:
                asking.create_task(ask())
                await asyncio.sleep(PROBE_SECONDS)

    probe = asyncio.create_task(steadily())
    try:
        yield taken
    finally:
        probe.cancel()
        await asyncio.gather(probe, return_exceptions=True)


@asynccontextmanager
async def playing(sellers: int, figures: proof.Figures, *, letters: bool) -> AsyncIterator[Stage]:
    """Run a Telegram and the product by its defaults, with the sellers' requests made."""
    async with flood_telegram.started() as telegram:
        with TemporaryDirectory() as folder:
            settings = _settings(telegram, folder, letters=letters)
            async with clusters.Replica("shop", settings, Path(folder)).running() as server:
                pages = await telegram.ask("open_shops", number=sellers)
                by_chat = {int(chat): path for chat, path in pages.items()}
                yield Stage(telegram, server, Payers(server.url, by_chat), figures)


def _settings(
    telegram: flood_telegram.Telegram, folder: str, *, letters: bool
) -> Mapping[str, str]:
    """Return what an operator has to set; all else is the default."""
    mail = {"SMTP_URL": telegram.smtp, "SMTP_FROM": "shop@example.org"} if letters else {}
    return {
        "BOT_TOKEN": telegram.token,
        "TELEGRAM_API_URL": telegram.url,
        "PORT": free_port(),
        "DATABASE_URL": f"sqlite:///{folder}/shop.db",
        "LOG_LEVEL": "warning",
        **mail,
    }
