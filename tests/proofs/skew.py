"""`skew`: replicas whose clocks are a second apart keep Telegram's limits together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import cycle, islice

from bot.core.database.opening import open_database
from bot.sandbox.world import people
from bot.sandbox.world.errors import JITTER_SECONDS
from tests.proofs import books, claimers, clusters, proof
from tests.support.postgres_server import PostgresServer

SKEWS = (0, 1_000, 500)
"""Milliseconds by which the clocks are wrong: they are a second apart."""

CHATS = 45
SHOPS = 8
"""So few that each chat has used its burst whenever the lead changes."""

BURST = 4
PER_SECOND = 30
"""Telegram's limits: so many messages a second, and one a second in a chat after a burst."""

LONG_SECONDS = 5.0
SKEWED = """
import sys, time
from bot.cli import commands
right, wrong_by = time.time_ns, int(sys.argv.pop(1)) * 1_000_000
time.time_ns = lambda: right() + wrong_by
commands.main()
"""
"""The product by a clock that is ahead by so many milliseconds, or behind if they are negative."""


async def prove(size: proof.Size) -> proof.Figures:
    """Let claimers share a queue, and leads follow each other, by clocks that are apart."""
    books.open_files()
    figures = proof.Figures()
    skews = list(islice(cycle(SKEWS), size.replicas))
    figures.note("clocks wrong by, ms", ", ".join(map(str, skews)))
    with figures.of("claimers"):
        await _claim(figures, size, skews)
    with figures.of("leads"):
        await _lead(figures, size, skews)
    return figures


async def _claim(figures: proof.Figures, size: proof.Size, skews: Sequence[int]) -> None:
    """Send what claimers claim to a strict Telegram."""
    with PostgresServer() as server:
        url = server.clone("skewed")
        open_database(url, writing=True).close()
        async with clusters.strict_telegram() as telegram:
            crowd = [people.join(telegram.world, f"Guest {n}", started=True) for n in range(CHATS)]
            lanes = tuple(f"{person.id}" for person in crowd)
            method = f"{telegram.url}/bot{telegram.world.token}/sendMessage"
            share = size.payments // size.replicas
            orders = [
                claimers.Order(
                    *(f"claimer-{n}", url, share, lanes, size.seed + n),
                    skew=skew,
                    telegram=method,
                )
                for n, skew in enumerate(skews)
            ]
            found = await claimers.claimed(orders)
            figures.hold("messages sent", len(telegram.paced()), share * size.replicas)
            figures.hold("claimed twice", found.twice, 0)
            figures.hold("refused by Telegram's limits", telegram.refused, 0)
            _hold_limits(figures, telegram)


async def _lead(figures: proof.Figures, size: proof.Size, skews: Sequence[int]) -> None:
    """Pay while each replica hands the lead over to the next, whose clock is another one."""
    async with clusters.open_cluster(clusters.Stage(size.replicas)) as cluster:
        for replica, skew in zip(cluster.replicas, skews, strict=True):
            replica.command = ("-c", SKEWED, f"{skew}", "run")
        await cluster.start()
        shops = await books.open_shops(cluster, SHOPS, size.payments)
        payers = books.Payers([cluster.url], size.seed)
        requests = [shop.request_id for shop in shops]
        seconds = size.payments / PER_SECOND
        paying = asyncio.create_task(payers.pay_steadily(requests, size.payments, seconds))
        for _ in skews:
            await asyncio.sleep(seconds / (2 * len(skews)))
            lead = await cluster.lead()
            figures.hold(f"{lead.name} left with", await lead.leave(), 0)
            await lead.start()
            await lead.ready()
        await paying
        await books.balance(figures, cluster, payers, shops)
        figures.hold("refused by Telegram's limits", cluster.telegram.refused, 0)
        _hold_limits(figures, cluster.telegram)


def _hold_limits(figures: proof.Figures, telegram: clusters.StrictTelegram) -> None:
    """Hold what a Telegram has taken to its limits."""
    times = [call.time for call in telegram.paced()]
    figures.note("most in any second", clusters.most_within(1.0, times))
    for seconds in (1.0, LONG_SECONDS):
        # As Telegram's own count: a message may arrive late on a machine that is busy.
        name = f"most in any {seconds - JITTER_SECONDS} s"
        most = clusters.most_within(seconds - JITTER_SECONDS, times)
        figures.at_most(name, most, round(seconds * PER_SECOND))
    figures.note("a second, on average", len(times) / (max(times) - min(times)))
    shortest = telegram.busiest_chat(BURST)
    figures.at_least("shortest time for five in a chat, s", shortest, 1.0 - JITTER_SECONDS)
