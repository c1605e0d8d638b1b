"""The product, and what it is measured against, as processes of their own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import sys
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

ROOT = Path(__file__).parents[1]
FREE_SERVICE = {"API_RATE": "0", "PAYER_RATE": "0"}
"""The service's own limits lifted: all payers of a bench come from one address."""

NO_LIMITS = {
    "TELEGRAM_RATE": "0",
    "TELEGRAM_CHAT_RATE": "0",
    "TELEGRAM_GROUP_RATE": "0",
    **FREE_SERVICE,
}
YARDSTICK = "httptools"
"""The parser of the bare server, which is as fast as uvicorn gets. The product uses h11."""

HIDDEN = """\
import sys

class Hidden:
    def find_spec(name, path=None, target=None):
        if name in {names}:
            raise ModuleNotFoundError(f"only the tests install {{name}}", name=name)

sys.meta_path.insert(0, Hidden)
"""
"""Hides packages from a process; None in `sys.modules` would break libraries that look there."""

PATIENCE = 30.0
LOOK_AGAIN = 0.002
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a process of ours runs, an empty folder at first, and the settings it has.

    It writes its log to the file `log`, if that is given.
    """

    folder: str
    settings: Mapping[str, str]
    log: Path | None = None

    async def start(self, *arguments: str, **more: Any) -> Process:
        """Run Python there, with nobody's settings but these."""
        hidden = HIDDEN.format(names=sorted(_only_the_tests()))
        (Path(self.folder) / "sitecustomize.py").write_text(hidden)
        paths = os.pathsep.join([self.folder, str(ROOT)])
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": paths, **self.settings}
        with self.log.open("ab") if self.log else nullcontext() as log:
            return await asyncio.create_subprocess_exec(
                sys.executable, *arguments, cwd=self.folder, env=env, stderr=log, **more
            )


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers; `started` is how many seconds it took from its first instruction."""

    url: str
    started: float
    process: Process
    place: Place

    async def memory(self) -> float:
        """Return its resident memory in MiB."""
        asked = await asyncio.create_subprocess_exec(
            "ps", "-o", "rss=", "-p", str(self.process.pid), stdout=asyncio.subprocess.PIPE
        )
        told, _ = await asked.communicate()
        return int(told) / 1024

    def processor(self) -> float:
        """Return the seconds of processor time that it has used so far."""
        told = Path(f"/proc/{self.process.pid}/stat").read_text("utf-8")
        user, system = told.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / TICKS

    async def command(self, *arguments: str) -> str:
        """Run a command of the product beside the server; what it prints."""
        process = await self.place.start("-m", "bot", *arguments, stdout=asyncio.subprocess.PIPE)
        told, _ = await process.communicate()
        if process.returncode:
            raise RuntimeError(f"ended with {process.returncode}: {' '.join(arguments)}")
        return told.decode()


@asynccontextmanager
async def product(
    telegram: str,
    token: str,
    settings: Mapping[str, str] = NO_LIMITS,
    home: str | None = None,
) -> AsyncIterator[Server]:
    """Run `python -m bot run` on the Bot API server at `telegram`.

    Its database is new, unless `home` is a folder where it ran before.
    """
    port = free_port()
    with nullcontext(home) if home else TemporaryDirectory() as folder:
        given = {
            "BOT_TOKEN": token,
            "TELEGRAM_API_URL": telegram,
            "PORT": str(port),
            "DATABASE_URL": f"sqlite:///{folder}/bot.db",
            "LOG_LEVEL": "warning",
            **settings,
        }
        place = Place(folder, given)
        async with serving(place, ["-m", "bot", "run"], port, "/readyz") as server:
            yield server


@asynccontextmanager
async def service(settings: Mapping[str, str]) -> AsyncIterator[Server]:
    """Run `python -m bot service` on a new database, its own limits lifted."""
    port = free_port()
    with TemporaryDirectory() as folder:
        given = {
            "PORT": str(port),
            "DATABASE_URL": f"sqlite:///{folder}/bot.db",
            "LOG_LEVEL": "warning",
            **FREE_SERVICE,
            **settings,
        }
        async with serving(Place(folder, given), ["-m", "bot", "service"], port, "/readyz") as made:
            yield made


@asynccontextmanager
async def bare() -> AsyncIterator[Server]:
    """Run FastAPI and uvicorn with next to nothing on them."""
    port = free_port()
    with TemporaryDirectory() as folder:
        arguments = ["-m", "bench.bare", str(port)]
        async with serving(Place(folder, {}), arguments, port, "/") as server:
            yield server


@asynccontextmanager
async def endpoint() -> AsyncIterator[Server]:
    """Run an endpoint that takes webhooks, faster than anything that sends them."""
    port = free_port()
    with TemporaryDirectory() as folder:
        arguments = ["-m", "bench.endpoint", str(port)]
        async with serving(Place(folder, {}), arguments, port, "/") as server:
            yield server


@asynccontextmanager
async def bare_bot(telegram: str, token: str, answer: Mapping[str, Any]) -> AsyncIterator[None]:
    """Run python-telegram-bot alone, which gives every command the same answer."""
    with TemporaryDirectory() as folder:
        place = Place(folder, {"ANSWER": json.dumps(answer)})
        async with running(await place.start("-m", "bench.bare_bot", telegram, token)):
            yield


@cache
def _only_the_tests() -> list[str]:
    """Name the packages that operators don't install: what finds them takes them in.

    httpx does with rich and pygments, sqlite-utils with numpy: memory, and time at the start.
    """
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    locked = {_normalized(line.partition("==")[0]) for line in lines if "==" in line}
    return [
        name
        for name, owners in packages_distributions().items()
        if name != YARDSTICK
        and locked.isdisjoint(map(_normalized, owners))
        and name.isidentifier()
        and not (ROOT / name).exists()
    ]


def _normalized(name: str) -> str:
    """Write a distribution's name as the Python packaging specifications do."""
    return re.sub(r"[-_.]+", "-", name).lower()


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@asynccontextmanager
async def serving(
    place: Place, arguments: list[str], port: int, path: str
) -> AsyncIterator[Server]:
    """Run a server of ours, from its first good answer at `path` to the end of the block."""
    url = f"http://127.0.0.1:{port}"
    began = time.perf_counter()
    async with running(await place.start(*arguments)) as process:
        await _answers(url + path, process)
        yield Server(url, time.perf_counter() - began, process, place)


@asynccontextmanager
async def running(process: Process) -> AsyncIterator[Process]:
    """Ask the process to end when the block does, and see it end: by force if it takes too long."""
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            async with asyncio.timeout(PATIENCE):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def _answers(url: str, process: Process) -> None:
    """Wait for the first answer that says well."""
    async with asyncio.timeout(PATIENCE), httpx.AsyncClient() as http:
        while process.returncode is None:
            try:
                if (await http.get(url)).is_success:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(LOOK_AGAIN)
    raise RuntimeError(f"ended with {process.returncode} before it answered {url}")
