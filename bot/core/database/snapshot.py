"""A SQLite database as one file: copied beside whoever uses it, looked at, put in a place.

The copy is one read transaction, so it is of one moment and holds up no writer; the file that it
leaves needs no -wal. Whoever opens a database file other than through SQLite lets go of SQLite's
locks on it in this process (sqlite.org/howtocorrupt.html): here files are linked and renamed.
"""

from __future__ import annotations

import os
import re
import sqlite3
import tempfile
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from bot.core.database import schema_check
from bot.core.database.database import sqlite_path
from bot.core.database.integrity import connect, flaw, inconsistency
from bot.core.database.private_files import SIDE_FILES, database_files, make_private
from bot.core.errors import BotError
from bot.core.text import sanitize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REQUIRED_TABLES = {"migrations", "outbox", "payment_requests", "payments", "received_payments"}
"""Tables by which a database is known for one of ours."""

MAGIC = b"SQLite format 3\0"
"""What every database begins with (sqlite.org/fileformat2.html)."""

MADE_BY_A_START = {"migrations", "kept_secrets", "lanes", "apps", "audit", "probe"}
"""Tables that hold something though nobody has used the database yet."""

OTHERS = (
    "SELECT 1 FROM apps LIMIT 1 OFFSET (SELECT COUNT(*) FROM kept_secrets WHERE name = :embedded)"
)
"""Applications beside the bot's own, which a start makes and keeps the secret of."""

RANDOM = r"[a-z0-9_]{8}"
"""What tempfile puts at the end of a name."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a database holds; `version` of its schema, `newest_at` of its last payment (epoch ms).

    `size` in bytes.
    """

    version: int
    requests: int
    payments: int
    newest_at: int | None
    size: int


@contextmanager
def temporary_file(target: Path) -> Iterator[Path]:
    """Give a new file beside `target`, of mode 0600, that is gone when the block ends.

    Raises BotError where the folder can't be written to.
    """
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise BotError(f"{target.parent}: can't be written to: {error.strerror}") from error
    os.close(handle)
    try:
        yield Path(name)
    finally:
        for one in database_files(name):
            one.unlink(missing_ok=True)


def find_leftovers(folder: Path, target: str) -> list[Path]:
    """Give the files that `scratch` left where it was killed; `target`, a pattern, is for whom."""
    endings = "|".join(SIDE_FILES)
    name = re.compile(rf"\.(?:{target})\.{RANDOM}(?:{endings})?")
    return [one for one in folder.iterdir() if name.fullmatch(one.name) and not one.is_dir()]


def copy_database(source: Path, target: Path, *, live: bool = False) -> None:
    """Copy a database as it is at this moment into the file `target`.

    `live` where others may have it open or open it meanwhile. Raises BotError where `source` can't
    be read, or `target` can't hold it.
    """
    with _told_of(source), closing(_writing(source) if live else _reading(source)) as old:
        old.execute("SELECT 1 FROM sqlite_master").fetchone()  # a lock or a damage is said here
        with _told_of(target), closing(sqlite3.connect(target, isolation_level=None)) as new:
            new.execute("PRAGMA journal_mode = OFF")
            new.execute("PRAGMA synchronous = OFF")  # `keep` brings it to the disk
            old.backup(new)
    with _told_of(source), closing(sqlite3.connect(target, isolation_level=None)) as new:
        unite(new)


def check_sound(path: Path, source: Path) -> None:
    """Raise BotError where a copy of `source` is damaged."""
    _check(path, source, flaw)


def check_foreign(path: Path, source: Path) -> None:
    """Raise BotError where a copy of `source`, a file from outside, is not ours and consistent."""
    check_schema(path, source)
    _check(path, source, inconsistency)


def check_schema(path: Path, source: Path) -> None:
    """Raise BotError where a copy of `source` has not exactly the schema of its version."""
    with _told_of(source):
        schema_check.check(path, source)


def _check(path: Path, source: Path, look: Callable[[sqlite3.Connection], str | None]) -> None:
    with _told_of(source), closing(_reading(path)) as db:
        if found := look(db):
            raise BotError(f"{source}: is damaged: {found}")


def unite(connection: sqlite3.Connection) -> None:
    """Make the file whole without a -wal; an OperationalError where others have it open."""
    connection.execute("PRAGMA journal_mode = DELETE")


def read_contents(path: Path) -> Contents:
    """Say what a database holds. Raises BotError where it is none of ours."""
    with _told_of(path), closing(_reading(path)) as db:
        if not _tables(db) >= REQUIRED_TABLES:
            raise BotError(f"{path}: is no database of this program")
        (version,) = db.execute("SELECT COALESCE(MAX(number), 0) FROM migrations").fetchone()
        (requests,) = db.execute("SELECT COUNT(*) FROM payment_requests").fetchone()
        told = "SELECT COUNT(*), MAX(completed_at) FROM payments"
        payments, newest_at = db.execute(told).fetchone()
        return Contents(version, requests, payments, newest_at, path.stat().st_size)


def read_sealed_secret(path: Path) -> str | None:
    """Give one of the secrets that a database keeps, as it is sealed; None where there is none."""
    with _told_of(path), closing(_reading(path)) as db:
        row = db.execute("SELECT sealed FROM kept_secrets ORDER BY name LIMIT 1").fetchone()
        return str(row[0]) if row else None


def holds_data(path: Path, embedded: str) -> bool:
    """Whether something would be lost with this file: also where it can't be read.

    `embedded` is the secret that a start keeps of the application that it makes.
    """
    if Path(f"{path}-wal").exists() and Path(f"{path}-wal").stat().st_size:
        return True
    if not path.exists() or not path.stat().st_size:
        return False
    try:
        with _told_of(path), closing(_reading(path)) as db:
            tables = _tables(db)
            if "apps" in tables and db.execute(OTHERS, {"embedded": embedded}).fetchone():
                return True
            used = tables - MADE_BY_A_START
            return any(db.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone() for name in used)  # noqa: S608 - its own tables' names
    except BotError:
        return True


def is_database(path: Path) -> bool:
    """Whether a file begins as a database does: opened all the same, it would lose its -wal."""
    with _told_of(path), path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


@contextmanager
def exclusive(path: Path) -> Iterator[bool]:
    """Keep everybody else from opening a database meanwhile, whole without its -wal.

    False, and nobody is kept out, where another process has it open: with a -wal each that does
    holds a lock, though it should be idle. Raises BotError where it can't be opened.
    """
    with _told_of(path), closing(_writing(path)) as db:
        try:
            unite(db)
            db.execute("BEGIN EXCLUSIVE")
            is_whole = db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            is_whole = False
        yield is_whole


def publish(made: Path, target: Path) -> None:
    """Bring a file to the disk and give it its name, unless something has that name.

    Raises BotError.
    """
    with _told_of(target):
        _sync(made)
        _call_aside(made, target)
        _sync(target.parent)


def replace(made: Path, target: Path, aside: Path) -> None:
    """Let a file take the place of what is at `target`, which is called `aside` from then on.

    At one stroke, so that a crash leaves the one or the other; on a disk without hard links it may
    leave the old one as `aside` alone. A -wal that could not be made part of its file goes before:
    beside another file it would spoil that one. Raises BotError, and then nothing has changed.
    """
    with _told_of(target), ExitStack() as undo:
        _sync(made)
        if target.exists():
            _call_aside(target, aside)
            undo.callback(_call_back, aside, target)
        for ending in SIDE_FILES:
            old, new = Path(f"{target}{ending}"), Path(f"{aside}{ending}")
            if old.exists():
                old.rename(new)
                undo.callback(new.rename, old)
        made.replace(target)
        undo.pop_all()
        _sync(target.parent)
    make_private(database_files(aside))


def merge_log(path: Path) -> None:
    """Make a file that nobody has open whole without its -wal. Raises BotError."""
    with _told_of(path), closing(_writing(path)) as db:
        unite(db)


def url_of(path: Path) -> str:
    """Give the DATABASE_URL of a file."""
    return f"sqlite:///{quote(str(path))}"


def file_of(url: str) -> Path:
    """Give the file of a DATABASE_URL. Raises BotError where there is none."""
    path = Path(sqlite_path(url))
    if not path.is_file():
        raise BotError(f"DATABASE_URL: there is no database at {path}")
    return path


def _call_aside(path: Path, name: Path) -> None:
    """Give a file a second name, or this one alone where there are no hard links; none is taken."""
    try:
        os.link(path, name)
    except FileExistsError:
        raise
    except OSError:  # no hard links here
        if name.exists():
            raise FileExistsError(17, "is there already") from None
        path.rename(name)


def _call_back(name: Path, path: Path) -> None:
    if path.exists():
        name.unlink()
    else:
        name.rename(path)


def _tables(db: sqlite3.Connection) -> set[str]:
    rows = db.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    )
    return {name for (name,) in rows}


def _reading(path: Path) -> sqlite3.Connection:
    """Open what is there, to read; beside a file that lies alone nothing is made."""
    is_alone = not any(Path(f"{path}{ending}").exists() for ending in SIDE_FILES)
    return connect(path, "mode=ro&immutable=1" if is_alone else "mode=ro")


def _writing(path: Path) -> sqlite3.Connection:
    return connect(path, "mode=rw")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """Say of which file it is that it can't be read or written."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise BotError(f"{path}: {sanitize.line(str(error))}") from error
    except UnicodeDecodeError as error:  # what SQLite says quotes a broken schema
        raise BotError(f"{path}: is damaged: its schema is no text") from error
    except FileExistsError as error:
        raise BotError(f"{path}: is there already: give another name") from error
    except OSError as error:
        raise BotError(f"{path}: {error.strerror}") from error
