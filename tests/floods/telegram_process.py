"""The harness's side of the Bot API server process: each call is a command."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bench.processes import ROOT

LONGEST_LINE = 2**26
END_SECONDS = 10.0


@dataclass(slots=True)
class Telegram:
    """A Bot API server in another process, at `url`; letters are taken at `smtp`."""

    process: Process
    url: str = ""
    token: str = ""
    smtp: str = ""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, name: str, **given: Any) -> Any:
        """Run a command of `telegram.Town`. Raises RuntimeError where it fails."""
        assert self.process.stdin
        async with self.lock:
            self.process.stdin.write(json.dumps({"name": name, **given}).encode() + b"\n")
            answer = await self.line()
        if "error" in answer:
            raise RuntimeError(f"{name}: {answer['error']}")
        return answer["result"]

    async def line(self) -> dict[str, Any]:
        """Return the next line that the process writes."""
        assert self.process.stdout
        line = await self.process.stdout.readline()
        if not line:
            raise RuntimeError("the Bot API server has ended")
        answer: dict[str, Any] = json.loads(line)
        return answer


@asynccontextmanager
async def started() -> AsyncIterator[Telegram]:
    """Run the server for as long as the block lasts."""
    async with helper("telegram_server") as process:
        telegram = Telegram(process)
        told = await telegram.line()
        telegram.url = f"http://127.0.0.1:{told['port']}"
        telegram.token, telegram.smtp = told["token"], told["smtp"]
        yield telegram


@asynccontextmanager
async def helper(module: str, *arguments: str) -> AsyncIterator[Process]:
    """Run a module of this package as a process; it ends with the block, and with this process.

    It is asked to end by closing its standard input, which also happens when this process dies.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"tests.floods.{module}", *arguments),
        cwd=ROOT,
        limit=LONGEST_LINE,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        await _ended(process)


async def _ended(process: Process) -> None:
    assert process.stdin
    process.stdin.close()
    try:
        async with asyncio.timeout(END_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
