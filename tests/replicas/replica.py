"""A replica: the product as a process that can be killed, stopped where it stands, and started."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.support.paths import ROOT

READY_SECONDS = 60.0
LEAVE_SECONDS = 20.0
LOOK_SECONDS = 0.05
RUN = ("-m", "bot", "run")


@dataclass(slots=True)
class Replica:
    """One process of the product; its log goes on over restarts.

    `code` is the folder that has the package, and `command` what Python runs.
    """

    name: str
    settings: Mapping[str, str]
    folder: Path
    command: tuple[str, ...] = RUN
    code: Path = ROOT
    starts: int = 0
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
        self.starts += 1

    async def run(self, *arguments: str) -> list[str]:
        """Run another command with its settings; return the lines that it prints.

        Raises RuntimeError where it fails.
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
        """Wait until it says that it takes requests. Raises RuntimeError where it has ended."""
        async with asyncio.timeout(seconds), httpx.AsyncClient(trust_env=False) as http:
            while True:
                if not self.is_running:
                    code = self.process.returncode if self.process else None
                    raise RuntimeError(f"{self.name} ended with {code}:\n{self.last_words()}")
                with suppress(httpx.TransportError):
                    if (await http.get(f"{self.url}/readyz")).is_success:
                        return
                await asyncio.sleep(LOOK_SECONDS)

    def send(self, number: signal.Signals) -> None:
        """Send the process a signal if there is one."""
        if self.process and self.is_running:
            self.process.send_signal(number)

    async def kill(self) -> None:
        """End it as a power cut would."""
        self.send(signal.SIGKILL)
        await self.ended()

    async def leave(self) -> int:
        """Ask it to stop; return its exit code. Raises TimeoutError where it does not."""
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        return await self.ended(LEAVE_SECONDS)

    async def ended(self, seconds: float = LEAVE_SECONDS) -> int:
        """Wait for the end of the process; return its exit code."""
        assert self.process
        async with asyncio.timeout(seconds):
            return await self.process.wait()

    async def close(self) -> None:
        """End the process, by force where it does not leave."""
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
