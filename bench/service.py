"""The figures of the service alone: creates, payments, pay pages and webhooks.

Both servers stay up and take turns, round by round, so that what else the machine does meets both.
"""

from __future__ import annotations

import json
import secrets
import statistics
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench import load
from bench.hook import Hook
from bench.processes import bare, service
from bench.table import Row, percentile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from bench.load import Load
    from bench.processes import Server

CLIENTS = {1: 400, 8: 1_600, 32: 3_200}
"""How many ask at once, and for how much in a round."""

ROUNDS = 5
HOOKS = 300
WARM_UP = 200
ALL = "/v3/paymentRequests"
SEE_OTHER = 303
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
    """A service with an application of ours on it."""

    server: Server
    headers: str

    def creation(self, offer: bytes = BODY) -> bytes:
        """Write the call that makes a request."""
        return load.post(ALL, "application/json", offer, self.headers)

    async def create(self, offer: bytes = BODY) -> str:
        """Make a request; the path of its pay page."""
        made = await load.drive(self.server.url, [self.creation(offer)], clients=1)
        return f"/pay/{json.loads(made.body)['id']}"


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
    async with _shop() as shop, bare() as other:
        creation = shop.creation()
        return await _beside(
            "creates", (shop.server, lambda: creation, 200), (other, BARE_POST, POSTED), "≥ 0.25 ×"
        )


async def payments() -> list[Row]:
    """Measure pay forms, each paid and durable before its answer."""
    async with _shop() as shop, bare() as other:
        path = await shop.create()
        return await _beside(
            "payments",
            (shop.server, lambda: _form(path), SEE_OTHER),
            (other, BARE_POST, POSTED),
            "≥ 0.15 ×",
        )


async def page() -> list[Row]:
    """Measure the pay page of an open request."""
    async with _shop() as shop, bare() as other:
        look = load.get(await shop.create())
        return await _beside(
            "pay pages", (shop.server, lambda: look, 200), (other, BARE_GET, GOT), "≥ 0.25 ×"
        )


async def webhook() -> list[Row]:
    """Measure from a payment's answer to the arrival of its webhook at an endpoint here."""
    async with Hook.listening() as hook, _shop({"WEBHOOK_ALLOW": "127.0.0.1"}) as shop:
        told = {"notifications": {"webhook": {"webhookUrl": hook.url}}}
        path = await shop.create(json.dumps(OFFER | told).encode())
        ours, calls = [], []
        for _ in range(HOOKS):
            line = await load.connect(shop.server.url, SEE_OTHER)
            ours.append(await hook.after(line.ask(_form(path))))
            line.close()
        for _ in range(HOOKS):
            line = await load.connect(hook.url, 200)
            calls.append(await hook.since(line.ask(BARE_POST)))
            line.close()
    return [
        Row(
            f"payment committed → webhook, p{percent}",
            percentile(ours, percent) * 1000,
            "ms",
            percentile(calls, percent) * 1000,
            "a loopback POST",
            goal,
        )
        for percent, goal in ((50, "≤ 15 ms"), (99, ""))
    ]


@asynccontextmanager
async def _shop(settings: dict[str, str] | None = None) -> AsyncIterator[Shop]:
    async with service(settings or {}) as server:
        told = await server.command("apps", "create", "bench")
        made = dict(line.split("=", 1) for line in told.split())
        yield Shop(server, f"App-Id: {made['APP_ID']}\r\nApp-Secret: {made['APP_SECRET']}\r\n")


def _form(path: str) -> bytes:
    """Write the post of a form that nobody has posted."""
    body = f"token={secrets.token_hex(16)}".encode()
    return load.post(path, "application/x-www-form-urlencoded", body)


async def _beside(
    what: str,
    ours: tuple[Server, Callable[[], bytes], int],
    theirs: tuple[Server, bytes, str],
    goal: str,
) -> list[Row]:
    """Ask our server and the other one in turns, by each number of clients."""
    server, write, status = ours
    other, plain, yardstick = theirs
    await load.drive(server.url, [write() for _ in range(WARM_UP)], 8, status)
    await load.drive(other.url, [plain] * WARM_UP, 8)
    rows = []
    for clients, number in CLIENTS.items():
        mine, bare_one = Rounds(), Rounds()
        for _ in range(ROUNDS):
            mine.add(
                await load.drive(server.url, [write() for _ in range(number)], clients, status)
            )
            bare_one.add(await load.drive(other.url, [plain] * number, clients))
        rows += _rows(what, clients, (mine.figures, bare_one.figures), yardstick, goal)
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
