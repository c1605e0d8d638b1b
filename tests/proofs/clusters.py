"""A cluster: PostgreSQL, a strict Telegram, replicas, and a reverse proxy before them.

The parts also serve alone: a replica is the product as a process, on any database.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import sys
from asyncio.subprocess import Process
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import httpx
import psycopg

from bot.sandbox.web.server import create_app
from bot.sandbox.world.errors import Limits
from bot.sandbox.world.world import Call, World
from demo_cluster import front
from tests.support.asgi_server import serve_asgi
from tests.support.free_ports import free_port
from tests.support.postgres_server import PostgresServer
from tests.support.source_tree import ROOT
from tests.support.wire_proxy import WireProxy

READY_SECONDS = 60.0
LEAVE_SECONDS = 20.0
CHECK_SECONDS = 0.05
RUN = ("-m", "bot", "run")
SERVICE = ("-m", "bot", "service")

TOO_MANY = 429
KEEP_ALIVE_SECONDS = 75
"""As Telegram's own server: one that hangs up sooner than its clients loses answers."""

PACED = {
    *("sendMessage", "sendPhoto", "sendDocument", "editMessageText", "editMessageCaption"),
    *("editMessageMedia", "editMessageReplyMarkup"),
}
"""The methods that Telegram's limits count."""

DATABASE = "shop"
SECRET_KEY = "the key that all replicas of a proof share"
OWED = (
    "SELECT queue, state, COUNT(*) FROM outbox WHERE state IN ('waiting', 'leased') GROUP BY 1, 2"
)
LOOK_SECONDS = 0.2
ANSWER_SECONDS = 2.0
PATIENCE = 60.0


@dataclass(slots=True)
class Replica:
    """One process of the product; its log goes on over restarts."""

    name: str
    settings: Mapping[str, str]
    folder: Path
    command: tuple[str, ...] = RUN
    """What Python runs."""

    code: Path = ROOT
    """The folder that has the package."""

    process: Process | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.settings['PORT']}"

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.returncode is None

    async def start(self) -> None:
        """Start the process, without waiting until it is ready."""
        assert not self.is_running
        with self.log.open("ab") as log:
            self.process = await self._spawn(*self.command, stdout=log, stderr=log)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Run it until the block ends."""
        await self.start()
        try:
            await self.ready()
            yield self
        finally:
            await self.close()

    async def run(self, *arguments: str) -> list[str]:
        """Run another command with its settings; return the lines that it prints.

        Raises RuntimeError if it fails.
        """
        with self.log.open("ab") as log:
            process = await self._spawn(*arguments, stdout=asyncio.subprocess.PIPE, stderr=log)
        told, _ = await process.communicate()
        if process.returncode:
            raise RuntimeError(f"{' '.join(arguments)} has failed:\n{self.last_words()}")
        return told.decode().splitlines()

    async def _spawn(self, *arguments: str, **streams: Any) -> Process:
        home = self.folder / self.name
        home.mkdir(exist_ok=True)
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{self.code}",
            "PYTHONFAULTHANDLER": "1",  # a crash of the interpreter is in the log
            **self.settings,
        }
        return await asyncio.create_subprocess_exec(
            *(sys.executable, *arguments),
            cwd=home,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            **streams,
        )

    async def ready(self, seconds: float = READY_SECONDS) -> None:
        """Wait until it says that it takes requests. Raises RuntimeError if it has ended."""
        async with asyncio.timeout(seconds), httpx.AsyncClient(trust_env=False) as http:
            while True:
                if not self.is_running:
                    code = self.process.returncode if self.process else None
                    raise RuntimeError(f"{self.name} ended with {code}:\n{self.last_words()}")
                with suppress(httpx.TransportError):
                    if (await http.get(f"{self.url}/readyz")).is_success:
                        return
                await asyncio.sleep(CHECK_SECONDS)

    def send(self, number: signal.Signals) -> None:
        """Send the process a signal if there is one."""
        if self.process and self.is_running:
            self.process.send_signal(number)

    async def kill(self) -> None:
        """End it as a power cut would."""
        self.send(signal.SIGKILL)
        await self.ended()

    async def leave(self) -> int:
        """Ask it to stop; return its exit code. Raises TimeoutError if it does not."""
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        return await self.ended(LEAVE_SECONDS)

    async def ended(self, seconds: float = LEAVE_SECONDS) -> int:
        """Wait for the end of the process; return its exit code."""
        assert self.process
        async with asyncio.timeout(seconds):
            return await self.process.wait()

    async def close(self) -> None:
        """End the process, by force if it does not leave."""
        if self.is_running:
            try:
                await self.leave()
            except TimeoutError:
                await self.kill()

    def last_words(self) -> str:
        """Return the end of its log."""
        return self.log.read_text("utf-8", "replace")[-3000:] if self.log.exists() else ""

    def tracebacks(self) -> int:
        """Count the tracebacks in its log."""
        if not self.log.exists():
            return 0
        return self.log.read_text("utf-8", "replace").count("Traceback (most recent")


@dataclass(slots=True)
class StrictTelegram:
    """A Bot API server under way, with Telegram's limits."""

    world: World
    url: str

    @property
    def refused(self) -> int:
        """Return how many calls Telegram's limits refused."""
        return sum(call.code == TOO_MANY for call in self.world.refused)

    def busiest_second(self) -> int:
        """Return the most messages in any second, all chats together."""
        return most_within(1.0, [call.time for call in self.paced()])

    def busiest_chat(self, burst: int) -> float:
        """Return the shortest time in which a chat got one message more than its burst."""
        times: defaultdict[object, list[float]] = defaultdict(list)
        for call in self.paced():
            times[call.params.get("chat_id")].append(call.time)
        return min((shortest(sorted(of_chat), burst) for of_chat in times.values()), default=1e9)

    def paced(self) -> list[Call]:
        """Return the accepted calls that the limits count."""
        return self.world.calls_of(*PACED)


def most_within(seconds: float, times: Iterable[float]) -> int:
    """Return the most of these times that lie within so many seconds."""
    ordered, first, most = sorted(times), 0, 0
    for place, at in enumerate(ordered):
        while at - ordered[first] >= seconds:
            first += 1
        most = max(most, place - first + 1)
    return most


def shortest(ordered: Sequence[float], burst: int) -> float:
    """Return the shortest time from a message to the one after a burst that it begins."""
    spans = zip(ordered, ordered[burst:], strict=False)
    return min((later - earlier for earlier, later in spans), default=1e9)


@asynccontextmanager
async def strict_telegram(limits: Limits | None = None) -> AsyncIterator[StrictTelegram]:
    """Serve a new world, with Telegram's own limits unless others are given."""
    world = World(limits=limits)
    async with serve_asgi(create_app(world), keep_alive=KEEP_ALIVE_SECONDS) as url:
        try:
            yield StrictTelegram(world, url)
        finally:
            await world.close()


@dataclass(frozen=True, slots=True)
class Stage:
    """What a cluster is made of."""

    replicas: int = 3
    proxied: bool = False
    """Whether a wire proxy stands between each replica and the server."""

    settings: Mapping[str, str] = field(default_factory=dict)
    database: str = ""
    """Address of the replicas' database; a new one unless it is given."""

    command: tuple[str, ...] = RUN


@dataclass(slots=True)
class Cluster:
    """A cluster under way."""

    server: PostgresServer
    database: str
    """The server's own address, whatever stands before it."""

    telegram: StrictTelegram
    replicas: list[Replica]
    proxies: list[WireProxy] = field(default_factory=list)
    url: str = ""
    """The reverse proxy's address."""

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
        """Wait until no message waits; return what is left if that takes too long."""
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
        telegram = await stack.enter_async_context(strict_telegram())
        database = stage.database or server.clone(DATABASE)
        cluster = Cluster(server, database, telegram, [])
        for number in range(stage.replicas):
            url = f"{database}&application_name={number}"
            if stage.proxied:
                cluster.proxies.append(stack.enter_context(WireProxy(server)))
                url = f"{cluster.proxies[-1].url(DATABASE)}?application_name={number}"
            settings = {**settings_of(telegram, url), **stage.settings}
            cluster.replicas.append(Replica(f"replica-{number}", settings, folder, stage.command))
        proxy = front.Front([replica.url for replica in cluster.replicas])
        serving = serve_asgi(front.serve(proxy), keep_alive=KEEP_ALIVE_SECONDS)
        cluster.url = await stack.enter_async_context(serving)
        for replica in cluster.replicas:
            replica.settings = {**replica.settings, "PUBLIC_URL": cluster.url}
            stack.push_async_callback(replica.close)
        yield cluster


def settings_of(telegram: StrictTelegram, database: str) -> dict[str, str]:
    """Return the settings of a replica: what an operator has to set, and no limits of payers."""
    return {
        "BOT_TOKEN": telegram.world.token,
        "TELEGRAM_API_URL": telegram.url,
        "PORT": free_port(),
        "DATABASE_URL": database,
        "SECRET_KEY": SECRET_KEY,
        "API_RATE": "0",
        "PAYER_RATE": "0",
        "RATES_URLS": "table",
        "LOG_LEVEL": "info",
    }


def app_headers(printed: Iterable[str]) -> dict[str, str]:
    """Return the headers of the application that `apps create` has printed."""
    keys = dict(line.split("=", 1) for line in printed if "=" in line)
    return {"App-Id": keys["APP_ID"], "App-Secret": keys["APP_SECRET"]}
