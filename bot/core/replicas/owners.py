"""The owners of leases among replicas: a worker is alive as long as its replica."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from bot.core.replicas import replica_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from bot.core.database.database import Transaction
    from bot.core.outbox.queue_policy import Queue


class ReplicaOwners:
    """Names workers after their replica: `host-id:number`.

    A replica without a row is dead, for it had one before its first lease. So the lease of a living
    one never ends, however long it takes and whatever a clock says.
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

    def find_dead(self, tx: Transaction, queue: Queue, names: AbstractSet[str]) -> set[str]:
        """Return those whose replica is gone, and stopped workers of this one.

        In a queue with a slice all others are dead, for none of them can settle anything there.
        """
        ours = self._replica()
        own = {f"{ours}:{worker}" for worker in tuple(self._workers)}
        if queue.slice:
            return set() if ours is None else {name for name in names if name not in own}
        living = {one.owner for one in replica_rows.find_all(tx)}
        return {
            name
            for name in names
            if _replica_of(name) not in living or (_replica_of(name) == ours and name not in own)
        }

    presume_dead = find_dead


def _replica_of(name: str) -> str:
    return name.rpartition(":")[0]
