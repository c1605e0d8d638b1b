"""Replicas at a quarter of their times, over a real server: killed, stopped, cut off, leaving."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count

import pytest
import structlog

from bot.core.database.database import Database, WriteLease
from bot.core.database.opening import open_database
from bot.core.database.postgres.engine import open_postgres
from bot.core.replicas import membership
from bot.core.replicas.membership import HEARTBEAT_TIMEOUTS, HeartbeatTimeouts, ReplicaInfo
from bot.core.replicas.replica import BeatingReplica, LeaderElection
from tests.support.postgres_server import PostgresServer
from tests.support.product_process import until
from tests.support.source_tree import ROOT
from tests.support.wire_proxy import WireProxy

INFO = ReplicaInfo(role="all", version="1.0", migration=1, settings="digest")
QUICK = HeartbeatTimeouts(
    beat=HEARTBEAT_TIMEOUTS.beat / 4,
    lead=HEARTBEAT_TIMEOUTS.lead / 4,
    gone=HEARTBEAT_TIMEOUTS.gone / 4,
)
FAILOVER = (HEARTBEAT_TIMEOUTS.gone + HEARTBEAT_TIMEOUTS.beat) / 4
BUSY = 3.0
"""Seconds that a busy machine may take longer."""

ALONE = """
import asyncio, sys
from tests.core.replicas.test_failover import lead_for_ever
asyncio.run(lead_for_ever(sys.argv[1]))
"""
numbers = count()

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer(password="a word") as it:
        open_database(it.clone("replicas")).close()
        yield it


@pytest.fixture
def name(server: PostgresServer) -> Iterator[str]:
    made = f"replicas_{next(numbers)}"
    server.clone(made, template="replicas")
    yield made
    server.drop(made)


@dataclass
class Candidate:
    """A replica in this process that stands for the lead."""

    database: Database
    replica: BeatingReplica
    election: LeaderElection


@asynccontextmanager
async def candidate(url: str) -> AsyncIterator[Candidate]:
    database = open_postgres(url)
    try:
        replica = BeatingReplica(database, INFO, lambda: int(time.time() * 1000), QUICK)
        await replica.start()
        yield Candidate(database, replica, replica.join_election("chat"))
        await replica.stop()
    finally:
        await asyncio.to_thread(database.close)


async def lead_for_ever(url: str) -> None:
    """Write when this replica leads and when not; the program of a process."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    async with candidate(url) as one:
        while True:
            lead = await one.election.won()
            sys.stdout.write(f"won {lead.term}\n")
            sys.stdout.flush()
            await one.election.lost.wait()
            sys.stdout.write("lost\n")
            sys.stdout.flush()


@pytest.fixture
def lead_elsewhere(server: PostgresServer, name: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process that leads."""
    command = [sys.executable, "-c", ALONE, server.url(name)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "won 1\n"
        yield process
        process.kill()


async def won(*candidates: Candidate, within: float) -> tuple[Candidate, WriteLease]:
    """Return the first that leads, and its lead."""
    waiting = {asyncio.create_task(one.election.won()): one for one in candidates}
    try:
        async with asyncio.timeout(within + BUSY):
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        first = done.pop()
        return waiting[first], first.result()
    finally:
        for task in waiting:
            task.cancel()


async def lost(one: Candidate) -> None:
    async with asyncio.timeout(QUICK.lead + BUSY):
        await one.election.lost.wait()


async def test_a_killed_lead_is_replaced(
    server: PostgresServer, name: str, lead_elsewhere: subprocess.Popen[str]
) -> None:
    async with candidate(server.url(name)) as other:
        lead_elsewhere.kill()
        _, lead = await won(other, within=FAILOVER)
        assert lead.term == 2


async def test_a_stopped_lead_is_replaced_and_notices_when_it_wakes(
    server: PostgresServer, name: str, lead_elsewhere: subprocess.Popen[str]
) -> None:
    """It is a new replica from then on, and stands behind the one that leads."""
    async with candidate(server.url(name)) as other:
        lead_elsewhere.send_signal(signal.SIGSTOP)
        _, lead = await won(other, within=FAILOVER)
        lead_elsewhere.send_signal(signal.SIGCONT)
        assert lead_elsewhere.stdout
        assert await asyncio.to_thread(lead_elsewhere.stdout.readline) == "lost\n"
        assert (other.election.lead, lead.term) == (lead, 2)


async def test_a_lead_behind_a_partition_stops_before_another_one_leads(
    server: PostgresServer, name: str
) -> None:
    with WireProxy(server) as proxy:
        async with candidate(proxy.url(name)) as one, candidate(server.url(name)) as other:
            await won(one, other, within=0)
            if other.election.lead:
                await other.election.hand_over()
                await won(one, within=FAILOVER)
                other.election = other.replica.join_election("chat")
            proxy.stall()
            first, _ = await won(other, within=FAILOVER)
            assert one.election.lost.is_set()
            assert one.replica.owners.name_of("1") is None, "it would claim as a dead one"
            assert first is other
            proxy.flow()


async def test_a_lead_that_stops_hands_over_at_once(server: PostgresServer, name: str) -> None:
    async with candidate(server.url(name)) as other, candidate(server.url(name)) as one:
        leading, lead = await won(one, other, within=0)
        follower = other if leading is one else one
        began = time.monotonic()
        await leading.election.hand_over()
        assert leading.election.lost.is_set()
        _, following = await won(follower, within=QUICK.beat)
        assert following.term == lead.term + 1
        assert time.monotonic() - began < QUICK.gone


@pytest.mark.parametrize("how", ["stop", "freeze"])
async def test_an_outage_of_the_server_changes_no_lead(
    server: PostgresServer, name: str, how: str
) -> None:
    """The lead stops itself meanwhile, and takes up its own term afterwards."""
    async with AsyncExitStack() as stack:
        candidates = [await stack.enter_async_context(candidate(server.url(name))) for _ in "abc"]
        leading, lead = await won(*candidates, within=0)
        (server.stop if how == "stop" else server.freeze)()
        await lost(leading)
        await asyncio.sleep(QUICK.gone)
        (server.start if how == "stop" else server.thaw)()
        again, same = await won(*candidates, within=FAILOVER)
        assert (again, same) == (leading, lead)
        await asyncio.sleep(QUICK.gone)
        living = await leading.database.read(membership.find_all)
        assert {one.owner for one in living} == {one.replica.owner for one in candidates}
        assert leading.election.lead == lead


async def test_a_busy_event_loop_does_not_look_dead(server: PostgresServer, name: str) -> None:
    """The lead itself finds out that it stood still; no other one led meanwhile."""
    async with candidate(server.url(name)) as one:
        _, lead = await won(one, within=0)
        owner = one.replica.owner
        time.sleep(QUICK.gone + QUICK.beat)  # noqa: ASYNC251 - it blocks the loop on purpose
        assert (one.replica.owner, await one.election.won()) == (owner, lead)


async def test_replicas_see_each_other_until_they_leave(server: PostgresServer, name: str) -> None:
    async with candidate(server.url(name)) as one:

        async def sees(*owners: str) -> bool:
            return tuple(seen.owner for seen in one.replica.others()) == owners

        async with candidate(server.url(name)) as other:
            await until(partial(sees, other.replica.owner))
        (left,) = await one.database.read(membership.find_all)
        assert left.owner == one.replica.owner
        await until(sees)
