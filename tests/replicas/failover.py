"""`failover`: the lead is killed, stopped, cut off from the database, or leaves by itself."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.sandbox.world.errors import Fault
from tests.replicas import witness
from tests.replicas.cluster import Cluster, Stage, open_cluster
from tests.replicas.payers import Payers, open_files
from tests.replicas.proof import Figures, Size
from tests.replicas.replica import Replica
from tests.replicas.shops import balance, open_shops
from tests.replicas.witness import Witness

if TYPE_CHECKING:
    Act = Callable[[Cluster, Replica], Coroutine[Any, Any, None]]

SIZE = Size(replicas=3, payments=600, seconds=120)
SHOPS = 4
TAKEOVER_SECONDS = 12.0
HANDOVER_SECONDS = 5.0
"""Within which another replica leads after the lead was lost, and after it was asked to leave: then
it first finishes what it has in its hands."""

SLOW_SECONDS = 3.0
WITHOUT_SECONDS = 8.0
"""For which the former lead is away while another one leads."""

AFTERWARDS_SECONDS = 5.0
"""For which a former lead that is back is watched."""

LOOK_SECONDS = 0.1
PATIENCE = 60.0


@dataclass(slots=True)
class Trial:
    """The cluster under load, and what has been done to its leads."""

    cluster: Cluster
    witness: Witness
    figures: Figures

    async def lose(self, how: str, way: Way) -> None:
        """Lose the lead, and measure how long it takes until another one leads."""
        term, number, _ = (await self.witness.leads())[-1]
        lead = self.cluster.replicas[number]
        # So the lead has messages in its hands of which it can't know what became.
        slow = Fault("delay", "sendMessage", times=SHOPS, seconds=SLOW_SECONDS)
        self.cluster.world.faults.add(slow)
        await self.cluster.world.wait_for(lambda: slow.times < SHOPS, PATIENCE)
        began = time.time()
        lost = asyncio.create_task(way.lose(self.cluster, lead))
        at = await self._next_lead(term, number)
        self.figures.at_most(f"{how}: seconds to a new lead", round(at - began, 1), way.most)
        await lost
        await asyncio.sleep(WITHOUT_SECONDS)
        await way.bring_back(self.cluster, lead)
        await asyncio.sleep(AFTERWARDS_SECONDS)
        await asyncio.gather(*(replica.ready() for replica in self.cluster.replicas))
        acts = await self.witness.by_former_leads()
        self.figures.hold(f"{how}: claimed or settled by a former lead", acts, 0)

    async def _next_lead(self, term: int, former: int) -> float:
        """Wait for a lead of another replica; return when it began to lead."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for later, number, at in await self.witness.leads():
                    if later > term and number != former:
                        return at
                await asyncio.sleep(LOOK_SECONDS)


@dataclass(frozen=True, slots=True)
class Way:
    """How a lead is lost and brought back, and within how many seconds another one leads."""

    lose: Act
    bring_back: Act
    most: float = TAKEOVER_SECONDS


async def _leave(_cluster: Cluster, lead: Replica) -> None:
    code = await lead.leave()
    if code:
        raise RuntimeError(f"{lead.name} left with {code}:\n{lead.last_words()}")


async def _kill(_cluster: Cluster, lead: Replica) -> None:
    await lead.kill()


async def _start(_cluster: Cluster, lead: Replica) -> None:
    await lead.start()


async def _stop(_cluster: Cluster, lead: Replica) -> None:
    lead.send(signal.SIGSTOP)


async def _go_on(_cluster: Cluster, lead: Replica) -> None:
    lead.send(signal.SIGCONT)


async def _cut_off(cluster: Cluster, lead: Replica) -> None:
    """Keep back everything between the lead and the database."""
    cluster.proxies[cluster.replicas.index(lead)].stall()


async def _connect(cluster: Cluster, lead: Replica) -> None:
    cluster.proxies[cluster.replicas.index(lead)].flow()


WAYS = {
    "leaving": Way(_leave, _start, HANDOVER_SECONDS),
    "killed": Way(_kill, _start),
    "stopped": Way(_stop, _go_on),
    "cut off": Way(_cut_off, _connect),
}


async def prove(size: Size, ways: Iterable[str] = tuple(WAYS)) -> Figures:
    """Lose the lead in several ways, while payers pay."""
    open_files()
    figures = Figures()
    async with open_cluster(Stage(size.replicas, proxied=True)) as cluster:
        await cluster.start()
        seen = await witness.install(cluster)
        shops = await open_shops(cluster, SHOPS, size.payments)
        payers = Payers([cluster.url], size.seed)
        trial = Trial(cluster, seen, figures)
        requests = [shop.request_id for shop in shops]
        paying = asyncio.create_task(payers.pay_steadily(requests, size.payments, size.seconds))
        for way in ways:
            await trial.lose(way, WAYS[way])
        figures.at_least("claims and outcomes watched", await seen.acts(), 1)
        await paying
        figures.hold("payers who paid", payers.paid, size.payments)
        await balance(figures, cluster, payers, shops, cut=True)
        figures.hold("refused by Telegram's limits", cluster.telegram.refused, 0)
        figures.hold("tracebacks in the logs", cluster.tracebacks(), 0)
    return figures
