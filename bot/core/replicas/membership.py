"""A replica's beats: each tells the others that it lives, and looks after them and the leads.

Everything here runs in one thread at a time and waits for the database; the thread is that of
`beating_replica.py`. `clock` is monotonic, in seconds.
"""

from __future__ import annotations

import secrets
import socket
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import structlog

from bot.core.database.slices import Lead
from bot.core.errors import StorageError
from bot.core.replicas import replica_rows
from bot.core.replicas.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.database import Run, Transaction
    from bot.core.replicas.replica_rows import ReplicaInfo, ReplicaRow
    from bot.core.replicas.times import Times

log = structlog.get_logger()

NOBODY = Lead("", 0)


@dataclass(frozen=True, slots=True)
class BeatResult:
    """What a beat found: the others, and the lead of each role."""

    is_alive: bool
    others: tuple[ReplicaRow, ...] = ()
    leads: dict[str, Lead] = field(default_factory=dict)


class Membership:
    """A replica's place among the others: it beats, and takes over from those that are gone.

    `run` has a connection of its own; `began_at` is the start of the last beat.
    """

    def __init__(self, run: Run, info: ReplicaInfo, times: Times, now: Callable[[], int]) -> None:
        self._run = run
        self._info = info
        self._now = now
        self._observation = Observation(times)
        self.owner = ""
        self.began_at = float("-inf")
        self.others: tuple[ReplicaRow, ...] = ()
        self.roles: frozenset[str] = frozenset()
        self.leads: dict[str, Lead] = {}

    def join(self, clock: float) -> None:
        """Begin under a new name, without any lead. Raises StorageError."""
        owner = f"{socket.gethostname()[:40]}-{secrets.token_hex(6)}"
        self.leads.clear()
        self._run(partial(replica_rows.join, owner=owner, info=self._info, now=self._now()))
        self.owner, self.began_at = owner, clock
        log.info("replica joined", owner=owner, role=str(self._info.role))

    def beat(self, clock: float) -> None:
        """Send a beat at a moment, and take over from those that are gone. Raises StorageError."""
        try:
            result = self._run(partial(_beat, owner=self.owner))
            if not result.is_alive:
                log.warning("the others took this replica for gone", owner=self.owner)
                self.join(clock)
                return
            self.began_at = clock
            self.others = result.others
            gone = self._observation.look(clock, {one.owner: one.beat for one in result.others})
            if gone:
                removed = self._run(partial(replica_rows.remove_gone, gone=gone.items()))
                for owner in removed:
                    log.warning("replica gone", owner=owner)
            self._stand(result, set(gone))
        except StorageError:
            self._observation.interrupt()
            raise

    def resign(self, role: str) -> Lead | None:
        """Stop standing for a role; return the lead that has to be handed over."""
        self.roles = self.roles - {role}
        return self.leads.pop(role, None)

    def leave(self, tx: Transaction) -> None:
        """Delete the row of this replica, which stops."""
        replica_rows.leave(tx, self.owner)

    def _stand(self, result: BeatResult, gone: set[str]) -> None:
        living = {one.owner for one in result.others} - gone
        for role in self.roles:
            former = result.leads.get(role, NOBODY)
            if former.owner == self.owner:
                self.leads[role] = former
                continue
            self.leads.pop(role, None)
            if former.owner not in living:
                take_over = partial(
                    replica_rows.take_over, owner=self.owner, role=role, former=former
                )
                if won := self._run(take_over):
                    self.leads[role] = won


def _beat(tx: Transaction, owner: str) -> BeatResult:
    if not replica_rows.beat(tx, owner):
        return BeatResult(is_alive=False)
    others = tuple(one for one in replica_rows.find_all(tx) if one.owner != owner)
    return BeatResult(is_alive=True, others=others, leads=replica_rows.find_leads(tx))
