"""`database`: the server stops, crashes, is slow, full, has no connections, or is another one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass

import psycopg

from tests.proofs import books, clusters, proof
from tests.support.postgres_server import ADMIN, PostgresServer, SmallDisk, can_mount

PATIENT_SECONDS = 10.0
"""A fault that lasts longer is noticed by payers: the product waits for less."""

UNNOTICED = {"slow", "promoted"}
LATENCY = 0.05
CALM_SECONDS = 2.0
LEADS = "SELECT role, owner, term FROM leads"
TAKER = "taker"
CUT_OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE usename = 'bot' AND application_name <> 'taker'
"""
CONNECTIONS = "40"


@dataclass(slots=True)
class Trial:
    """A cluster with a drop in it, and what it went through."""

    cluster: clusters.Cluster
    shop: books.Shop
    payers: books.Payers
    size: proof.Size
    figures: proof.Figures

    async def suffer(self, name: str, fault: AbstractAsyncContextManager[object]) -> None:
        """Pay before, during and after a fault; then all have paid, and the lead is the same."""
        before, leads = self.payers.statuses.copy(), await self.cluster.rows(LEADS)
        seconds, first = self.size.seconds + 2 * CALM_SECONDS, len(self.payers.outcomes)
        request = [self.shop.request_id]
        paying = asyncio.create_task(
            self.payers.pay_steadily(request, self.size.payments, seconds, first)
        )
        await asyncio.sleep(CALM_SECONDS)
        async with fault:
            await asyncio.sleep(self.size.seconds)
        began = time.monotonic()
        await paying
        await asyncio.gather(*(replica.ready() for replica in self.cluster.replicas))
        answers = self.payers.statuses - before
        self.figures.note(name, ", ".join(f"{n} x {status}" for status, n in answers.items()))
        self.figures.note(f"{name}: seconds until all had paid", time.monotonic() - began)
        if self.size.seconds > PATIENT_SECONDS and name not in UNNOTICED:
            self.figures.at_least(
                f"{name}: 503 with Retry-After", answers[f"{books.UNAVAILABLE}"], 1
            )
        self.figures.hold(f"{name}: lead", await self.cluster.rows(LEADS), leads)

    async def end(self) -> None:
        """Hold what was paid to what is stored, and the answers to what payers may get."""
        # A connection that breaks without an answer is that of a server that went away.
        self.figures.hold("answers that no payer may get", self.payers.unexpected(), "none")
        self.figures.note("longest answer, seconds", self.payers.longest)
        await books.balance(self.figures, self.cluster, self.payers, [self.shop], cut=True)
        self.figures.hold("tracebacks in the logs", self.cluster.tracebacks(), 0)


async def prove(size: proof.Size) -> proof.Figures:
    """Play every fault; those that need a server of their own get one."""
    figures = proof.Figures()
    for part, play in PARTS.items():
        with figures.of(part):
            await play(size, figures)
    return figures


async def one_server(size: proof.Size, figures: proof.Figures) -> None:
    """Stop the server, crash it, freeze it, slow it down, and take all its connections."""
    with PostgresServer(max_connections=CONNECTIONS) as server:
        stage = clusters.Stage(size.replicas, proxied=True)
        async with _trial(size, figures, server, stage) as trial:
            await trial.suffer("stopped", _calls(server.stop, server.start))
            await trial.suffer("crashed", _calls(server.crash, server.start))
            await trial.suffer("frozen", _calls(server.freeze, server.thaw))
            await trial.suffer("slow", _slow(trial.cluster))
            await trial.suffer("no connections", _taken(server))


async def full_disk(size: proof.Size, figures: proof.Figures) -> None:
    """Fill the server's disk."""
    if not can_mount():
        figures.note("full", "not tried: this kernel lets nobody mount")
        return
    with SmallDisk() as server:
        async with _trial(size, figures, server, clusters.Stage(size.replicas)) as trial:
            await trial.suffer("full", _full(server))


async def another_server(size: proof.Size, figures: proof.Figures) -> None:
    """Let a standby take the place of the server."""
    with ExitStack() as stack:
        server = stack.enter_context(PostgresServer())
        server.clone(clusters.DATABASE)
        other = server.standby()
        other.home.chmod(0o755)
        stack.enter_context(other)
        hosts = f"host={server.home},{other.home}&port={server.port},{other.port}"
        url = f"postgresql://bot@/{clusters.DATABASE}?{hosts}&target_session_attrs=read-write"
        async with _trial(
            size, figures, server, clusters.Stage(size.replicas, database=url)
        ) as trial:

            def fail_over() -> None:
                server.crash()
                other.promote()
                trial.cluster.database = other.url(clusters.DATABASE)

            await trial.suffer("promoted", _calls(fail_over, lambda: None))


PARTS = {"one server": one_server, "standby": another_server, "small disk": full_disk}


@asynccontextmanager
async def _trial(
    size: proof.Size, figures: proof.Figures, server: PostgresServer, stage: clusters.Stage
) -> AsyncIterator[Trial]:
    books.open_files()
    async with clusters.open_cluster(stage, server) as cluster:
        await cluster.start()
        shop = await books.open_shop(cluster, 100 * size.payments)
        payers = books.Payers([replica.url for replica in cluster.replicas], size.seed)
        trial = Trial(cluster, shop, payers, size, figures)
        yield trial
        await trial.end()


@asynccontextmanager
async def _calls(begin: Callable[[], object], end: Callable[[], object]) -> AsyncIterator[None]:
    begin()
    try:
        yield
    finally:
        end()


@asynccontextmanager
async def _slow(cluster: clusters.Cluster) -> AsyncIterator[None]:
    """Add latency to all connections."""
    for proxy in cluster.proxies:
        proxy.delay = LATENCY
    try:
        yield
    finally:
        for proxy in cluster.proxies:
            proxy.delay = 0.0


@asynccontextmanager
async def _full(server: SmallDisk) -> AsyncIterator[None]:
    with server.full():
        yield


@asynccontextmanager
async def _taken(server: PostgresServer) -> AsyncIterator[None]:
    """Take every connection that the server has for roles like the product's."""
    async with AsyncExitStack() as stack:
        admin = await psycopg.AsyncConnection.connect(server.url(user=ADMIN), autocommit=True)
        await stack.enter_async_context(admin)
        async with asyncio.timeout(clusters.PATIENCE):
            is_taken = False
            while not is_taken:  # the replicas connect again meanwhile
                cut = await (await admin.execute(CUT_OTHERS)).fetchall()
                while connection := await _connected(server):
                    await stack.enter_async_context(connection)
                is_taken = not cut
        yield


async def _connected(server: PostgresServer) -> psycopg.AsyncConnection | None:
    try:
        url = server.url(clusters.DATABASE, application_name=TAKER)
        return await psycopg.AsyncConnection.connect(url, autocommit=True)
    except psycopg.OperationalError:
        return None
