"""`failover`: the lead is killed, stopped, cut off from the database, or leaves by itself.

A witness in the database notes who led when, and who claimed and settled what: triggers that tell
replicas apart by `application_name`, which is the number of the replica.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from bot.sandbox.world.errors import Fault
from tests.proofs import books, clusters, proof

Act = Callable[[clusters.Cluster, clusters.Replica], Coroutine[Any, Any, None]]

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


LEAD_QUEUES = ("updates", "jobs", "messages", "answers", "photos")
"""The queues that the lead alone works."""

INSTALL = """
    CREATE TABLE seen_leads (
        number BIGSERIAL PRIMARY KEY, replica TEXT, owner TEXT, term BIGINT, at TIMESTAMPTZ
    );
    CREATE TABLE seen_acts (
        number BIGSERIAL PRIMARY KEY, replica TEXT, message TEXT, was TEXT, became TEXT,
        at TIMESTAMPTZ
    );
    CREATE FUNCTION note_lead() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO seen_leads (replica, owner, term, at)
        VALUES (current_setting('application_name'), NEW.owner, NEW.term, clock_timestamp());
        RETURN NEW;
    END $$;
    CREATE FUNCTION note_act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO seen_acts (replica, message, was, became, at)
        VALUES (current_setting('application_name'), OLD.id, OLD.state,
            CASE TG_OP WHEN 'DELETE' THEN 'deleted' ELSE NEW.state END, clock_timestamp());
        RETURN NULL;
    END $$;
    CREATE TRIGGER note_lead AFTER INSERT OR UPDATE ON slices FOR EACH ROW
        WHEN (NEW.name = 'chat' AND NEW.owner <> '') EXECUTE FUNCTION note_lead();
    CREATE TRIGGER note_settled AFTER UPDATE ON outbox FOR EACH ROW
        WHEN (OLD.queue IN {queues} AND OLD.state <> NEW.state
            AND (OLD.state = 'leased' OR NEW.state = 'leased')) EXECUTE FUNCTION note_act();
    CREATE TRIGGER note_deleted AFTER DELETE ON outbox FOR EACH ROW
        WHEN (OLD.queue IN {queues} AND OLD.state = 'leased') EXECUTE FUNCTION note_act();
"""

FIRST = """
    INSERT INTO seen_leads (replica, owner, term, at)
    SELECT %s, owner, term, clock_timestamp() FROM slices WHERE name = 'chat'
"""
BY_FORMER_LEADS = """
    SELECT COUNT(*) FROM seen_acts AS act WHERE act.replica <> (
        SELECT replica FROM seen_leads AS lead WHERE lead.at <= act.at ORDER BY lead.at DESC LIMIT 1
    ) AND NOT (act.was = 'leased' AND act.became = 'waiting')
"""
"""Any replica may release the leases of a dead one; claims and outcomes are the lead's."""

LEADS = "SELECT term, replica, EXTRACT(EPOCH FROM at)::float FROM seen_leads ORDER BY number"


@dataclass(slots=True)
class Trial:
    """The cluster under load, and what has been done to its leads."""

    cluster: clusters.Cluster
    witness: Witness
    figures: proof.Figures

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


async def _leave(_cluster: clusters.Cluster, lead: clusters.Replica) -> None:
    code = await lead.leave()
    if code:
        raise RuntimeError(f"{lead.name} left with {code}:\n{lead.last_words()}")


async def _kill(_cluster: clusters.Cluster, lead: clusters.Replica) -> None:
    await lead.kill()


async def _start(_cluster: clusters.Cluster, lead: clusters.Replica) -> None:
    await lead.start()


async def _stop(_cluster: clusters.Cluster, lead: clusters.Replica) -> None:
    lead.send(signal.SIGSTOP)


async def _go_on(_cluster: clusters.Cluster, lead: clusters.Replica) -> None:
    lead.send(signal.SIGCONT)


async def _cut_off(cluster: clusters.Cluster, lead: clusters.Replica) -> None:
    """Keep back everything between the lead and the database."""
    cluster.proxies[cluster.replicas.index(lead)].stall()


async def _connect(cluster: clusters.Cluster, lead: clusters.Replica) -> None:
    cluster.proxies[cluster.replicas.index(lead)].flow()


WAYS = {
    "leaving": Way(_leave, _start, HANDOVER_SECONDS),
    "killed": Way(_kill, _start),
    "stopped": Way(_stop, _go_on),
    "cut off": Way(_cut_off, _connect),
}


async def prove(size: proof.Size, ways: Iterable[str] = tuple(WAYS)) -> proof.Figures:
    """Lose the lead in several ways, while payers pay."""
    books.open_files()
    figures = proof.Figures()
    async with clusters.open_cluster(clusters.Stage(size.replicas, proxied=True)) as cluster:
        await cluster.start()
        seen = await install(cluster)
        shops = await books.open_shops(cluster, SHOPS, size.payments)
        payers = books.Payers([cluster.url], size.seed)
        trial = Trial(cluster, seen, figures)
        requests = [shop.request_id for shop in shops]
        paying = asyncio.create_task(payers.pay_steadily(requests, size.payments, size.seconds))
        for way in ways:
            await trial.lose(way, WAYS[way])
        figures.at_least("claims and outcomes watched", await seen.acts(), 1)
        await paying
        figures.hold("payers who paid", payers.paid, size.payments)
        await books.balance(figures, cluster, payers, shops, cut=True)
        figures.hold("refused by Telegram's limits", cluster.telegram.refused, 0)
        figures.hold("tracebacks in the logs", cluster.tracebacks(), 0)
    return figures


@dataclass(frozen=True, slots=True)
class Witness:
    """What the triggers have noted."""

    cluster: clusters.Cluster

    async def leads(self) -> list[tuple[int, int, float]]:
        """Return term, replica and epoch seconds of each change of the lead."""
        found = await self.cluster.rows(LEADS)
        return [(term, int(replica), at) for term, replica, at in found]

    async def acts(self) -> int:
        """Return how many claims and outcomes were noted."""
        return int(await self.cluster.value("SELECT COUNT(*) FROM seen_acts"))

    async def by_former_leads(self) -> int:
        """Return how many messages were claimed or settled by a replica that did not lead."""
        return int(await self.cluster.value(BY_FORMER_LEADS))


async def install(cluster: clusters.Cluster) -> Witness:
    """Add the triggers, once a replica leads."""
    lead = cluster.replicas.index(await cluster.lead())
    queues = "(" + ", ".join(f"'{name}'" for name in LEAD_QUEUES) + ")"
    await cluster.rows(INSTALL.replace("{queues}", queues))
    await cluster.rows(FIRST, f"{lead}")
    return Witness(cluster)
