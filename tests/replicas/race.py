"""`race`: claimers of one outbox claim each message once, but not without the lanes' locks."""

from __future__ import annotations

import time

from bot.core.database.opening import open_database
from tests.replicas.claimer import Order
from tests.replicas.claimers import Claimed, claimed
from tests.replicas.proof import Figures, Size
from tests.support.postgres_server import PostgresServer

SIZE = Size(replicas=3, payments=2_400)
LANES = tuple(f"lane-{n}" for n in range(40))


async def prove(size: Size) -> Figures:
    """Let claimers put and claim at the same time, with the lanes' locks and without."""
    figures = Figures()
    with PostgresServer() as server:
        began = time.monotonic()
        safe = await _race(server, size, locked=True)
        seconds = time.monotonic() - began
        figures.note("messages", safe.messages)
        figures.note("seconds, starts included", seconds)
        figures.hold("claimed twice", safe.twice, 0)
        figures.hold("stuck", safe.stuck, 0)
        figures.at_least("least that a claimer claimed", min(map(len, safe.words)), 1)
        unsafe = await _race(server, size, locked=False)
        figures.note("without locks: claimed twice", unsafe.twice)
        figures.note("without locks: stuck", unsafe.stuck)
        figures.at_least("without locks: twice or stuck", unsafe.twice + unsafe.stuck, 1)
    return figures


async def _race(server: PostgresServer, size: Size, *, locked: bool) -> Claimed:
    url = server.clone("locked" if locked else "unlocked")
    open_database(url, writing=True).close()
    share = size.payments // size.replicas
    orders = [
        Order(f"claimer-{n}", url, share, LANES, size.seed + n, locked=locked)
        for n in range(size.replicas)
    ]
    return await claimed(orders)
