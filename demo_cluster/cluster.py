"""The cluster: PostgreSQL, replicas as processes, and what can be done to each of them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from asyncio.subprocess import Process
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demo_cluster.front import Upstream
from tests.support.postgres_server import PostgresServer

ROOT = Path(__file__).parents[1]
LEAVE_SECONDS = 15.0
LOOK_SECONDS = 0.2
EVENTS = 30
"""How many of the newest events the page shows."""


@dataclass(slots=True)
class Replica:
    """A process of the product; `upstream` is what the proxy sees of it."""

    number: int
    upstream: Upstream
    settings: Mapping[str, str]
    folder: str
    process: Process | None = None
    is_frozen: bool = False
    is_leaving: bool = False

    @property
    def is_running(self) -> bool:
        """Return whether there is a process."""
        return self.process is not None and self.process.returncode is None

    @property
    def leads(self) -> bool:
        """Return whether it said so when it was asked last."""
        return self.is_running and not self.is_frozen and bool(self.upstream.said.get("lead"))

    @property
    def state(self) -> str:
        """Return one of ended, frozen, leaving, starting, leads and serves."""
        if not self.is_running:
            return "ended"
        if self.is_frozen:
            return "frozen"
        if self.is_leaving:
            return "leaving"
        if not self.upstream.is_ready:
            return "starting"
        return "leads" if self.leads else "serves"

    async def start(self) -> None:
        """Start the process unless it runs."""
        if self.is_running:
            return
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **self.settings}
        self.is_frozen = self.is_leaving = False
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "demo_cluster.replica", cwd=self.folder, env=env
        )

    def send(self, number: signal.Signals) -> None:
        """Send the process a signal if there is one."""
        if self.process is not None and self.is_running:
            self.process.send_signal(number)

    async def end(self) -> None:
        """Stop the process, by force if it takes too long."""
        if self.process is None:
            return
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


@dataclass(slots=True)
class Cluster:
    """What the page shows and does; `events` are its newest, with their epoch seconds."""

    replicas: Sequence[Replica]
    database: PostgresServer
    has_database: bool = True
    events: deque[tuple[float, str]] = field(default_factory=lambda: deque(maxlen=EVENTS))
    _lead: int | None = None
    _without_lead: float = field(default_factory=time.monotonic)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run all replicas for as long as the block lasts."""
        for replica in self.replicas:
            await replica.start()
        watch = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watch.cancel()
            with suppress(asyncio.CancelledError):
                await watch
            await asyncio.gather(*(replica.end() for replica in self.replicas))

    async def act(self, act: str, number: int) -> None:
        """Perform an act on a replica or the database. Raises LookupError for unknown ones."""
        if act in {"stop-database", "start-database"}:
            await asyncio.to_thread(self._switch_database, on=act == "start-database")
            return
        found = {each.number: each for each in self.replicas}
        await self._acts()[act](found[number])

    def _acts(self) -> dict[str, Any]:
        return {
            "kill": self._kill,
            "leave": self._leave,
            "freeze": self._freeze,
            "thaw": self._thaw,
            "start": self._start,
        }

    async def _kill(self, replica: Replica) -> None:
        replica.send(signal.SIGKILL)
        self._record(f"Replica {replica.number} was killed (SIGKILL).")

    async def _leave(self, replica: Replica) -> None:
        replica.send(signal.SIGTERM)
        replica.is_leaving = True
        self._record(f"Replica {replica.number} is stopping (SIGTERM).")

    async def _freeze(self, replica: Replica) -> None:
        replica.send(signal.SIGSTOP)
        replica.is_frozen = True
        self._record(f"Replica {replica.number} was frozen (SIGSTOP).")

    async def _thaw(self, replica: Replica) -> None:
        replica.send(signal.SIGCONT)
        replica.is_frozen = False
        self._record(f"Replica {replica.number} continues (SIGCONT).")

    async def _start(self, replica: Replica) -> None:
        await replica.start()
        self._record(f"Replica {replica.number} is starting.")

    def _switch_database(self, *, on: bool) -> None:
        if on == self.has_database:
            return
        if on:
            self.database.start()
        else:
            self.database.stop()
        self.has_database = on
        self._record("PostgreSQL is running again." if on else "PostgreSQL was stopped.")

    async def _watch(self) -> None:
        """Record each change of the lead, and how long there was none."""
        while True:
            lead = next((each.number for each in self.replicas if each.leads), None)
            if lead != self._lead:
                if lead is None:
                    self._without_lead = time.monotonic()
                else:
                    after = time.monotonic() - self._without_lead
                    self._record(f"Replica {lead} leads now; there was no lead for {after:.1f} s.")
                self._lead = lead
            await asyncio.sleep(LOOK_SECONDS)

    def _record(self, text: str) -> None:
        self.events.appendleft((time.time(), text))
