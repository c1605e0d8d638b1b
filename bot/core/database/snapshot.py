"""A SQLite database as one file: copy it while in use, check it, compact it, move it into place.

A copy is one read transaction, so it is consistent and blocks no writer; the new file needs no
-wal. A database file is opened only through SQLite, because closing any other handle of the file in
this process drops SQLite's locks (sqlite.org/howtocorrupt.html). So files are linked and renamed.
"""

from __future__ import annotations

import os
import re
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from bot.core import errors
from bot.core.database import inspection, migrations, private_files, sqlite
from bot.core.text import sanitize

if TYPE_CHECKING:
    from sqlite_utils import Database


NOT_OURS = "is not a database of this program"
CHANGED = "was changed by another program"

REQUIRED_TABLES = {"migrations", "outbox", "payment_requests", "payments", "received_payments"}
"""Tables by which a database of this program is recognized."""

WRITABLE = "mode=rw"
UNSHARED = "mode=ro&immutable=1"
"""URI parameters for a file that no other process can open: SQLite takes no locks."""

MAGIC = b"SQLite format 3\0"
"""The first bytes of every database (sqlite.org/fileformat2.html)."""

RANDOM = r"[a-z0-9_]{8}"
"""The random suffix of tempfile's names."""

MAX_SIZE = 128 * 1024 * 1024
"""The largest file, in bytes, that is rewritten while the bot runs: payers wait meanwhile, and are
refused after five seconds (measured: 130 MB per second, 50 MB on a busy machine)."""

LOG_SECONDS, PAUSE = 30.0, 0.05
"""The longest wait for readers of the -wal, and the time between two attempts."""


# Copies of a database, and their contents.


@dataclass(frozen=True, slots=True)
class Contents:
    """A summary of a database."""

    version: int
    """The version of the schema."""
    requests: int
    payments: int
    newest_at: int | None
    """The time of the last payment, in epoch ms."""
    size: int
    """In bytes."""


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
        for one in private_files.database_files(name):
            one.unlink(missing_ok=True)


def find_leftovers(folder: Path, target: str) -> list[Path]:
    """Return files that killed processes left behind; `target` is a pattern."""
    endings = "|".join(private_files.SIDE_FILES)
    name = re.compile(rf"\.(?:{target})\.{RANDOM}(?:{endings})?")
    return [one for one in folder.iterdir() if name.fullmatch(one.name) and not one.is_dir()]


def copy_database(source: Path, target: Path, *, live: bool = False) -> None:
    """Copy a snapshot of a database into the file `target`.

    Set `live` if others may have the database open. Raises BotError if `source` can't be read or
    `target` can't be written.
    """
    with _naming(source), inspection.opened(source, WRITABLE) if live else _readable(source) as old:
        old.table_names()  # raises if the file is locked or damaged
        with _naming(target), closing(sqlite3.connect(target, isolation_level=None)) as new:
            new.execute("PRAGMA journal_mode = OFF")
            new.execute("PRAGMA synchronous = OFF")  # `publish` syncs it
            old.conn.backup(new)
    with _naming(source), closing(sqlite3.connect(target, isolation_level=None)) as new:
        new.execute("PRAGMA journal_mode = DELETE")


def forget_processes(path: Path) -> None:
    """Delete the rows about running processes from a copy. Raises BotError."""
    with _naming(path), inspection.opened(path, WRITABLE) as db:
        for name in inspection.OF_RUNNING_PROCESSES.intersection(db.table_names()):
            db.execute(f"DELETE FROM {name}")  # noqa: S608 - our own names


def read_contents(path: Path) -> Contents:
    """Return the summary of a database. Raises BotError if it doesn't belong to this program."""
    with _naming(path), _readable(path) as db:
        if not set(db.table_names()) >= REQUIRED_TABLES:
            raise errors.BotError(f"{path}: {NOT_OURS}")
        (newest,) = db.query("SELECT MAX(completed_at) AS at FROM payments")
        return Contents(
            version=db["migrations"].count,
            requests=db["payment_requests"].count,
            payments=db["payments"].count,
            newest_at=newest["at"],
            size=path.stat().st_size,
        )


def read_sealed_secret(path: Path) -> str | None:
    """Return any secret in a database, still sealed; None if there are no secrets."""
    with _naming(path), _readable(path) as db:
        row = next(db["kept_secrets"].rows_where(order_by="name", limit=1), None)
        return str(row["sealed"]) if row else None


def holds_data(path: Path, embedded: str) -> bool:
    """Return whether data would be lost with this file; True if it can't be read.

    `embedded` is the name of the secret of the application that the first start creates.
    """
    if Path(f"{path}-wal").exists() and Path(f"{path}-wal").stat().st_size:
        return True
    if not path.exists() or not path.stat().st_size:
        return False
    try:
        with _naming(path), _readable(path) as db:
            tables = {name for name in db.table_names() if not name.startswith("sqlite")}
            if "apps" in tables:
                created = db["kept_secrets"].count_where("name = ?", [embedded])
                if db["apps"].count > created:
                    return True
            return any(
                any(db[name].rows_where(limit=1)) for name in tables - inspection.FILLED_BY_A_START
            )
    except errors.BotError:
        return True


def is_database(path: Path) -> bool:
    """Check the first bytes of a file: opening any other file as a database deletes its -wal."""
    with _naming(path), path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


# Checks that a copy is undamaged and has exactly the schema that our migrations make.
#
# A backup is untrusted. A trigger in it would run within our statements, and a view could pose as a
# table (sqlite.org/security.html). So before the schema check, only the raw catalogue is read: a
# parsed description could hide objects that it can't describe.


Entry: TypeAlias = tuple[str, str, str, str | None]
"""The type, name, table and statement of an object in the catalogue."""

MIGRATIONS: Entry = (
    *("table", "migrations", "migrations"),
    f"CREATE TABLE migrations {migrations.COLUMNS}",
)
STATISTICS: frozenset[Entry] = frozenset(
    ("table", name, name, f"CREATE TABLE {name}({columns})")
    for name, columns in (
        ("sqlite_stat1", "tbl,idx,stat"),
        ("sqlite_stat4", "tbl,idx,neq,nlt,ndlt,sample"),
    )
)
"""Tables that ANALYZE creates (sqlite.org/fileformat2.html): harmless, any operator may run it."""

MARKS = ("application_id", "user_version", "encoding")
"""Pragmas stored in the file; our migrations keep SQLite's defaults."""

MAX_NAMED = 3
"""Differences that an error names; the rest is only counted."""


def check_sound(path: Path, source: Path) -> None:
    """Raise BotError if a copy of `source` is damaged."""
    _check(path, source, inspection.first_flaw)


def check_foreign(path: Path, source: Path) -> None:
    """Raise BotError if a copy of an untrusted `source` is not ours or inconsistent."""
    check_schema(path, source)
    _check(path, source, inspection.first_inconsistency)


def check_schema(path: Path, source: Path) -> None:
    """Raise BotError if a copy of `source` doesn't have exactly the schema of its version."""
    with _naming(source):
        with inspection.opened(path, UNSHARED) as db:
            found, marks = _catalogue(db.conn), _marks(db.conn)
            if MIGRATIONS not in found:
                raise errors.BotError(f"{source}: {NOT_OURS}")
            version = _version(db.conn, source)
        with closing(sqlite.in_memory(version)) as conn:
            expected = _marks(conn)
            differences = list(_differences(found, _catalogue(conn)))
    differences += [f"{mark} is {marks[mark]}" for mark in MARKS if marks[mark] != expected[mark]]
    if differences:
        more = [f"{len(differences) - MAX_NAMED} more"] if len(differences) > MAX_NAMED else []
        named = "; ".join([*map(sanitize.line, differences[:MAX_NAMED]), *more])
        raise errors.BotError(f"{source}: {CHANGED}: {named}")


def _check(path: Path, source: Path, find: Callable[[Database], str | None]) -> None:
    with _naming(source), _readable(path) as db:
        if found := find(db):
            raise errors.BotError(f"{source}: is damaged: {found}")


def _version(conn: sqlite3.Connection, source: Path) -> int:
    sql = "SELECT COUNT(*), MIN(number), MAX(number) FROM migrations"
    count, first, last = conn.execute(sql).fetchone()
    known = len(migrations.MIGRATIONS)
    if not count:
        raise errors.BotError(f"{source}: {NOT_OURS}")
    if last > known:
        raise errors.BotError(
            f"{source}: was made by a newer version (schema {last}, this one knows {known}):"
            " update the program first"
        )
    if (first, last) != (1, count):
        raise errors.BotError(f"{source}: {CHANGED}: migrations are missing")
    return int(last)


def _catalogue(conn: sqlite3.Connection) -> Counter[Entry]:
    rows = conn.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return Counter(row for row in rows if row not in STATISTICS)


def _marks(conn: sqlite3.Connection) -> dict[str, object]:
    return {mark: conn.execute(f"PRAGMA {mark}").fetchone()[0] for mark in MARKS}


def _differences(found: Counter[Entry], expected: Counter[Entry]) -> Iterator[str]:
    """Yield the foreign, the different and the missing objects."""
    names = {entry[:2] for entry in expected}
    present = {entry[:2] for entry in found}
    for kind, name, table, _ in found - expected:
        if (kind, name) in names:
            yield f"{kind} {name} differs"
        else:
            yield f"{kind} {name}{'' if name == table else f' on {table}'} is not ours"
    for kind, name, *_ in expected - found:
        if (kind, name) not in present:
            yield f"{kind} {name} is missing"


# Exclusive access to a database, and moving files into place.


@contextmanager
def exclusive(path: Path) -> Iterator[bool]:
    """Merge a database's -wal into it and keep other processes from opening it.

    Yield False, and keep nobody out, if another process has the database open: in WAL mode even an
    idle process holds a lock. Raises BotError if the file can't be opened.
    """
    with _naming(path), inspection.opened(path, WRITABLE) as db:
        yield _is_alone(db)


@contextmanager
def held(path: Path) -> Iterator[Database]:
    """Open a database that no other process can read or write meanwhile.

    Raises BotError if another process has it open.
    """
    with _naming(path), inspection.opened(path, WRITABLE) as db:
        if not _is_alone(db):
            raise errors.BotError(f"{path}: is in use: stop the bot first")
        # A database can't be copied within a transaction: keep the lock after the transaction.
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("COMMIT")
        yield db


def copy_held(db: Database, target: Path) -> None:
    """Copy a database that is `held` into the file `target`. Raises BotError."""
    with _naming(target), closing(sqlite3.connect(target, isolation_level=None)) as new:
        new.execute("PRAGMA synchronous = OFF")
        db.conn.backup(new)


def _is_alone(db: Database) -> bool:
    """Merge the -wal and keep others out; return False if another process has the file open."""
    try:
        db.disable_wal()
        db.execute("BEGIN EXCLUSIVE")
        return bool(db.journal_mode == "delete")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False


def publish(made: Path, target: Path) -> None:
    """Sync a file to the disk and rename it to `target`, unless the name is taken.

    Raises BotError.
    """
    with _naming(target):
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
    with _naming(target), ExitStack() as undo:
        _sync(made)
        if target.exists():
            _link(target, aside)
            undo.callback(_unlink, aside, target)
        for ending in private_files.SIDE_FILES:
            old, new = Path(f"{target}{ending}"), Path(f"{aside}{ending}")
            if old.exists():
                old.rename(new)
                undo.callback(new.rename, old)
        made.replace(target)
        undo.pop_all()
        _sync(target.parent)
    private_files.make_private(private_files.database_files(aside))


def merge_log(path: Path) -> None:
    """Merge the -wal into a file that nobody has open. Raises BotError."""
    with _naming(path), inspection.opened(path, WRITABLE) as db:
        db.disable_wal()


def compact(path: Path) -> bool:
    """Rewrite a database file without deleted bytes, and empty its -wal; writers wait meanwhile.

    All connections of the bot use secure deletion: SQLite overwrites deleted rows, but not copies
    that page splits left in free space. VACUUM removes these copies.
    If another process has the file open and the file is so large that payers would be refused, only
    empty the -wal and return False. Raises BotError.
    """
    may_wait = path.stat().st_size <= MAX_SIZE
    if not may_wait:
        with exclusive(path) as may_wait:
            pass
    try:
        with inspection.opened(path, WRITABLE) as db:
            if may_wait:
                db.vacuum()
            _empty_log(db)
    except sqlite3.Error as error:
        raise errors.BotError(f"{path}: can't be rewritten: {error}") from error
    return may_wait


def _empty_log(db: Database) -> None:
    until = time.monotonic() + LOG_SECONDS
    while next(db.query("PRAGMA wal_checkpoint(TRUNCATE)"))["busy"]:
        if time.monotonic() > until:
            raise errors.BotError(
                "the -wal can't be emptied: another process reads the database all the time"
            )
        time.sleep(PAUSE)


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


def _readable(path: Path) -> AbstractContextManager[Database]:
    """Open a file for reading, without creating side files."""
    is_alone = not any(Path(f"{path}{ending}").exists() for ending in private_files.SIDE_FILES)
    return inspection.opened(path, UNSHARED if is_alone else "mode=ro")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Convert errors of SQLite and the disk to a BotError with the file name."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise errors.BotError(f"{path}: {sanitize.line(str(error))}") from error
    except UnicodeDecodeError as error:  # SQLite's message quotes a broken schema
        raise errors.BotError(f"{path}: is damaged: its schema is not text") from error
    except FileExistsError as error:
        raise errors.BotError(f"{path}: already exists: choose another name") from error
    except OSError as error:
        raise errors.BotError(f"{path}: {error.strerror}") from error
