"""Who holds leases: how a worker names itself in them, and who of the others is dead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bot.core.outbox import lease_owners

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from bot.core.database.database import Transaction
    from bot.core.outbox.queue_policy import Queue


class Owners(Protocol):
    """The workers over one database; `names` are those that they write into their leases.

    `leases_expire`: the lease of a worker of whom nothing is known ends by the clock.
    `search_seconds`: the time between two searches for leases of dead workers.
    """

    leases_expire: bool
    search_seconds: float

    def register(self) -> str:
        """Create a key for a new worker of this process."""

    def unregister(self, worker: str) -> None:
        """Mark a worker of this process as dead."""

    def name_of(self, worker: str) -> str | None:
        """Return the name for a worker's next leases; None while it may take none."""

    def find_dead(self, tx: Transaction, queue: Queue, names: AbstractSet[str]) -> set[str]:
        """Return those that are known to be dead."""

    def presume_dead(self, tx: Transaction, queue: Queue, names: AbstractSet[str]) -> set[str]:
        """Return those whose leases end when a worker starts."""


class LocalOwners:
    """The workers of this machine, which the kernel knows; nothing is known of any other."""

    leases_expire = True
    search_seconds = 30.0

    def register(self) -> str:
        return lease_owners.register()

    def unregister(self, worker: str) -> None:
        lease_owners.unregister(worker)

    def name_of(self, worker: str) -> str | None:
        return worker

    def find_dead(self, _tx: Transaction, _queue: Queue, names: AbstractSet[str]) -> set[str]:
        return {name for name in names if lease_owners.is_dead(name)}

    def presume_dead(self, _tx: Transaction, _queue: Queue, names: AbstractSet[str]) -> set[str]:
        """Return those that are not known to be alive."""
        return {name for name in names if not lease_owners.is_alive(name)}


LOCAL = LocalOwners()
