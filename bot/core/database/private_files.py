"""Private files and folders with payers' data, readable only by the user who runs the bot.

SQLite creates its side files with the mode of the database file (sqlite.org/wal.html), so all files
of a private database are private. New files are completed under a temporary name, then linked or
renamed: a crash leaves no half of a file under the name that others open.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bot.core import errors

FOLDER_MODE = 0o700
FILE_MODE = 0o600
OTHERS = 0o077
"""The mode bits of the group and of everybody else."""

ALL = 0o007
"""The mode bits of everybody else."""

SIDE_FILES = ("-wal", "-shm", "-journal")
"""Suffixes of SQLite's side files."""

RANDOM = r"[a-z0-9_]{8}"
"""The random suffix of tempfile's names."""


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


# Files made beside others, and moved into place.


@contextmanager
def temporary_file(target: Path) -> Iterator[Path]:
    """Create a file next to `target` with mode 0600, and delete it when the block ends.

    Raises BotError if the folder can't be written to.
    """
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise errors.BotError(f"{target.parent}: can't be written to: {error.strerror}") from error
    os.close(handle)
    try:
        yield Path(name)
    finally:
        for one in database_files(name):
            one.unlink(missing_ok=True)


def find_leftovers(folder: Path, target: str) -> list[Path]:
    """Return files that killed processes left behind; `target` is a pattern."""
    endings = "|".join(SIDE_FILES)
    name = re.compile(rf"\.(?:{target})\.{RANDOM}(?:{endings})?")
    return [one for one in folder.iterdir() if name.fullmatch(one.name) and not one.is_dir()]


def publish(made: Path, target: Path) -> None:
    """Sync a file to the disk and rename it to `target`, unless the name is taken.

    Raises BotError.
    """
    with naming(target):
        _sync(made)
        _link(made, target)
        _sync(target.parent)


def replace(made: Path, target: Path, aside: Path) -> None:
    """Move a file to `target`, and keep the previous file as `aside`.

    A single rename ensures that a crash leaves either the old or the new file in place; on a disk
    without hard links, a crash may leave the old file only as `aside`. A -wal that could not be
    merged is moved first, because it would damage the new file. Raises BotError; nothing is changed
    then.
    """
    with naming(target), ExitStack() as undo:
        _sync(made)
        if target.exists():
            _link(target, aside)
            undo.callback(_unlink, aside, target)
        for ending in SIDE_FILES:
            old, new = Path(f"{target}{ending}"), Path(f"{aside}{ending}")
            if old.exists():
                old.rename(new)
                undo.callback(new.rename, old)
        made.replace(target)
        undo.pop_all()
        _sync(target.parent)
    make_private(database_files(aside))


def _link(path: Path, name: Path) -> None:
    """Link a file under a second name; rename it on a disk without hard links; replace none."""
    try:
        os.link(path, name)
    except FileExistsError:
        raise
    except OSError:  # no hard links on this disk
        if name.exists():
            raise FileExistsError(17, "already exists") from None
        path.rename(name)


def _unlink(name: Path, path: Path) -> None:
    if path.exists():
        name.unlink()
    else:
        name.rename(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Convert errors of the disk to a BotError with the file name."""
    try:
        yield
    except FileExistsError as error:
        raise errors.BotError(f"{path}: already exists: choose another name") from error
    except OSError as error:
        raise errors.BotError(f"{path}: {error.strerror}") from error
