"""The audit log: who changed what and when, a line for each change, written in its transaction.

It explains later why money went where it went. A line contains no secret and no data of a payer,
only the fact that they changed.
"""

from __future__ import annotations

import json
import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.core import exact_json
from bot.core.database import database, tables
from bot.core.outbox import outbox
from bot.core.text import sanitize

KEPT = 400 * 24 * 3600 * 1000
"""Milliseconds for which a line is kept: a year, and some time to look back."""

SWEPT = 500
"""Lines that a sweep deletes in one transaction: others wait for it."""

LONGEST_NAME = 120
"""Characters of an actor, an action or a subject."""

LONGEST_TEXT = 200
"""Characters of one text among the details."""

MOST_VALUES = 16
"""Details of a line, and items of a detail that is a list."""

SYSTEM = "system"
"""The actor of changes without a person, such as the hourly sweep."""

INSERT = (
    "INSERT INTO audit (id, at, actor, action, subject, details)"
    " VALUES (:id, :at, :actor, :action, :subject, :details)"
)

BLANK = "UPDATE audit SET details = '{}' WHERE id = :id"
"""Erases the details of a line, which may be about a person; who changed what and when stays."""

_to_json = json.JSONEncoder(separators=(",", ":")).encode  # creating one costs more than using it


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


SELECT = f"SELECT {tables.columns_of(Line)} FROM audit"  # noqa: S608 - our own names


def app(app_id: str) -> str:
    return f"app {app_id}"


def seller(seller_id: int) -> str:
    return f"seller {seller_id}"


def operator() -> str:
    """Return the actor that runs this command: the system's name of the user, or the number."""
    try:
        return f"operator {pwd.getpwuid(os.getuid()).pw_name}"
    except KeyError:  # users of containers may have no name
        return f"operator {os.getuid()}"


def record(
    tx: database.Transaction,
    actor: str,
    action: str,
    subject: str,
    now: int,
    details: Mapping[str, Any],
) -> None:
    """Write a line; `now` in epoch ms, `details` plain values or lists of these.

    `action` is a thing and its change, such as `request.created`; `subject` is an id. Long values
    are cut.
    """
    kept = [*details.items()][:MOST_VALUES]
    tx.execute(
        INSERT,
        id=outbox.new_id(now),
        at=now,
        actor=_cut(actor, LONGEST_NAME),
        action=_cut(action, LONGEST_NAME),
        subject=_cut(subject, LONGEST_NAME),
        details=_to_json({_cut(name, LONGEST_NAME): _plain(value) for name, value in kept}),
    )


def read(tx: database.Transaction, limit: int, subject: str | None = None) -> list[Line]:
    """Return up to `limit` lines, newest first, about all subjects or about one."""
    where = "" if subject is None else " WHERE subject = :subject"
    rows = tx.query(
        f"{SELECT}{where} ORDER BY id DESC LIMIT :limit",
        limit=limit,
        **({} if subject is None else {"subject": subject}),
    )
    return [Line(**{**row, "details": exact_json.loads(row["details"])}) for row in rows]


def read_all(tx: database.Transaction, action: str) -> list[Line]:
    """Return all lines whose action begins with `action`, oldest first; it reads the whole log."""
    rows = tx.query(f"{SELECT} WHERE action LIKE :action ORDER BY id", action=f"{action}%")
    return [Line(**{**row, "details": exact_json.loads(row["details"])}) for row in rows]


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
    """Return one harmless line; most texts take the short way, since many lines are written."""
    if len(text) <= most and text.isascii() and text.isprintable():
        return text
    return sanitize.line(text[: 2 * most], most)
