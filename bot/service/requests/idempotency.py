"""Calls with an Idempotency-Key: executed once in 24 hours, however often they are sent.

The key is stored in the transaction of the change, before anything else, so that two simultaneous
calls wait for each other. A repeat changes nothing and returns the present state of the object that
the first call made. No answer is stored, so no personal data is. A refused call stores no key and
may be repeated when the cause is gone (docs/decisions/interface.md#0094).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from bot.core import errors
from bot.core.database import database

T = TypeVar("T")

LIFETIME = 24 * 60 * 60 * 1000
"""Milliseconds for which an Idempotency-Key is remembered."""

# The row of an expired key stays until the next sweep.
TAKE = """
    INSERT INTO idempotency (app_id, key_digest, call_digest, made, created_at)
    VALUES (:app_id, :key, :call, :made, :now)
    ON CONFLICT (app_id, key_digest) DO UPDATE SET call_digest = excluded.call_digest,
      made = excluded.made, created_at = excluded.created_at
    WHERE idempotency.created_at <= :end
"""
FIND = """
    SELECT call_digest, made FROM idempotency
    WHERE app_id = :app_id AND key_digest = :key AND created_at > :end
"""
KEEP = "UPDATE idempotency SET made = :made WHERE app_id = :app_id AND key_digest = :key"
FORGET = """
    DELETE FROM idempotency WHERE created_at <= :end AND (app_id, key_digest) IN (
      SELECT app_id, key_digest FROM idempotency WHERE created_at <= :end
      ORDER BY created_at LIMIT :most)
"""


@dataclass(frozen=True, slots=True)
class CallKey:
    """An Idempotency-Key of an application."""

    app_id: str

    key: str
    """Digest of the key."""

    call: str
    """Digest of the whole call."""

    now: int
    """In epoch ms."""

    @classmethod
    def of(cls, app_id: str, key: str, call: str, now: int) -> CallKey:
        """Return the key of a call; `call` is a text that describes it.

        The digest of the call includes the key, so that nobody can guess a body by trial.
        """
        return cls(app_id, _digest(key), _digest(f"{key} {call}"), now)

    def with_content(self, content: str) -> CallKey:
        """Return the key of the same call with this content, given as a digest."""
        return replace(self, call=_digest(self.call + content))


def once(
    tx: database.Transaction,
    key: CallKey | None,
    change: Callable[[], T],
    again: Callable[[str], T],
    made: str = "",
) -> T:
    """Make a change, or return the result of `again` if the same key was used before.

    `again` gets the note of the change: `made`, or the argument of `keep`. Raises
    IdempotencyMismatch if the key was used by another call, and any error of the two functions.
    """
    if key is None:
        return change()
    if tx.execute(TAKE, made=made, **_place(key), call=key.call, now=key.now):
        return change()
    (row,) = tx.query(FIND, **_place(key))
    return again(_noted(row, key))


def keep(tx: database.Transaction, key: CallKey | None, made: str) -> None:
    """Store a note under this key about the change, for repeats."""
    if key is not None:
        tx.execute(KEEP, made=made, app_id=key.app_id, key=key.key)


async def is_known(db: database.Database, key: CallKey) -> bool:
    """Return whether a call was made under this key, before the whole body is known."""
    return await db.one(FIND, **_place(key)) is not None


async def read_made(db: database.Database, key: CallKey | None) -> str | None:
    """Return the note of this call if it was made before under the same key.

    For calls that contact other servers before their transaction. Raises IdempotencyMismatch.
    """
    row = await db.one(FIND, **_place(key)) if key else None
    return _noted(row, key) if row and key else None


def forget(tx: database.Transaction, now: int, most: int) -> int:
    """Delete up to `most` expired keys; return how many."""
    return tx.execute(FORGET, end=now - LIFETIME, most=most)


def _place(key: CallKey) -> dict[str, str | int]:
    return {"app_id": key.app_id, "key": key.key, "end": key.now - LIFETIME}


def _noted(row: database.Row, key: CallKey) -> str:
    if row["call_digest"] != key.call:
        raise errors.IdempotencyMismatch
    return str(row["made"])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
