"""When the next claim of a queue is worth it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.core.outbox import back_pressure, lanes
from bot.core.outbox.claims import class_shares
from bot.core.outbox.groups import LaneGroups

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.core.outbox.queue_policy import Queue


@dataclass(frozen=True, slots=True)
class NextClaim:
    """When a claim may find a message, `at` (epoch ms); None if no message waits for a time.

    It finds none before `rests_until`, whatever is put. `is_full`: a class has no room.
    """

    at: int | None
    is_full: bool
    rests_until: int = 0


def next_claim(tx: Transaction, queue: Queue, now: int, ahead: int = 0) -> NextClaim:
    """Return when the next claim is worth it: one `ahead` of the slots takes several at once."""
    full = class_shares.full_classes(tx, queue)
    rests_until = lanes.queue_opens_at(tx, queue, now) - ahead // 2
    opens = lanes.first_open(tx, queue, full)
    if (call := LaneGroups(tx, queue, now).next_call()) is not None:
        opens = call if opens is None else min(opens, call)
    if opens is not None:
        opens = max(opens, rests_until, back_pressure.next_check(tx, queue, now))
    return NextClaim(opens, bool(full), rests_until)
