"""What the server's errors mean: run again, can't be used now, a broken rule, or a bug.

Errors are told apart by their SQLSTATE (postgresql.org/docs/current/errcodes-appendix.html), never
by their text, which follows the server's language.
"""

from __future__ import annotations

from bot.core.errors import BotError, ConstraintError, StorageError

CONFLICTS = frozenset({"40001", "40P01"})
"""Serialization failure and deadlock: the server rolled back one of several that were in each
other's way."""

OVERTAKEN = frozenset({"23505", "23503", "0A000", "26000", "42P05"})
"""A key that exists, a row that is gone, a prepared statement that is out of date: another
transaction may have been faster, and the next run sees what it did."""

OUT_OF_DATE = frozenset({"0A000", "26000", "42P05"})
"""Those of them after which a connection gives up its prepared statements."""

ABORTED = "25P02"
"""The code of statements in a transaction that an error has ended already."""

READ_ONLY = "25006"
"""The code of changes at a standby, or at a primary that takes none any more."""

UNUSABLE = frozenset({"55P03", READ_ONLY, "25P03", "25P04", "57014", "58030", "08P01"})
"""Lock not available, read-only, idle or open for too long, cancelled, an I/O error,
and what poolers answer while they have no connection."""

UNUSABLE_CLASSES = frozenset({"08", "53", "57", "XX"})
"""Connection lost, out of disk, memory or connections, told to end, damaged."""


class NotConnected(StorageError):
    """No connection to the server can be made now."""


class SqlError(Exception):
    """An error that the server answered, or the loss of its connection (without `sqlstate`).

    The message is the server's without its details, which quote values of rows.
    """

    def __init__(self, message: str, sqlstate: str | None = None, *, is_lost: bool = False) -> None:
        super().__init__(f"{message} ({sqlstate})" if sqlstate else message)
        self.sqlstate = sqlstate
        self.is_lost = is_lost

    @property
    def is_storage(self) -> bool:
        """Return whether the machine failed, not the statement."""
        state = self.sqlstate or ""
        return self.is_lost or state in UNUSABLE or state[:2] in UNUSABLE_CLASSES


def translated(error: SqlError) -> BotError | SqlError:
    """Return the error of ours that callers know; a bug stays what it is."""
    if error.is_storage or error.sqlstate in CONFLICTS:
        return StorageError(str(error))
    if (error.sqlstate or "")[:2] == "23":
        return ConstraintError(str(error))
    return error
