"""A replica among others: its beats have a thread, since a busy event loop must not look dead."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import structlog

from bot.core.errors import StorageError
from bot.core.replicas import replica_rows
from bot.core.replicas.membership import Membership
from bot.core.replicas.owners import ReplicaOwners
from bot.core.replicas.replica import Replica
from bot.core.replicas.standing import Standing
from bot.core.replicas.times import TIMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bot.core.database.database import Database
    from bot.core.database.slices import Lead
    from bot.core.replicas.replica_rows import ReplicaInfo, ReplicaRow
    from bot.core.replicas.times import Times

log = structlog.get_logger()

LEAVE_SECONDS = 2.0
"""The longest wait for the database at a stop; without it the others find out by themselves."""


class BeatingReplica(Replica):
    """A replica that beats in a thread and on a connection of its own."""

    def __init__(
        self, database: Database, info: ReplicaInfo, now: Callable[[], int], times: Times = TIMES
    ) -> None:
        self._database = database
        self._writer = database.own_writer()
        self._membership = Membership(self._writer.run, info, times, now)
        self._times = times
        self._lock = threading.Lock()
        self._soon = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._beat, name="replica", daemon=True)
        self._standings: dict[str, Standing] = {}
        self.owners = ReplicaOwners(self._name)

    @property
    def owner(self) -> str:  # type: ignore[override]
        """Return the name of this replica; it has another after it was declared gone."""
        return self._membership.owner

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(self._membership.join, time.monotonic())
        self._listening = asyncio.create_task(self._listen())
        self._thread.start()

    async def stop(self) -> None:
        self._stopping = True
        for standing in list(self._standings.values()):
            await standing.hand_over()
        self._soon.set()
        await asyncio.to_thread(self._thread.join, LEAVE_SECONDS)
        self._listening.cancel()
        with suppress(StorageError, TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await self._database.transaction(self._membership.leave)
        if not self._thread.is_alive():
            self._writer.close()

    def stand(self, role: str) -> Standing:
        standing = self._standings[role] = Standing(lambda: self._hand_over(role))
        self._membership.roles |= {role}
        self._soon.set()
        return standing

    def others(self) -> Sequence[ReplicaRow]:
        return self._membership.others

    def _name(self) -> str | None:
        """Return the owner of new leases; None while the others may take it for gone."""
        is_known = time.monotonic() < self._membership.began_at + self._times.lead
        return self._membership.owner if is_known else None

    async def _listen(self) -> None:
        """Take over at once a lead that another replica handed over."""
        event = self._database.listen(replica_rows.TOPIC)
        while True:
            await event.wait()
            event.clear()
            self._soon.set()

    async def _hand_over(self, role: str) -> None:
        self._standings.pop(role, None)
        with suppress(StorageError, TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                if lead := await asyncio.to_thread(self._resign, role):
                    change = partial(replica_rows.hand_over, role=role, lead=lead)
                    await self._database.transaction(change)

    def _resign(self, role: str) -> Lead | None:
        with self._lock:
            return self._membership.resign(role)

    def _beat(self) -> None:
        while not self._stopping:
            self._soon.clear()
            began = time.monotonic()
            try:
                with self._lock:
                    if not self._stopping:
                        self._membership.beat(began)
            except StorageError as error:
                log.debug("replica can't beat", reason=str(error))
            except Exception:
                log.exception("replica can't beat")
            else:
                self._report()
            self._soon.wait(max(0.0, began + self._times.beat - time.monotonic()))

    def _report(self) -> None:
        """Pass on to the standings, on their event loop, what the last beat found."""
        until = self._membership.began_at + self._times.lead
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._update, dict(self._membership.leads), until)

    def _update(self, leads: dict[str, Lead], until: float) -> None:
        for role, standing in self._standings.items():
            if role in leads:
                standing.hold(leads[role], until)
            else:
                standing.end()
