"""This process among others over its database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from bot.core.database.slices import Lead
from bot.core.outbox.owners import LOCAL
from bot.core.replicas.standing import Standing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.core.outbox.owners import Owners
    from bot.core.replicas.replica_rows import ReplicaRow


class Replica(ABC):
    """A replica: `owner` names it, `owners` names its workers in their leases."""

    owner: str
    owners: Owners

    @abstractmethod
    async def start(self) -> None:
        """Join the others. Raises StorageError."""

    @abstractmethod
    async def stop(self) -> None:
        """Release every lead, and leave the others."""

    @abstractmethod
    def stand(self, role: str) -> Standing:
        """Join those who stand for the lead of a role, until it is handed over."""

    @abstractmethod
    def others(self) -> Sequence[ReplicaRow]:
        """Return the other replicas, as the last beat found them."""


class SoleReplica(Replica):
    """The only process that serves a SQLite file: it always leads."""

    owner = "sole"
    owners: Owners = LOCAL

    async def start(self) -> None:
        """Ignore the start: there are no others."""

    async def stop(self) -> None:
        """Ignore the end: nobody waits for it."""

    def stand(self, role: str) -> Standing:  # noqa: ARG002 - it leads in every role
        return SoleStanding()

    def others(self) -> Sequence[ReplicaRow]:
        return ()


class SoleStanding(Standing):
    """The lead of the only process, which nobody takes from it."""

    def __init__(self) -> None:
        super().__init__(_hand_over_to_nobody)
        self._lead, self._until = Lead("sole", 0), float("inf")


async def _hand_over_to_nobody() -> None:
    return
