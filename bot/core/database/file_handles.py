"""File handles, of which a process may run out for a while."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bot.core.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

NONE_LEFT = (errno.EMFILE, errno.ENFILE)


def is_shortage(error: Exception) -> bool:
    """Return whether an error says that no file handle is left."""
    return isinstance(error, OSError) and error.errno in NONE_LEFT


@contextmanager
def required() -> Iterator[None]:
    """Raise StorageError where no file handle is left, so that the message is tried again.

    For work that opens files late: fonts, modules that are seldom used.
    """
    try:
        yield
    except OSError as error:
        if not is_shortage(error):
            raise
        raise StorageError("no file handle is left") from error
