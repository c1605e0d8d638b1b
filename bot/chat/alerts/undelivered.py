"""Alerts that have not reached their chat: given up, or still waiting, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from bot.chat.messages.payloads import Alert
from bot.core.errors import Unreadable
from bot.core.outbox import lanes, outbox

if TYPE_CHECKING:
    from bot.chat.messages.payloads import AlertPayment
    from bot.chat.messages.queues import Queues
    from bot.core.database.database import Row, Transaction

MAX_LISTED = 20
"""Messages of each sort that `/alerts` looks at: nobody reads more."""

MAX_RESENT = 500
"""Messages that one press sends again, for others wait for the transaction; the next has more."""

EVERY = 1_000_000
"""More than one chat ever has of them."""

# The state is part of each statement, so that an index of that state alone serves it.
_OF_LANE = "FROM outbox WHERE queue = :queue AND lane = :lane AND priority = :priority AND state ="
_COLUMNS = "id, body, note, uncertain, created_at"
DEAD = f"SELECT {_COLUMNS} {_OF_LANE} 'dead' ORDER BY id DESC LIMIT :most"
WAITING = f"SELECT {_COLUMNS} {_OF_LANE} 'waiting' ORDER BY id DESC LIMIT :most"
COUNT = (
    f"SELECT (SELECT COUNT(*) {_OF_LANE} 'dead') + (SELECT COUNT(*) {_OF_LANE} 'waiting') AS number"
)


@dataclass(frozen=True, slots=True)
class UndeliveredAlert:
    """An alert that its chat has not got; `note` says what came of the last try, None of none.

    `is_dead`: it was given up. `uncertain`: it may have arrived all the same.
    """

    payments: tuple[AlertPayment, ...]
    created_at: int
    note: str | None
    is_dead: bool
    uncertain: bool


def newest(tx: Transaction, queues: Queues, lane: str) -> list[UndeliveredAlert]:
    """Give a chat's alerts that were given up or wait, newest first, LOOKED_AT of each at most."""
    dead = [(row, True) for row in _rows(tx, queues, lane, DEAD, MAX_LISTED)]
    waiting = [(row, False) for row in _rows(tx, queues, lane, WAITING, MAX_LISTED)]
    found = sorted([*dead, *waiting], key=lambda one: str(one[0]["id"]), reverse=True)
    return [_read(queues, row, is_dead=is_dead) for row, is_dead in found]


def count(tx: Transaction, queues: Queues, lane: str) -> int:
    """Count the messages that `newest` may tell of."""
    row = tx.one(COUNT, queue=queues.messages.name, lane=lane, priority=lanes.ALERT)
    return int(row["number"]) if row else 0


def given_up_payments(tx: Transaction, queues: Queues, lane: str) -> list[AlertPayment]:
    """Give the payments of which alerts to this chat were given up."""
    rows = _rows(tx, queues, lane, DEAD, EVERY)
    return [*chain.from_iterable(_read(queues, row, is_dead=True).payments for row in rows)]


def resend(tx: Transaction, queues: Queues, lane: str, now: int) -> int:
    """Let what was given up go again, in its old order; how many messages.

    At most REVIVED of them, the newest.
    """
    rows = _rows(tx, queues, lane, DEAD, MAX_RESENT)
    return sum(outbox.revive(tx, queues.messages, row["id"], now) for row in reversed(rows))


def _rows(tx: Transaction, queues: Queues, lane: str, sql: str, most: int) -> list[Row]:
    return tx.query(sql, queue=queues.messages.name, lane=lane, priority=lanes.ALERT, most=most)


def _read(queues: Queues, row: Row, *, is_dead: bool) -> UndeliveredAlert:
    try:
        body = queues.messages.decode(row["body"])
    except Unreadable:
        body = None
    return UndeliveredAlert(
        payments=body.payments if isinstance(body, Alert) else (),
        created_at=int(row["created_at"]),
        note=row["note"],
        is_dead=is_dead,
        uncertain=bool(row["uncertain"]),
    )
