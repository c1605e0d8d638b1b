"""Who changed what and when: a line a change, written in the transaction that makes it.

For the operator, and for whoever asks later why money went where it went. No line has what a
payer gave, nor a secret: of those the fact stands there, never the words.
"""

from __future__ import annotations

import json
import os
import pwd
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.core import exact_json
from bot.core.outbox.outbox import new_id
from bot.core.text import sanitize

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.core.database.database import Row, Transaction

KEPT = 400 * 24 * 3600 * 1000
"""Milliseconds that a line is kept: a year, and time to look back at it."""

FORGOTTEN = 500
"""How many lines are dropped in one transaction, for others wait for it."""

LONGEST_NAME = 120
"""Characters of an actor, an action or a subject."""

LONGEST_TEXT = 200
"""Characters of one text among the details."""

MOST_VALUES = 12
"""Details of a line, and values of a detail that is a list."""

SYSTEM = "system"
"""Who does what nobody asked for just then: the hourly sweep and the like."""

INSERT = (
    "INSERT INTO audit (id, at, actor, action, subject, details)"
    " VALUES (:id, :at, :actor, :action, :subject, :details)"
)

_written = json.JSONEncoder(separators=(",", ":")).encode
"""Made once: creates are many, and making it costs more than using it."""


@dataclass(frozen=True, slots=True)
class Line:
    """One change; `at` in epoch ms, `details` as they were recorded, cut where they were long."""

    id: str
    at: int
    actor: str
    action: str
    subject: str
    details: dict[str, Any]


def app(app_id: str) -> str:
    """Name an application as the actor."""
    return f"app {app_id}"


def seller(seller_id: int) -> str:
    """Name a person on Telegram as the actor."""
    return f"seller {seller_id}"


def operator() -> str:
    """Name whoever runs this command as the actor, by the system's own name where it has one."""
    try:
        return f"operator {pwd.getpwuid(os.getuid()).pw_name}"
    except KeyError:  # a container's user often has a number alone
        return f"operator {os.getuid()}"


def record(  # noqa: PLR0917 - who, what, of what, when, how: as a line of the log has them
    tx: Transaction, actor: str, action: str, subject: str, now: int, details: Mapping[str, Any]
) -> None:
    """Write down a change beside it; `now` in epoch ms, `details` plain values or lists of them.

    `action` is what was changed and how, as in `request.created`; `subject` an id to look for.
    """
    tx.execute(
        INSERT,
        id=new_id(now),
        at=now,
        actor=_cut(actor, LONGEST_NAME),
        action=_cut(action, LONGEST_NAME),
        subject=_cut(subject, LONGEST_NAME),
        details=_written(_bounded(details)),
    )


def read(tx: Transaction, limit: int, subject: str | None = None) -> list[Line]:
    """Give up to `limit` lines, the newest first, all or those of one subject."""
    where = "" if subject is None else " WHERE subject = :subject"
    rows = tx.query(
        f"SELECT * FROM audit{where} ORDER BY id DESC LIMIT :limit",  # noqa: S608 - our own words
        limit=limit,
        **({} if subject is None else {"subject": subject}),
    )
    return [_line(row) for row in rows]


def forget(tx: Transaction, before: int) -> int:
    """Drop lines from before `before` (epoch ms), some at a time; how many.

    Call it again until it gives 0.
    """
    return tx.execute(
        "DELETE FROM audit WHERE id IN"
        " (SELECT id FROM audit WHERE id < :before ORDER BY id LIMIT :most)",
        before=f"{before:012x}",
        most=FORGOTTEN,
    )


def _line(row: Row) -> Line:
    return Line(**{**row, "details": exact_json.loads(row["details"])})


def _bounded(details: Mapping[str, Any]) -> dict[str, Any]:
    """Give what is kept of the details: the first of them, each cut."""
    kept = [*details.items()][:MOST_VALUES]
    return {_cut(name, LONGEST_NAME): _plain(value) for name, value in kept}


def _plain(value: object) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value[:MOST_VALUES]]
    return _cut(str(value), LONGEST_TEXT)


def _cut(text: str, most: int) -> str:
    """Give a text as one harmless line; most need nothing done to them, and creates are many."""
    if len(text) <= most and text.isascii() and text.isprintable():
        return text
    return sanitize.line(text[: 2 * most], most)
