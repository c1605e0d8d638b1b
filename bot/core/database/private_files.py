"""Files and folders with payers' data, which only the user who runs the bot may read.

SQLite gives the files beside a database the mode of the database (sqlite.org/wal.html), so a
database that is created private stays private as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
OTHERS = 0o077
"""The mode bits of the group and of everybody else."""

SIDE_FILES = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite keeps beside a database."""


def make_folder(folder: Path) -> None:
    """Create a folder for its owner alone, with its parents; an existing one keeps its mode."""
    folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)


def make_file(path: str) -> None:
    """Create an empty file for its owner alone, unless there is one. Raises OSError.

    A link is followed: SQLite would create the file that it names, readable to everybody.
    """
    with suppress(FileExistsError):
        os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))


def database_files(path: str | Path) -> list[Path]:
    """Return the names of a database and of the files that SQLite keeps beside it."""
    return [Path(f"{path}{ending}") for ending in ("", *SIDE_FILES)]


def find_exposed(paths: Iterable[Path]) -> list[Path]:
    """Return the files that others on this machine may read or write."""
    return [path for path in paths if _mode(path) & OTHERS]


def make_private(paths: Iterable[Path]) -> list[Path]:
    """Remove the rights of others to these files; return those that were exposed.

    A file of another user stays as it is: `find_exposed` still names it.
    """
    found = find_exposed(paths)
    for path in found:
        with suppress(OSError):
            path.chmod(_mode(path) & ~OTHERS)
    return found


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except OSError:
        return 0
