"""Which kind of replica a process is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.replicas.beating_replica import BeatingReplica
from bot.core.replicas.replica import Replica, SoleReplica

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.database import Database
    from bot.core.replicas.replica_rows import ReplicaInfo


def open_replica(database: Database, info: ReplicaInfo, now: Callable[[], int]) -> Replica:
    """Return this process as a replica, not started yet; `now` in epoch ms."""
    if database.engine == "sqlite":
        return SoleReplica()
    return BeatingReplica(database, info, now)
