"""The figures of webhooks: beside payments, as many as payments, and how late they are."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from bench import load
from bench.hook import Hook
from bench.processes import bare, endpoint
from bench.rounds import MOST, ROUNDS, Pair, Round, Rounds, Side, beside, counted
from bench.service import FORM, OFFER, POSTED, SEE_OTHER, Shop, bare_posts, open_shop
from bench.table import Row, percentile
from bench.wrk import Answers

HOOKS = 300
HOOKED = {"WEBHOOK_ALLOW": "127.0.0.1"}
RATE = 300
"""Payments a second while the lag is measured."""

SECONDS = 60
LINKS = 32
"""Requests that are paid in turns: the webhooks of one request wait for each other's answers."""

LOOPBACK = "a loopback POST"
BARE_POST = load.post("/", "application/json", json.dumps(OFFER).encode())
LOOK_AGAIN = 0.1
PATIENCE = 120.0
PER_MILLE = 1000


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint in a process of its own, and what came to it in rounds of payments."""

    http: httpx.AsyncClient
    rounds: list[Answers] = field(default_factory=list)

    async def settle(self, payments: Answers) -> None:
        """Note what came while payments were made, and wait until each of them was told."""
        waits = await self._come()
        rate = len(waits) * payments.rate / payments.number
        end = time.monotonic() + PATIENCE
        while (more := await self._come()) or len(waits) < payments.number:
            waits += more
            if time.monotonic() > end:
                raise RuntimeError(f"{len(waits)} webhooks of {payments.number} payments came")
            await asyncio.sleep(LOOK_AGAIN)
        late = sorted(waits)[len(waits) * (PER_MILLE - 1) // PER_MILLE]
        times = percentile(waits, 50), percentile(waits, 99), late
        self.rounds.append(Answers(rate, *times, len(waits), payments.client_seconds))

    async def _come(self) -> list[float]:
        """Return the seconds from payment to arrival of each webhook since the last time."""
        waits: list[float] = (await self.http.get("/")).raise_for_status().json()
        return waits


def told(url: str) -> dict[str, Any]:
    """Return an offer whose payments are told to an endpoint."""
    return OFFER | {"notifications": {"webhook": {"webhookUrl": url}}}


@asynccontextmanager
async def told_payments(links: int = LINKS) -> AsyncIterator[tuple[Endpoint, Side, Side]]:
    """Run an endpoint and a service; payments of so many requests told to it, and bare posts."""
    async with (
        endpoint() as server,
        open_shop(HOOKED) as shop,
        httpx.AsyncClient(base_url=server.url) as http,
    ):
        at = Endpoint(http)
        paying = await shop.payments(links, offer=told(server.url))
        yield at, replace(paying, settle=at.settle), bare_posts(server)


async def hooked() -> list[Row]:
    """Measure payments, each of which is told to an endpoint meanwhile."""
    async with told_payments() as (_, ours, _), bare() as other:
        return await beside("payments with a webhook", ours, bare_posts(other), POSTED, "≥ 0.2 ×")


async def webhooks() -> list[Row]:
    """Measure webhooks to one endpoint: how many while payments come, and how late at a rate."""
    async with told_payments() as (at, ours, posts):
        await ours.closed(MOST)
        at.rounds.clear()
        paid, posted = Rounds(), Rounds()
        for _ in range(ROUNDS):
            paid.made.append(await ours.closed(MOST))
            posted.made.append(await posts.closed(MOST))
        came = _arrived(at, paid)
        at.rounds.clear()
        steady = Rounds([await ours.constant(RATE, SECONDS)])
        late = Pair(_arrived(at, steady), Rounds([await posts.constant(RATE)]), LOOPBACK)
    async with told_payments(links=1) as (at, ours, posts):
        steady = Rounds([await ours.constant(RATE)])
        alone = Pair(_arrived(at, steady), Rounds([await posts.constant(RATE)]), LOOPBACK)
    what = f"webhooks a second to one endpoint, {counted(MOST)}"
    return [
        Pair(came, paid, "payments of the same run").rates(what, "≥ 1 ×"),
        Pair(came, posted, LOOPBACK).rates(what),
        late.times(f"payment → webhook at {RATE} a second for {SECONDS} s, p99", "≤ 250 ms"),
        alone.times(f"payment → webhook at {RATE} a second for one request, p99", ""),
    ]


def _arrived(at: Endpoint, paid: Rounds) -> Rounds:
    """Return what came to the endpoint in rounds of payments."""
    pairs = zip(at.rounds, paid.made, strict=True)
    return Rounds([Round(come, one.server_seconds) for come, one in pairs])


async def webhook() -> list[Row]:
    """Measure from a payment's answer to the arrival of its webhook at an endpoint here."""
    calls = []
    async with Hook.listening() as hook, open_shop(HOOKED) as shop:
        ours = await told_one_by_one(shop, hook)
        for _ in range(HOOKS):
            line = await load.connect(hook.url, 200)
            calls.append(await hook.since(line.ask(BARE_POST)))
            line.close()
    return lags("payment committed → webhook", ours, calls, LOOPBACK, "≤ 5 ms")


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


async def told_one_by_one(shop: Shop, hook: Hook) -> list[float]:
    """Pay again and again; the seconds from each answer to the webhook's arrival."""
    path = await shop.create(told(hook.url))
    seconds = []
    for _ in range(HOOKS):
        line = await load.connect(shop.url, SEE_OTHER)
        form = load.post(path, FORM, f"token={secrets.token_hex(16)}".encode())
        seconds.append(await hook.after(line.ask(form)))
        line.close()
    return seconds
