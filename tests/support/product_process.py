"""The product as a process, with a Telegram that the test holds in its hand.

Every process logs at debug; when it has ended, its whole output is searched for the
secrets it knew and for tracebacks, so each test also guards what may not be in a log.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bot.core.database.vault import Vault
from bot.core.net.http_client import ssl_context
from bot.sandbox.web.server import create_app
from bot.sandbox.world.errors import NO_LIMITS
from bot.sandbox.world.world import TOKEN, World
from tests.support.asgi_server import serve_asgi
from tests.support.free_ports import free_port
from tests.support.sandbox_server import serving
from tests.support.source_tree import ROOT

PATIENCE = 20.0
"""Seconds that anything may take on a machine that is busy with something else."""

OURS = (sys.executable, "-m", "bot")
"""The command line of this tree's bot."""

UNLOGGED = """
    SELECT token FROM listings
    UNION SELECT code FROM codes WHERE LENGTH(code) > 5
    UNION SELECT delivery_text FROM payment_requests WHERE LENGTH(delivery_text) > 5
"""
"""The tokens of the receiver's addresses, and the texts and codes that buyers get."""

TRANSACTION = re.compile("[0-9a-f]{24}")

LINE_LIMIT = 2**20
QUICK = {"TELEGRAM_RATE": "0", "TELEGRAM_CHAT_RATE": "0", "TELEGRAM_GROUP_RATE": "0"}
"""Telegram's limits lifted, as benches do: the sandbox's are lifted as well."""


@dataclass
class Process:
    """A command of ours under way; `out` and `err` hold the lines it has written so far."""

    child: asyncio.subprocess.Process
    url: str
    database: Path
    secrets: set[str]
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)
    readers: list[asyncio.Task[None]] = field(default_factory=list)

    async def line(self, *containing: str, seconds: float = PATIENCE) -> str:
        """Wait for a line of its output with one of these words."""

        def look() -> str | None:
            lines = [*self.out, *self.err]
            return next((line for line in lines if any(map(line.__contains__, containing))), None)

        async with self.news:
            try:
                async with asyncio.timeout(seconds):
                    await self.news.wait_for(lambda: look() or self.ended)
            except TimeoutError:
                raise AssertionError(f"no line {containing!r} in {self.err}") from None
        found = look()
        assert found, f"ended without a line {containing!r}: {self.err}"
        return found

    async def ready(self) -> Process:
        await self.line("] ready ", '"event": "ready"')
        return self

    async def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to stop; return its exit code."""
        self.child.send_signal(how)
        return await self.end()

    async def kill(self) -> None:
        """End it as a power cut would."""
        self.child.kill()
        await self.end()

    async def end(self, seconds: float = PATIENCE) -> int:
        """Wait for its end and its last lines; return the exit code."""
        async with asyncio.timeout(seconds):
            code = await self.child.wait()
            await asyncio.gather(*self.readers)
        return code

    @property
    def port(self) -> str:
        return self.url.rpartition(":")[2]

    @property
    def ended(self) -> bool:
        return all(reader.done() for reader in self.readers)

    @property
    def output(self) -> str:
        return "\n".join([*self.out, *self.err])

    def rows(self, sql: str) -> list[Any]:
        """Return the rows of a SELECT on its database, read from outside."""
        return rows(self.database, sql)

    def leaks(self) -> list[str]:
        """Return the lines of its output that have a secret in them or begin a traceback.

        Only the log may not name receivers' addresses, for which `deliveries list` is there, nor
        whole numbers of payments, nor what buyers get.
        """
        secrets, unlogged, paid = self.secrets | _kept(self.database), set[str](), set[str]()
        if self.database.exists():
            unlogged = {text for (text,) in self.rows(UNLOGGED)}
            paid = {number for (number,) in self.rows("SELECT id FROM payments")}
        return [
            line
            for lines, known in ((self.out, secrets), (self.err, secrets | unlogged))
            for line in lines
            if "Traceback (most" in line or any(secret in line for secret in known)
        ] + [line for line in self.err if not paid.isdisjoint(TRANSACTION.findall(line))]

    async def _read(self, stream: asyncio.StreamReader, lines: list[str]) -> None:
        async for raw in stream:
            async with self.news:
                lines.append(raw.decode().rstrip("\n"))
                self.news.notify_all()
        async with self.news:
            self.news.notify_all()


def rows(database: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(sql).fetchall()


def _kept(database: Path) -> set[str]:
    """Return every secret that is kept beside or in the database."""
    key = database.with_suffix(".key")
    if not key.exists():
        return set()
    vault = Vault(key.read_text())
    kept = [vault.open(sealed) for (sealed,) in rows(database, "SELECT sealed FROM kept_secrets")]
    inside = [re.findall(r'[sS]ecret": ?"([^"]+)"', told) for told in kept]
    return {key.read_text(), *kept, *itertools.chain(*inside)}


@asynccontextmanager
async def start_bot(
    folder: Path,
    *command: str,
    program: str = "",
    unseen: Iterable[str] = (),
    **env: str,
) -> AsyncIterator[Process]:
    """Run `python -m bot …`, or the `program` instead, in `folder`; end it when the block is left.

    `unseen` are further secrets, beside those among the settings, that it may not write.
    """
    settings = {
        "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LOG_LEVEL": "debug",
        "DATABASE_URL": f"sqlite:///{folder}/bot.db", **env, "PORT": env.get("PORT") or free_port(),
    }  # fmt: skip
    child = await asyncio.create_subprocess_exec(
        *([program] if program else OURS), *command,
        cwd=folder, env=settings, limit=LINE_LIMIT, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    database = Path(settings["DATABASE_URL"].removeprefix("sqlite:///"))
    names = ("BOT_TOKEN", "APP_SECRET", "WEBHOOK_SECRET", "SECRET_KEY", "METRICS_TOKEN")
    known = {settings[name] for name in names if settings.get(name)}
    run = Process(child, f"http://127.0.0.1:{settings['PORT']}", database, known | set(unseen))
    assert child.stdout
    assert child.stderr
    for stream, lines in ((child.stdout, run.out), (child.stderr, run.err)):
        run.readers.append(asyncio.create_task(run._read(stream, lines)))
    try:
        yield run
    finally:
        if child.returncode is None:
            child.kill()
        await run.end()
    assert run.leaks() == []


@asynccontextmanager
async def started_bot(folder: Path, *command: str, **how: Any) -> AsyncIterator[Process]:
    """Run a command as `start_bot` does; the block begins when it is ready."""
    async with start_bot(folder, *command, **how) as run:
        yield await run.ready()


async def run_command(folder: Path, *command: str, **env: str) -> tuple[int, list[str], list[str]]:
    """Run a command to its end: exit code, lines of output, lines of errors."""
    async with start_bot(folder, *command, **env) as run:
        code = await run.end()
    return code, run.out, run.err


async def create_application(folder: Path, **env: str) -> dict[str, str]:
    """Create an application by its command; return its credentials, named as the command does."""
    code, lines, errors = await run_command(folder, "apps", "create", "shop", **env)
    assert code == 0, errors
    return dict(line.split("=", 1) for line in lines)


def app_headers(keys: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of an application's calls."""
    return {"App-Id": keys["APP_ID"], "App-Secret": keys["APP_SECRET"]}


@dataclass
class ProductSetup:
    """A sandbox world, its Bot API server, and a folder to run the product in."""

    world: World
    telegram: str
    folder: Path

    def run(self, **env: str) -> AbstractAsyncContextManager[Process]:
        """`python -m bot run` on this Telegram."""
        return start_bot(self.folder, "run", **{**self.settings, **env})

    def started(self, **env: str) -> AbstractAsyncContextManager[Process]:
        """The same, ready."""
        return started_bot(self.folder, "run", **{**self.settings, **env})

    @property
    def settings(self) -> dict[str, str]:
        return {"BOT_TOKEN": TOKEN, "TELEGRAM_API_URL": self.telegram, **QUICK}


@asynccontextmanager
async def sandbox_telegram(folder: Path) -> AsyncIterator[ProductSetup]:
    """Serve a new sandbox world to run the product on."""
    world = World(limits=NO_LIMITS)
    async with serving(world) as bot:
        yield ProductSetup(world, str(bot.http.base_url).rstrip("/"), folder)


@asynccontextmanager
async def running_product(folder: Path, **env: str) -> AsyncIterator[tuple[ProductSetup, Process]]:
    """Run the whole product until the block ends."""
    async with sandbox_telegram(folder) as stage, stage.started(**env) as run:
        yield stage, run


@asynccontextmanager
async def telegram_at(port: str) -> AsyncIterator[World]:
    """Serve a Bot API server at an address that the bot has already tried."""
    world = World(limits=NO_LIMITS)
    async with serve_asgi(create_app(world), int(port)):
        try:
            yield world
        finally:
            await world.close()


@asynccontextmanager
async def foreign_service(
    folder: Path, **env: str
) -> AsyncIterator[tuple[Process, dict[str, str]]]:
    """Run a payment service in its own process and folder; yield credentials for it."""
    folder = folder / "there"
    folder.mkdir()
    keys = await create_application(folder)
    secret = {keys["APP_SECRET"], keys["WEBHOOK_SECRET"]}
    settings = {"WEBHOOK_ALLOW": "127.0.0.1", **env}
    async with started_bot(folder, "service", unseen=secret, **settings) as run:
        yield run, keys


async def until(look: Callable[[], Awaitable[bool]], seconds: float = PATIENCE) -> None:
    """Wait until a check succeeds, by repeating it."""
    async with asyncio.timeout(seconds):
        while not await look():  # noqa: ASYNC110 - another process rings no bell
            await asyncio.sleep(0.02)


def patient_client(url: str = "", headers: dict[str, str] | None = None) -> httpx.AsyncClient:
    """Build a client that waits for a process as long as a busy machine may take."""
    return httpx.AsyncClient(
        base_url=url, headers=headers, trust_env=False, timeout=PATIENCE, verify=ssl_context()
    )


async def status(url: str) -> int:
    """Return the status of an address, 0 if nobody answers."""
    async with patient_client() as http:
        try:
            return (await http.get(url)).status_code
        except httpx.TransportError:
            return 0
