"""Descriptions of dead letters for the operator: when, where and why, without their text."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.core.database import database
from bot.core.outbox import queries
from bot.core.text import sanitize

SHOWN = 10
"""Number of the newest dead letters shown for each queue."""

LONGEST_NOTE = 160
LONGEST_LANE = 60

NOTIFICATIONS = "see `deliveries list --state dead`; `deliveries retry ID` sends one again"
REMEDIES = {
    "updates": "see the log at these times; their senders were asked to try again",
    "jobs": "see the log at these times; sellers see it in the chat and can try again",
    "messages": "see the log at these times; they are not sent again",
    "answers": "see the log at these times; people can press the button again",
    "photos": "see the log at these times; sellers can send the photo again",
    "files": "see the log at these times; sellers can send the file again",
    "webhooks": NOTIFICATIONS,
    "own_webhooks": NOTIFICATIONS,
    "mails": NOTIFICATIONS,
    "receipts": NOTIFICATIONS,
    "served": "see the log at these times; some payers got no email that what they bought is here",
}


def describe(tx: database.Transaction) -> dict[str, str]:
    """Return a description of each queue's dead letters, if it has any, and what to do."""
    return {
        queue: _describe(queue, number, queries.newest_dead(tx, queue, SHOWN))
        for queue, number in queries.count_by_queue(tx, queries.DEAD).items()
    }


def _describe(queue: str, number: int, newest: list[queries.DeadLetter]) -> str:
    remedy = REMEDIES.get(queue, "see the log at these times")
    more = [f"and {number - len(newest)} older"] if number > len(newest) else []
    return "\n       ".join([f"{number} dead letters: {remedy}", *map(_line, newest), *more])


def _line(dead: queries.DeadLetter) -> str:
    when = datetime.fromtimestamp(dead.settled_at / 1000, UTC).isoformat(timespec="seconds")
    note = sanitize.line(dead.note or "no reason recorded", LONGEST_NOTE)
    return f"{when}  {sanitize.line(dead.lane, LONGEST_LANE)}  {note}"
