"""The product, and what it is measured against, as processes of their own."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator

ROOT = Path(__file__).parents[1]
NO_LIMITS = {
    "TELEGRAM_RATE": "0",
    "TELEGRAM_CHAT_RATE": "0",
    "TELEGRAM_GROUP_RATE": "0",
    "API_RATE": "0",
    "PAYER_RATE": "0",
}
NOT_INSTALLED = "numpy.py"
"""The tests' OpenCV brings numpy, which sqlite-utils takes in where it finds it: operators have
neither, so the processes measured here find none (11 MiB, 60 ms)."""

PATIENCE = 30.0
LOOK_AGAIN = 0.002


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers; `started` is how many seconds it took from its first instruction."""

    url: str
    started: float
    process: Process

    async def memory(self) -> float:
        """Give its resident memory in MiB."""
        asked = await asyncio.create_subprocess_exec(
            "ps", "-o", "rss=", "-p", str(self.process.pid), stdout=asyncio.subprocess.PIPE
        )
        told, _ = await asked.communicate()
        return int(told) / 1024


@asynccontextmanager
async def product(telegram: str, token: str) -> AsyncIterator[Server]:
    """Run `python -m bot run` on a new database and the Bot API server at `telegram`."""
    port = free_port()
    with TemporaryDirectory() as folder:
        settings = {
            "BOT_TOKEN": token,
            "TELEGRAM_API_URL": telegram,
            "PORT": str(port),
            "DATABASE_URL": f"sqlite:///{folder}/bot.db",
            "LOG_LEVEL": "warning",
            **NO_LIMITS,
        }
        async with _serving(["-m", "bot", "run"], port, "/readyz", folder, settings) as server:
            yield server


@asynccontextmanager
async def bare() -> AsyncIterator[Server]:
    """Run FastAPI and uvicorn with next to nothing on them."""
    port = free_port()
    with TemporaryDirectory() as folder:
        async with _serving(["-m", "bench.bare", str(port)], port, "/", folder, {}) as server:
            yield server


def free_port() -> int:
    """Give a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@asynccontextmanager
async def _serving(
    arguments: list[str], port: int, path: str, folder: str, settings: dict[str, str]
) -> AsyncIterator[Server]:
    """Run Python until the block ends, in an empty folder and with nobody's settings but these."""
    url = f"http://127.0.0.1:{port}"
    settings = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **settings}
    (Path(folder) / NOT_INSTALLED).write_text("raise ImportError")
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=folder, env=settings
    )
    try:
        await _answers(url + path, process)
        yield Server(url, time.perf_counter() - began, process)
    finally:
        if process.returncode is None:
            process.terminate()
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
