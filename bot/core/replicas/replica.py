"""This process as one of the replicas on its database, and its elections as the lead of roles."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, cast

import structlog

from bot.core import errors
from bot.core.database import database
from bot.core.outbox import leases, queue_policy
from bot.core.replicas import membership

if TYPE_CHECKING:
    from bot.core.database.postgres.engine import PostgresDatabase

log = structlog.get_logger()

LEAVE_SECONDS = 2.0
"""The longest wait for the database during a stop; otherwise the others notice by themselves."""


class LeaderElection:
    """A replica's candidacy for the lead of a role; used on one event loop."""

    def __init__(self, hand_over: Callable[[], Awaitable[None]] | None = None) -> None:
        """`hand_over` releases the lead for other replicas, if there can be any."""
        self.lost = asyncio.Event()
        """Set when a won lead ends because another replica has it, or may have it because the
        database was unreachable for too long. The next lead may have the same term."""
        self._hand_over = hand_over
        self._held = asyncio.Event()
        self._lead: database.WriteLease | None = None  # currently held by this replica
        self._taken: database.WriteLease | None = None  # returned by `won` and not yet lost
        self._timer: asyncio.TimerHandle | None = None
        self._until = float("-inf")

    @property
    def lead(self) -> database.WriteLease | None:
        """Return the lead that was won and not yet lost, or None."""
        return self._taken

    def holds(self, lead: database.WriteLease) -> bool:
        """Return whether a won lead is held at this moment.

        If the process was suspended for a while, this returns False even before `lost` is set.
        """
        return self._taken == lead and time.monotonic() < self._until

    async def won(self) -> database.WriteLease:
        """Wait until this replica leads; return its lead."""
        while self._lead is None:
            self._held.clear()
            await self._held.wait()
        self.lost.clear()
        self._taken = self._lead
        return self._lead

    async def hand_over(self) -> None:
        """Release the lead and leave the election; another replica takes over immediately.

        Call it once all work of the lead has ended.
        """
        self.end()
        if self._hand_over is not None:
            await self._hand_over()

    def hold(self, lead: database.WriteLease, until: float) -> None:
        """Hold a lead until a time (monotonic seconds); a later call extends it."""
        if self._taken is not None and self._taken != lead:
            self.end()
        delay = until - time.monotonic()
        if delay <= 0:
            return
        self._cancel_timer()
        self._lead, self._until = lead, until
        self._held.set()
        if delay < float("inf"):
            self._timer = asyncio.get_running_loop().call_later(delay, self.end)

    def end(self) -> None:
        """End the lead, if there is one."""
        self._cancel_timer()
        self._lead = None
        if self._taken is not None:
            self._taken = None
            self.lost.set()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


# The replicas.


class Replica:
    """This process as a replica: the only one, which serves a SQLite file and always leads."""

    owner = "sole"
    """The replica's name."""
    owners: leases.Owners = leases.LOCAL
    """The names of its workers in leases."""

    async def start(self) -> None:
        """Join the other replicas, if there can be any. Raises StorageError."""

    async def stop(self) -> None:
        """Release every lead, and leave the other replicas."""

    def join_election(self, role: str) -> LeaderElection:  # noqa: ARG002 - it leads in every role
        """Join the election of a role's lead until the lead is handed over."""
        election = LeaderElection()
        election.hold(database.WriteLease(self.owner, 0), until=float("inf"))
        return election

    def others(self) -> Sequence[membership.ReplicaRow]:
        """Return the other replicas found by the last beat."""
        return ()


class ReplicaOwners(leases.Owners):
    """Names the workers of a replica, as owners of leases: `host-id:number`.

    A worker is alive as long as its replica. A replica without a row is dead, because its row
    existed before its first lease. So the lease of a living replica never ends, however long its
    work takes and whatever a clock says.
    """

    leases_expire = False
    search_seconds = 1.0

    def __init__(self, replica: Callable[[], str | None]) -> None:
        self._replica = replica
        self._numbers = itertools.count(1)
        self._workers: set[str] = set()

    def register(self) -> str:
        worker = str(next(self._numbers))
        self._workers.add(worker)
        return worker

    def unregister(self, worker: str) -> None:
        self._workers.discard(worker)

    def name_of(self, worker: str) -> str | None:
        replica = self._replica()
        return None if replica is None else f"{replica}:{worker}"

    def find_dead(
        self, tx: database.Transaction, queue: queue_policy.Queue, names: AbstractSet[str]
    ) -> set[str]:
        """Return the workers whose replica is gone, and stopped workers of this replica.

        In a queue with a write scope, the workers of all other replicas count as dead, because they
        can't settle anything there.
        """
        ours = self._replica()
        own = {f"{ours}:{worker}" for worker in tuple(self._workers)}
        if queue.write_scope:
            return set() if ours is None else {name for name in names if name not in own}
        living = {one.owner for one in membership.find_all(tx)}
        replicas = {name: name.rpartition(":")[0] for name in names}
        return {
            name
            for name, replica in replicas.items()
            if replica not in living or (replica == ours and name not in own)
        }

    presume_dead = find_dead  # type: ignore[assignment]  # other names of parameters


class BeatingReplica(Replica):
    """A replica among others.

    It beats in its own thread and on its own connection, because a busy event loop must not look
    dead.
    """

    def __init__(
        self,
        database: PostgresDatabase,
        info: membership.ReplicaInfo,
        now: Callable[[], int],
        timeouts: membership.HeartbeatTimeouts = membership.HEARTBEAT_TIMEOUTS,
    ) -> None:
        self._database = database
        self._writer = database.own_writer()
        self._membership = membership.Membership(self._writer.run, info, timeouts, now)
        self._timeouts = timeouts
        self._lock = threading.Lock()
        self._soon = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._beat, name="replica", daemon=True)
        self._elections: dict[str, LeaderElection] = {}
        self.owners = ReplicaOwners(self._name)

    @property
    def owner(self) -> str:  # type: ignore[override]
        """Return the replica's name, which changes if other replicas have removed it."""
        return self._membership.owner

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(self._membership.join, time.monotonic())
        self._listening = asyncio.create_task(self._listen())
        self._thread.start()

    async def stop(self) -> None:
        self._stopping = True
        for election in list(self._elections.values()):
            await election.hand_over()
        self._soon.set()
        await asyncio.to_thread(self._thread.join, LEAVE_SECONDS)
        self._listening.cancel()
        with suppress(errors.StorageError, TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                leave = partial(membership.leave, owner=self._membership.owner)
                await self._database.transaction(leave)
        if not self._thread.is_alive():
            self._writer.close()

    def join_election(self, role: str) -> LeaderElection:
        election = self._elections[role] = LeaderElection(lambda: self._hand_over(role))
        self._membership.roles |= {role}
        self._soon.set()
        return election

    def others(self) -> Sequence[membership.ReplicaRow]:
        return self._membership.others

    def _name(self) -> str | None:
        """Return the owner of new leases; None while the others may presume it dead."""
        is_known = time.monotonic() < self._membership.began_at + self._timeouts.lead
        return self._membership.owner if is_known else None

    async def _listen(self) -> None:
        """Beat immediately when another replica hands over a lead."""
        event = self._database.listen(membership.TOPIC)
        while True:
            await event.wait()
            event.clear()
            self._soon.set()

    async def _hand_over(self, role: str) -> None:
        self._elections.pop(role, None)
        with suppress(errors.StorageError, TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                if lead := await asyncio.to_thread(self._resign, role):
                    change = partial(membership.hand_over_lead, role=role, lead=lead)
                    await self._database.transaction(change)

    def _resign(self, role: str) -> database.WriteLease | None:
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
            except errors.StorageError as error:
                log.debug("replica can't beat", reason=str(error))
            except Exception:
                log.exception("replica can't beat")
            else:
                until = self._membership.began_at + self._timeouts.lead
                leads = dict(self._membership.leads)
                with suppress(RuntimeError):  # the loop is closed
                    self._loop.call_soon_threadsafe(self._update, leads, until)
            self._soon.wait(max(0.0, began + self._timeouts.beat - time.monotonic()))

    def _update(self, leads: dict[str, database.WriteLease], until: float) -> None:
        for role, election in self._elections.items():
            if role in leads:
                election.hold(leads[role], until)
            else:
                election.end()


def open_replica(
    database: database.Database, info: membership.ReplicaInfo, now: Callable[[], int]
) -> Replica:
    """Return this process as a replica that is not yet started; `now` returns epoch ms."""
    if database.engine == "sqlite":
        return Replica()
    return BeatingReplica(cast("PostgresDatabase", database), info, now)
