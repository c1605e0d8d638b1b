"""The figures of the service alone: creates, payments, pay pages and webhooks.

Both servers stay up and take turns, round by round, so that what else the machine does meets both.
"""

from __future__ import annotations

import json
import secrets
import statistics
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING

from bench import load
from bench.hook import Hook
from bench.processes import bare, service
from bench.table import Row, percentile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from bench.load import Load

CLIENTS = {1: 400, 8: 1_600, 32: 3_200}
"""How many ask at once, and for how much in a round."""

ROUNDS = 5
HOOKS = 300
WARM_UP = 200
ALL = "/v3/paymentRequests"
SEE_OTHER = 303
FORM = "application/x-www-form-urlencoded"
HOOKED = {"WEBHOOK_ALLOW": "127.0.0.1"}
OFFER = {
    "product": {"name": "Sticker pack", "description": "Ten of them"},
    "instrumentCurrencyCode": "USD",
    "receivers": [{"sendAmount": 2.5, "destination": "alice"}],
    "expirationType": "never",
}
BODY = json.dumps(OFFER).encode()
BARE_POST = load.post("/", "application/json", BODY)
BARE_GET = load.get("/")
POSTED = "bare FastAPI, a validated POST"
GOT = "bare FastAPI, a GET"


@dataclass(frozen=True, slots=True)
class Shop:
    """A service with an application of ours on it, at the address of each of its replicas."""

    urls: Sequence[str]
    headers: str

    @property
    def url(self) -> str:
        """The address of the first one."""
        return self.urls[0]

    def creation(self, offer: bytes = BODY) -> bytes:
        """Write the call that makes a request."""
        return load.post(ALL, "application/json", offer, self.headers)

    async def create(self, offer: bytes = BODY) -> str:
        """Make a request; the path of its pay page."""
        made = await load.drive([self.url], [self.creation(offer)], clients=1)
        return f"/pay/{json.loads(made.body)['id']}"

    def creates(self) -> Side:
        """Make requests."""
        creation = self.creation()
        return Side(self.urls, lambda: creation)

    async def payments(self, links: int = 1) -> Side:
        """Pay so many new donations in turns, each time with a form that nobody has posted."""
        paths = cycle([await self.create() for _ in range(links)])
        return Side(self.urls, lambda: _form(next(paths)), SEE_OTHER)


@dataclass(frozen=True, slots=True)
class Side:
    """A server, or replicas of one, as a round asks it: calls that `write` makes."""

    urls: Sequence[str]
    write: Callable[[], bytes]
    status: int = 200

    async def drive(self, number: int, clients: int) -> Load:
        """Ask so often, by so many clients at once."""
        calls = [self.write() for _ in range(number)]
        return await load.drive(self.urls, calls, clients, self.status)


@dataclass(slots=True)
class Rounds:
    """What one server did, all rounds of a number of clients."""

    rates: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, one: Load) -> None:
        """Add a round."""
        self.rates.append(one.rate)
        self.seconds.extend(one.seconds)

    @property
    def figures(self) -> tuple[float, float, float]:
        """Return the median of the rates, then the milliseconds of p50 and p99."""
        median, late = (percentile(self.seconds, percent) * 1000 for percent in (50, 99))
        return statistics.median(self.rates), median, late


async def creates() -> list[Row]:
    """Measure requests made through the interface, each durable before its answer."""
    async with open_shop() as shop, bare() as other:
        theirs = Side([other.url], lambda: BARE_POST)
        return await beside("creates", shop.creates(), theirs, POSTED, "≥ 0.25 ×")


async def payments() -> list[Row]:
    """Measure pay forms, each paid and durable before its answer."""
    async with open_shop() as shop, bare() as other:
        theirs = Side([other.url], lambda: BARE_POST)
        return await beside("payments", await shop.payments(), theirs, POSTED, "≥ 0.15 ×")


async def page() -> list[Row]:
    """Measure the pay page of an open request."""
    async with open_shop() as shop, bare() as other:
        look = load.get(await shop.create())
        ours, theirs = Side([shop.url], lambda: look), Side([other.url], lambda: BARE_GET)
        return await beside("pay pages", ours, theirs, GOT, "≥ 0.25 ×")


async def webhook() -> list[Row]:
    """Measure from a payment's answer to the arrival of its webhook at an endpoint here."""
    calls = []
    async with Hook.listening() as hook, open_shop(HOOKED) as shop:
        ours = await webhooks(shop, hook)
        for _ in range(HOOKS):
            line = await load.connect(hook.url, 200)
            calls.append(await hook.since(line.ask(BARE_POST)))
            line.close()
    return lags("payment committed → webhook", ours, calls, "a loopback POST", "≤ 15 ms")


def lags(
    name: str, ours: Sequence[float], theirs: Sequence[float], yardstick: str, goal: str = ""
) -> list[Row]:
    """Return p50, which has the goal, and p99 of seconds, in milliseconds."""
    return [
        Row(
            f"{name}, p{percent}",
            percentile(ours, percent) * 1000,
            "ms",
            percentile(theirs, percent) * 1000,
            yardstick,
            wanted,
        )
        for percent, wanted in ((50, goal), (99, ""))
    ]


async def webhooks(shop: Shop, hook: Hook) -> list[float]:
    """Pay again and again; the seconds from each answer to the webhook's arrival."""
    told = {"notifications": {"webhook": {"webhookUrl": hook.url}}}
    path = await shop.create(json.dumps(OFFER | told).encode())
    seconds = []
    for _ in range(HOOKS):
        line = await load.connect(shop.url, SEE_OTHER)
        seconds.append(await hook.after(line.ask(_form(path))))
        line.close()
    return seconds


@asynccontextmanager
async def open_shop(
    settings: Mapping[str, str] | None = None, replicas: int = 1
) -> AsyncIterator[Shop]:
    """Run so many replicas of the service, all with these settings."""
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(service(settings or {})) for _ in range(replicas)
        ]
        told = await servers[0].command("apps", "create", "bench")
        made = dict(line.split("=", 1) for line in told.split())
        headers = f"App-Id: {made['APP_ID']}\r\nApp-Secret: {made['APP_SECRET']}\r\n"
        yield Shop([server.url for server in servers], headers)


def _form(path: str) -> bytes:
    """Write the post of a form that nobody has posted."""
    body = f"token={secrets.token_hex(16)}".encode()
    return load.post(path, FORM, body)


async def beside(what: str, ours: Side, theirs: Side, yardstick: str, goal: str) -> list[Row]:
    """Ask our side and the other one in turns, by each number of clients."""
    for side in (ours, theirs):
        await side.drive(WARM_UP, 8)
    rows = []
    for clients, number in CLIENTS.items():
        mine, others = Rounds(), Rounds()
        for _ in range(ROUNDS):
            mine.add(await ours.drive(number, clients))
            others.add(await theirs.drive(number, clients))
        rows += _rows(what, clients, (mine.figures, others.figures), yardstick, goal)
    return rows


def _rows(
    what: str,
    clients: int,
    figures: tuple[Sequence[float], Sequence[float]],
    yardstick: str,
    goal: str,
) -> list[Row]:
    """Return a rate and two times; the goal is for the most clients."""
    who = "1 client" if clients == 1 else f"{clients} clients"
    goals = (goal if clients == max(CLIENTS) else "", "", "")
    names = (f"{what} a second, {who}", f"{what}, {who}, p50", f"{what}, {who}, p99")
    return [
        Row(name, mine, unit, other, yardstick, wanted)
        for name, unit, mine, other, wanted in zip(
            names, ("", "ms", "ms"), *figures, goals, strict=True
        )
    ]
