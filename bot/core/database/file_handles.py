"""File handles, of which a process may have none left for a while."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bot.core.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

NONE_LEFT = (errno.EMFILE, errno.ENFILE)


def is_shortage(error: Exception) -> bool:
    """Whether something failed since there was no file handle for it."""
    return isinstance(error, OSError) and error.errno in NONE_LEFT


@contextmanager
def required() -> Iterator[None]:
    """Let a message that needs one wait for it, as it waits for the database.

    For what opens files late: fonts, and modules that are seldom used. Raises StorageError.
    """
    try:
        yield
    except OSError as error:
        if not is_shortage(error):
            raise
        raise StorageError("no file handle is left") from error
