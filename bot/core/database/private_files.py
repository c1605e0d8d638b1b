"""Private files and folders with payers' data, readable only by the user who runs the bot.

SQLite creates its side files with the mode of the database file (sqlite.org/wal.html), so all files
of a private database are private.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
OTHERS = 0o077
"""The mode bits of the group and of everybody else."""

ALL = 0o007
"""The mode bits of everybody else."""

SIDE_FILES = ("-wal", "-shm", "-journal")
"""Suffixes of SQLite's side files."""


def make_folder(folder: Path) -> None:
    """Create a private folder and its parents; an existing folder keeps its mode."""
    folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)


def make_file(path: str) -> None:
    """Create an empty private file, unless the file exists. Raises OSError.

    A link is followed, because SQLite would create its target, readable by everybody.
    """
    with suppress(FileExistsError):
        os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))


def database_files(path: str | Path) -> list[Path]:
    """Return the paths of a database and its side files."""
    return [Path(f"{path}{ending}") for ending in ("", *SIDE_FILES)]


def find_exposed(paths: Iterable[Path]) -> list[Path]:
    """Return the files that other users of this machine may read or write."""
    return [path for path in paths if _mode(path) & OTHERS]


def closing_command(paths: Iterable[Path]) -> str:
    """Return the command by which an operator removes other users' access to these files."""
    return f"chmod {FILE_MODE:o} {shlex.join(map(str, paths))}"


def is_open_to_all(path: Path) -> bool:
    """True if every user of this machine may read or write the file."""
    return bool(_mode(path) & ALL)


def make_private(paths: Iterable[Path]) -> list[Path]:
    """Remove other users' access to these files; return the files that were exposed.

    A file that another user owns stays unchanged, and `find_exposed` still returns it.
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
