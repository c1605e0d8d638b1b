"""A cluster: PostgreSQL, a strict Telegram, replicas, and a reverse proxy before them."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import httpx
import psycopg

from demo_cluster.front import Front
from demo_cluster.front import serve as served
from tests.replicas.replica import RUN, Replica
from tests.replicas.telegram import KEEP_ALIVE_SECONDS, StrictTelegram, strict_telegram
from tests.support.asgi_server import serve_asgi
from tests.support.free_ports import free_port
from tests.support.postgres_server import PostgresServer
from tests.support.wire_proxy import WireProxy

if TYPE_CHECKING:
    from bot.sandbox.world.errors import Limits
    from bot.sandbox.world.world import World


DATABASE = "shop"
SECRET_KEY = "the key that all replicas of a proof share"
OWED = (
    "SELECT queue, state, COUNT(*) FROM outbox WHERE state IN ('waiting', 'leased') GROUP BY 1, 2"
)
LOOK_SECONDS = 0.2
ANSWER_SECONDS = 2.0
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Stage:
    """What a cluster is made of; `proxied` puts a wire proxy between each replica and the server.

    `settings` are given to all replicas. Their database is a new one, unless `database` names one.
    """

    replicas: int = 3
    proxied: bool = False
    limits: Limits | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    database: str = ""
    command: tuple[str, ...] = RUN


@dataclass(slots=True)
class Cluster:
    """A cluster under way; `url` is the reverse proxy's, `database` the server's own address."""

    server: PostgresServer
    database: str
    telegram: StrictTelegram
    replicas: list[Replica]
    proxies: list[WireProxy] = field(default_factory=list)
    url: str = ""

    @property
    def world(self) -> World:
        return self.telegram.world

    async def start(self) -> None:
        """Start all replicas at once, and wait until all are ready."""
        await asyncio.gather(*(replica.start() for replica in self.replicas))
        await asyncio.gather(*(replica.ready() for replica in self.replicas))

    async def rows(self, sql: str, *params: object) -> list[Any]:
        """Return the rows of a SELECT, read beside the replicas."""
        return await asyncio.to_thread(rows, self.database, sql, *params)

    async def value(self, sql: str, *params: object) -> Any:
        """Return the first column of the only row."""
        ((value,),) = await self.rows(sql, *params)
        return value

    async def lead(self, seconds: float = PATIENCE) -> Replica:
        """Wait until a replica says that it leads; return it."""
        async with asyncio.timeout(seconds), httpx.AsyncClient(trust_env=False) as http:
            while True:
                for replica in self.replicas:
                    if await _leads(http, replica):
                        return replica
                await asyncio.sleep(LOOK_SECONDS)

    async def taken(self) -> None:
        """Wait until the bot has stored what people have written."""
        await self.world.wait_for(lambda: not self.world.updates.pending, PATIENCE)

    async def idle(self, seconds: float = PATIENCE) -> list[Any]:
        """Wait until no message waits; return what is left where that takes too long."""
        left: list[Any] = []
        try:
            async with asyncio.timeout(seconds):
                while left := await self.rows(OWED):  # noqa: ASYNC110 - others write them
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            return left
        return left

    async def command(self, *arguments: str) -> list[str]:
        """Run a command of the product beside the replicas; return the lines that it prints."""
        settings = {**self.replicas[0].settings, "DATABASE_URL": self.database}
        beside = dataclasses.replace(self.replicas[0], name="command", settings=settings)
        return await beside.run("-m", "bot", *arguments)

    def tracebacks(self) -> int:
        """Count the tracebacks in the logs of all replicas."""
        return sum(replica.tracebacks() for replica in self.replicas)


def rows(url: str, sql: str, *params: object) -> list[Any]:
    """Return the rows of a SELECT on a connection of its own; none for other statements."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(sql.encode(), params or None)
        return found.fetchall() if found.description else []


async def _leads(http: httpx.AsyncClient, replica: Replica) -> bool:
    """Ask a replica whether it leads; one that does not answer does not."""
    try:
        answer = await http.get(f"{replica.url}/readyz", timeout=ANSWER_SECONDS)
    except httpx.TransportError:
        return False
    return bool(answer.json().get("lead"))


@asynccontextmanager
async def open_cluster(
    stage: Stage, server: PostgresServer | None = None
) -> AsyncIterator[Cluster]:
    """Build a cluster on a new database of the server, a new server's unless one is given."""
    async with AsyncExitStack() as stack:
        if server is None:
            server = stack.enter_context(PostgresServer())
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="replicas-")))
        telegram = await stack.enter_async_context(strict_telegram(stage.replicas, stage.limits))
        database = stage.database or server.clone(DATABASE)
        cluster = Cluster(server, database, telegram, [])
        for number in range(stage.replicas):
            url = f"{database}&application_name={number}"
            if stage.proxied:
                cluster.proxies.append(stack.enter_context(WireProxy(server)))
                url = f"{cluster.proxies[-1].url(DATABASE)}?application_name={number}"
            settings = {**settings_of(telegram, number, url), **stage.settings}
            cluster.replicas.append(Replica(f"replica-{number}", settings, folder, stage.command))
        front = Front([replica.url for replica in cluster.replicas])
        serving = serve_asgi(served(front), keep_alive=KEEP_ALIVE_SECONDS)
        cluster.url = await stack.enter_async_context(serving)
        for replica in cluster.replicas:
            replica.settings = {**replica.settings, "PUBLIC_URL": cluster.url}
            stack.push_async_callback(replica.close)
        yield cluster


def settings_of(telegram: StrictTelegram, number: int, database: str) -> dict[str, str]:
    """Return the settings of a replica: what an operator has to set, and no limits of payers."""
    return {
        "BOT_TOKEN": telegram.world.token,
        "TELEGRAM_API_URL": telegram.urls[number],
        "PORT": free_port(),
        "DATABASE_URL": database,
        "SECRET_KEY": SECRET_KEY,
        "API_RATE": "0",
        "PAYER_RATE": "0",
        "RATES_URLS": "table",
        "LOG_LEVEL": "info",
    }
