"""The audit log: who changed what and when, one line a change, written in its transaction.

It explains later why money went where it went. No line contains a secret or a payer's data, only
the fact that they changed.
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

BATCH = 500
"""Lines deleted in one transaction: others wait for it."""

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
"""Erases what a line says of a person; who changed what and when stays."""

_to_json = json.JSONEncoder(separators=(",", ":")).encode
"""One encoder for all lines: creating it costs more than using it."""


@dataclass(frozen=True, slots=True)
class Line:
    """One change; `at` in epoch ms, long `details` are cut."""

    id: str
    at: int
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
    except KeyError:  # as in containers
        return f"operator {os.getuid()}"


def record(
    tx: database.Transaction,
    actor: str,
    action: str,
    subject: str,
    now: int,
    details: Mapping[str, Any],
) -> None:
    """Write a line; `now` in epoch ms, `details` plain values or lists of them.

    `action` is a thing and its change, such as `request.created`; `subject` is an id.
    """
    tx.execute(
        INSERT,
        id=outbox.new_id(now),
        at=now,
        actor=_cut(actor, LONGEST_NAME),
        action=_cut(action, LONGEST_NAME),
        subject=_cut(subject, LONGEST_NAME),
        details=_to_json(_limit(details)),
    )


def read(tx: database.Transaction, limit: int, subject: str | None = None) -> list[Line]:
    """Return up to `limit` lines, newest first, of all subjects or of one."""
    where = "" if subject is None else " WHERE subject = :subject"
    rows = tx.query(
        f"{SELECT}{where} ORDER BY id DESC LIMIT :limit",
        limit=limit,
        **({} if subject is None else {"subject": subject}),
    )
    return [Line(**{**row, "details": exact_json.loads(row["details"])}) for row in rows]


def read_all(tx: database.Transaction, action: str) -> list[Line]:
    """Return all lines whose action begins so, oldest first; it reads the whole log."""
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
        most=BATCH,
    )


def _limit(details: Mapping[str, Any]) -> dict[str, Any]:
    kept = [*details.items()][:MOST_VALUES]
    return {_cut(name, LONGEST_NAME): _plain(value) for name, value in kept}


def _plain(value: object) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value[:MOST_VALUES]]
    return _cut(str(value), LONGEST_TEXT)


def _cut(text: str, most: int) -> str:
    """Return one harmless line; the check of most texts is cheap, because creates are many."""
    if len(text) <= most and text.isascii() and text.isprintable():
        return text
    return sanitize.line(text[: 2 * most], most)
