"""Undelivered alerts of a chat: given up, or still waiting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat.messages.payloads import Alert
from bot.core.outbox import outbox
from bot.core.outbox.queries import (
    DEAD,
    EVERY,
    WAITING,
    StoredMessage,
    count_of_lane,
    newest_of_lane,
)
from bot.core.outbox.queue_policy import ALERT

if TYPE_CHECKING:
    from bot.chat.messages.payloads import AlertPayment
    from bot.chat.messages.queues import Queues
    from bot.core.database.database import Transaction

MAX_LISTED = 20
"""Messages of each kind that `/alerts` lists; nobody reads more."""

MAX_RESENT = 500
"""Messages that one press sends again, because others wait for the transaction."""


@dataclass(frozen=True, slots=True)
class UndeliveredAlert:
    """An alert that its chat did not get; `note` is the outcome of the last attempt, if any.

    `is_dead`: it was given up. `uncertain`: it may have arrived all the same.
    """

    payments: tuple[AlertPayment, ...]
    created_at: int
    note: str | None
    is_dead: bool
    uncertain: bool


def newest(tx: Transaction, queues: Queues, lane: str) -> list[UndeliveredAlert]:
    """Return a chat's dead and waiting alerts, newest first, at most MAX_LISTED of each."""
    found = [
        (message, state == DEAD)
        for state in (DEAD, WAITING)
        for message in _alerts(tx, queues, lane, state, MAX_LISTED)
    ]
    found.sort(key=lambda one: one[0].id, reverse=True)
    return [_undelivered(message, is_dead=is_dead) for message, is_dead in found]


def count(tx: Transaction, queues: Queues, lane: str) -> int:
    """Count the dead and waiting alerts of a chat."""
    return sum(count_of_lane(tx, queues.messages, lane, ALERT, state) for state in (DEAD, WAITING))


def given_up_payments(tx: Transaction, queues: Queues, lane: str) -> list[AlertPayment]:
    """Return the payments of a chat's dead alerts."""
    return [
        payment for message in _alerts(tx, queues, lane, DEAD) for payment in _payments(message)
    ]


def resend(tx: Transaction, queues: Queues, lane: str, now: int) -> int:
    """Queue the newest dead alerts again, in their old order, and return their number.

    At most MAX_RESENT of them.
    """
    dead = _alerts(tx, queues, lane, DEAD, MAX_RESENT)
    return sum(outbox.revive(tx, queues.messages, one.id, now) for one in reversed(dead))


def _alerts(
    tx: Transaction, queues: Queues, lane: str, state: str, most: int = EVERY
) -> list[StoredMessage]:
    return newest_of_lane(tx, queues.messages, lane, ALERT, state, most=most)


def _payments(message: StoredMessage) -> tuple[AlertPayment, ...]:
    return message.body.payments if isinstance(message.body, Alert) else ()


def _undelivered(message: StoredMessage, *, is_dead: bool) -> UndeliveredAlert:
    return UndeliveredAlert(
        payments=_payments(message),
        created_at=message.created_at,
        note=message.note,
        is_dead=is_dead,
        uncertain=message.uncertain,
    )
