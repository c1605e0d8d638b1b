"""How the lease of a message ends: what becomes of its row.

Endings are data, so that one transaction ends many leases and reopens each of their lanes once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from bot.core.outbox import lane_locks
from bot.core.outbox.groups import reopen_lanes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bot.core.database.database import Transaction
    from bot.core.outbox.queue_policy import Queue

SETTLE = "state = :state, settled_at = :now, note = :note"
RETRY = (
    "state = 'waiting', due_at = :due_at, note = :note, uncertain = :doubt, failures = 0,"
    " crashes = 0"
)
GIVE_BACK = "state = 'waiting', attempts = attempts - 1"


class Leased(Protocol):
    """A claimed message, as far as the end of its lease goes."""

    @property
    def id(self) -> str: ...
    @property
    def lane(self) -> str: ...
    @property
    def lease(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Ending:
    """The change of a leased message's row; None deletes it."""

    message: Leased
    change: str | None
    values: Mapping[str, Any] = field(default_factory=dict)


def as_done(queue: Queue, message: Leased, now: int) -> Ending:
    """Settle a message that was performed; it is deleted where its queue doesn't keep it."""
    return settled(message, "done", now, None) if queue.keep else Ending(message, None)


def settled(message: Leased, state: str, now: int, note: str | None) -> Ending:
    """Settle a message in a state."""
    return Ending(message, SETTLE, {"state": state, "now": now, "note": note})


def retried(message: Leased, due_at: int, note: str, *, uncertain: bool) -> Ending:
    """Queue a message for another attempt."""
    return Ending(message, RETRY, {"due_at": due_at, "note": note, "doubt": int(uncertain)})


def given_back(message: Leased) -> Ending:
    """Queue a message whose handling has not begun; the attempt does not count."""
    return Ending(message, GIVE_BACK)


def end_leases(
    tx: Transaction, queue: Queue, endings: Sequence[Ending], now: int = 0
) -> list[bool]:
    """End leases; return of each whether the message still had that lease.

    One that has another lease by now is left alone.
    """
    names = {one.message.lane for one in endings}
    lane_locks.lock(tx, queue, *names)
    ours = [_end(tx, one) for one in endings]
    reopen_lanes(tx, queue, names, now)
    return ours


def _end(tx: Transaction, ending: Ending) -> bool:
    sql = "DELETE FROM outbox"
    if ending.change is not None:
        sql = f"UPDATE outbox SET {ending.change}, leased_until = NULL, lease = NULL"  # noqa: S608 - our own words
    message = ending.message
    where = {"id": message.id, "lease": message.lease}
    return bool(tx.execute(f"{sql} WHERE id = :id AND lease = :lease", **where, **ending.values))
