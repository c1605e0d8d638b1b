"""What was given up, for the operator to see: when, where and why, and nobody's words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bot.core.outbox import queries
from bot.core.text import sanitize

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.core.outbox.queries import DeadLetter

SHOWN = 10
"""Of each queue, the newest."""

LONGEST_NOTE = 160
LONGEST_LANE = 60

DELIVERIES = "see deliveries list --state dead; deliveries retry ID sends one again"
REMEDIES = {
    "updates": "the log says more at these times; who wrote was asked to try again",
    "jobs": "the log says more at these times; the seller sees it in the chat and can try again",
    "messages": "the log says more at these times; nothing is sent again by itself",
    "answers": "the log says more at these times; a button can be pressed again",
    "photos": "the log says more at these times; the seller can send the photo again",
    "webhooks": DELIVERIES,
    "own_webhooks": DELIVERIES,
    "mails": DELIVERIES,
}


def describe(tx: Transaction) -> dict[str, str]:
    """Say of each queue what was given up in it, a line each, and what to do; {} for nothing."""
    return {
        queue: _told(queue, number, queries.newest_dead(tx, queue, SHOWN))
        for queue, number in queries.count_by_queue(tx, queries.DEAD).items()
    }


def _told(queue: str, number: int, newest: list[DeadLetter]) -> str:
    remedy = REMEDIES.get(queue, "the log says more at these times")
    more = [f"and {number - len(newest)} older"] if number > len(newest) else []
    return "\n       ".join([f"{number} given up: {remedy}", *map(_line, newest), *more])


def _line(dead: DeadLetter) -> str:
    when = datetime.fromtimestamp(dead.settled_at / 1000, UTC).isoformat(timespec="seconds")
    note = sanitize.line(dead.note or "no reason was noted", LONGEST_NOTE)
    return f"{when}  {sanitize.line(dead.lane, LONGEST_LANE)}  {note}"
