"""The audit log: who changed what and when, one line per change, written in its transaction.

It explains later why money went where it went. A line never contains secrets or payer data, only
the fact that they changed.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.core import stored_json
from bot.core.database import database
from bot.core.outbox import outbox
from bot.core.text import sanitize

KEPT = 400 * 24 * 3600 * 1000
"""Milliseconds for which a line is kept: a year, plus some time to look back."""

SWEPT = 500
"""Lines that a sweep deletes per transaction; other transactions wait for it."""

LONGEST_NAME = 120
"""The longest actor, action or subject, in characters."""

LONGEST_TEXT = 200
"""The longest text in the details, in characters."""

MOST_VALUES = 16
"""The most details of a line, and the most items of a list detail."""

SYSTEM = "system"
"""The actor of changes without a person, such as the hourly sweep."""

INSERT = (
    "INSERT INTO audit (id, at, actor, action, subject, details)"
    " VALUES (:id, :at, :actor, :action, :subject, :details)"
)


@dataclass(frozen=True, slots=True)
class Line:
    """One change."""

    id: str

    at: int
    """In epoch ms."""

    actor: str
    action: str
    subject: str
    details: dict[str, Any]


SELECT = f"SELECT {database.columns_of(Line)} FROM audit"  # noqa: S608 - our own names


def app(app_id: str) -> str:
    return f"app {app_id}"


def seller(seller_id: int) -> str:
    return f"seller {seller_id}"


def operator() -> str:
    """Return the actor running this command: the system user's name or id."""
    try:
        return f"operator {pwd.getpwuid(os.getuid()).pw_name}"
    except KeyError:  # container users may have no name
        return f"operator {os.getuid()}"


def record(
    tx: database.Transaction,
    actor: str,
    action: str,
    subject: str,
    now: int,
    details: Mapping[str, Any],
) -> None:
    """Write a line; `now` is in epoch ms, `details` are plain values or lists of plain values.

    `action` is an object and its change, such as `request.created`; `subject` is an id. Long values
    are truncated.
    """
    kept = [*details.items()][:MOST_VALUES]
    tx.execute(
        INSERT,
        id=outbox.new_id(now),
        at=now,
        actor=_cut(actor, LONGEST_NAME),
        action=_cut(action, LONGEST_NAME),
        subject=_cut(subject, LONGEST_NAME),
        details=stored_json.write(
            dict, {_cut(name, LONGEST_NAME): _plain(value) for name, value in kept}
        ),
    )


def read(tx: database.Transaction, limit: int, subject: str | None = None) -> list[Line]:
    """Return up to `limit` lines, newest first, about one subject or about all."""
    where = "" if subject is None else " WHERE subject = :subject"
    rows = tx.query(
        f"{SELECT}{where} ORDER BY id DESC LIMIT :limit",
        limit=limit,
        **({} if subject is None else {"subject": subject}),
    )
    return [Line(**{**row, "details": stored_json.read(dict, row["details"])}) for row in rows]


def forget(tx: database.Transaction, before: int) -> int:
    """Delete some lines older than `before` (epoch ms) and return their number.

    Call it again until it returns 0.
    """
    return tx.execute(
        "DELETE FROM audit WHERE id IN"
        " (SELECT id FROM audit WHERE id < :before ORDER BY id LIMIT :most)",
        before=f"{before:012x}",
        most=SWEPT,
    )


def _plain(value: object) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value[:MOST_VALUES]]
    return _cut(str(value), LONGEST_TEXT)


def _cut(text: str, most: int) -> str:
    """Return a text as one sanitized line; the fast path matters because many lines are written."""
    if len(text) <= most and text.isascii() and text.isprintable():
        return text
    return sanitize.line(text[: 2 * most], most)
