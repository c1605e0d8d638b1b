"""`crowd` and `kill`: many payers at replicas, some of which are killed meanwhile."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.proofs import books, clusters, proof
from tests.support.machine_faults import MARK
from tests.support.sellers_and_payers import Seller, texts

PAYERS_PER_UNIT = 10
KILL_SECONDS = 3.0
PAYMENTS_A_SHOP = 250
WRITERS = 8
WRITE_SECONDS = 10.0
SPECS = "SELECT seller_id, wish FROM listings"
ITEM = re.compile(r"Item-\d+")


async def crowd(size: proof.Size) -> proof.Figures:
    """Sell a tenth of what the payers want; nobody may get a unit that another has."""
    books.open_files()
    figures, units = proof.Figures(), size.payments // PAYERS_PER_UNIT
    async with clusters.open_cluster(clusters.Stage(size.replicas)) as cluster:
        await cluster.start()
        shop = await books.open_shop(cluster, units)
        payers = books.Payers([replica.url for replica in cluster.replicas], size.seed)
        began = time.monotonic()
        await asyncio.gather(*(payers.pay(shop.request_id, n) for n in range(size.payments)))
        figures.note("seconds for all payers", time.monotonic() - began)
        figures.note("longest answer, seconds", payers.longest)
        figures.hold("paid", payers.paid, units)
        figures.hold("refused", payers.refused, size.payments - units)
        figures.hold("other answers", payers.unexpected(), "none")
        await books.balance(figures, cluster, payers, [shop])
        figures.hold("refused by Telegram's limits", cluster.telegram.refused, 0)
        figures.hold("tracebacks in the logs", cluster.tracebacks(), 0)
    return figures


async def kill(size: proof.Size) -> proof.Figures:
    """Pay and write while replicas die; afterwards everything was done once."""
    books.open_files()
    figures = proof.Figures()
    async with clusters.open_cluster(clusters.Stage(size.replicas)) as cluster:
        await cluster.start()
        number = max(2, size.payments // PAYMENTS_A_SHOP)
        shops = await books.open_shops(cluster, number, size.payments)
        payers = books.Payers([cluster.url], size.seed)
        writers = Writers([shop.seller for shop in shops[:WRITERS]])
        killer = Killer(cluster, random.Random(size.seed))
        async with asyncio.TaskGroup() as acts:
            requests = [shop.request_id for shop in shops]
            acts.create_task(payers.pay_steadily(requests, size.payments, size.seconds))
            acts.create_task(writers.write(size.seconds))
            acts.create_task(killer.kill(size.seconds))
        await asyncio.gather(*(replica.ready() for replica in cluster.replicas))
        figures.note("kills", killer.killed.total())
        figures.note("longest answer, seconds", payers.longest)
        figures.note("answers", ", ".join(f"{n} x {s}" for s, n in payers.statuses.items()))
        figures.hold("payers who paid", payers.paid, size.payments)
        # The proxy answers 502 if a replica died with the form in its hands.
        figures.hold("answers that no payer may get", payers.unexpected("502"), "none")
        await cluster.taken()
        await books.balance(figures, cluster, payers, shops, cut=True)
        await writers.balance(figures, cluster)
        figures.hold("refused by Telegram's limits", cluster.telegram.refused, 0)
        figures.note("most messages in any second", cluster.telegram.busiest_second())
        figures.hold("tracebacks in the logs", cluster.tracebacks(), 0)
    return figures


@dataclass(slots=True)
class Writers:
    """Sellers who write now and then; each message asks for a request of its own."""

    sellers: list[Seller]
    written: int = 0
    """Messages in each chat."""

    async def write(self, seconds: float) -> None:
        """Write in every chat, every few seconds."""
        for _ in range(max(1, round(seconds / WRITE_SECONDS))):
            for seller in self.sellers:
                seller.person.send(f"/oneoff 9 EUR Item-{self.written}")
            self.written += 1
            await asyncio.sleep(WRITE_SECONDS)

    async def balance(self, figures: proof.Figures, cluster: clusters.Cluster) -> None:
        """Hold what was written to the requests and cards that it made."""
        made = Counter[tuple[int, str]]()
        for seller_id, spec in await cluster.rows(SPECS):
            name = ITEM.search(json.dumps(spec))
            made[seller_id, name[0] if name else ""] += 1
        items = [
            (seller.person.id, f"Item-{n}") for seller in self.sellers for n in range(self.written)
        ]
        figures.note("messages that sellers wrote", len(items))
        figures.hold("without effect", sum(not made[item] for item in items), 0)
        figures.hold("handled twice", sum(made[item] > 1 for item in items), 0)
        surplus = sum(map(_unmarked_repetitions, self.sellers))
        figures.hold("cards sent twice, not marked", surplus, 0)


def _unmarked_repetitions(seller: Seller) -> int:
    """Count the cards that came again without saying so."""
    plain = [text for text in texts(seller.cards) if not text.startswith(MARK)]
    named = Counter(found[0] for text in plain if (found := ITEM.search(text)))
    return sum(times - 1 for times in named.values())


@dataclass(slots=True)
class Killer:
    """Kills replicas at random; each is started again at once."""

    cluster: clusters.Cluster
    dice: random.Random
    killed: Counter[str] = field(default_factory=Counter)

    async def kill(self, seconds: float) -> None:
        """Kill one every few seconds, never the same one twice in a row."""
        last = None
        for _ in range(round(seconds / KILL_SECONDS)):
            await asyncio.sleep(KILL_SECONDS)
            last = self.dice.choice([each for each in self.cluster.replicas if each is not last])
            await last.kill()
            await last.start()
            self.killed[last.name] += 1
