"""`crowd`: many payers at once want fewer units than they are, at replicas in turn."""

from __future__ import annotations

import asyncio
import time

from tests.replicas.cluster import Stage, open_cluster
from tests.replicas.payers import Payers, open_files
from tests.replicas.proof import Figures, Size
from tests.replicas.shops import balance, open_shop

SIZE = Size(replicas=3, payments=1_000)
PAYERS_PER_UNIT = 10


async def prove(size: Size) -> Figures:
    """Sell a tenth of what the payers want; nobody may get a unit that another has."""
    open_files()
    figures, units = Figures(), size.payments // PAYERS_PER_UNIT
    async with open_cluster(Stage(size.replicas)) as cluster:
        await cluster.start()
        shop = await open_shop(cluster, units)
        payers = Payers([replica.url for replica in cluster.replicas], size.seed)
        began = time.monotonic()
        await asyncio.gather(*(payers.pay(shop.request_id, n) for n in range(size.payments)))
        figures.note("seconds for all payers", time.monotonic() - began)
        figures.note("longest answer, seconds", payers.longest)
        figures.hold("paid", payers.paid, units)
        figures.hold("refused", payers.refused, size.payments - units)
        figures.hold("other answers", payers.unexpected(), "none")
        await balance(figures, cluster, payers, [shop])
        figures.hold("refused by Telegram's limits", cluster.telegram.refused, 0)
        figures.hold("tracebacks in the logs", cluster.tracebacks(), 0)
    return figures
