"""A SQLite database as one file, opened by commands: copy it while in use, check it, compact it.

A copy is one read transaction, so it is consistent and blocks no writer; the new file needs no
-wal. A database file is opened only through SQLite, because closing any other handle of the file in
this process drops SQLite's locks (sqlite.org/howtocorrupt.html). The running bot uses
core/database/opening.py instead. A file may come from an untrusted source, so its schema is never
trusted (sqlite.org/security.html).
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from sqlite_utils import Database

from bot.core import errors
from bot.core.database import migrations, private_files, sqlite
from bot.core.text import sanitize

NOT_OURS = "is not a database of this program"
CHANGED = "was changed by another program"

REQUIRED_TABLES = {"migrations", "outbox", "payment_requests", "payments", "received_payments"}
"""Tables by which a database of this program is recognized."""

OF_RUNNING_PROCESSES = frozenset({"probe", "replicas", "leads", "slices", "rates", "timelines"})
"""Tables about running processes and their server, whose rows are useless in another database."""

FILLED_BY_A_START = OF_RUNNING_PROCESSES | {"migrations", "kept_secrets", "lanes", "apps", "audit"}
"""Tables that have rows even before anybody has used the database."""

WRITABLE = "mode=rw"
UNSHARED = "mode=ro&immutable=1"
"""URI parameters for a file that no other process can open: SQLite takes no locks."""

MAGIC = b"SQLite format 3\0"
"""The first bytes of every database (sqlite.org/fileformat2.html)."""

CHECK_SECONDS = 5.0
"""The longest check of a file; it covers only a part of a large file."""

STEPS = 20_000
"""SQLite instructions between two reads of the clock."""

LOCK_SECONDS = 5.0
"""The longest wait for another process's lock."""

SOUND = "ok"

MAX_SIZE = 128 * 1024 * 1024
"""The largest file, in bytes, that is rewritten while the bot runs: payers wait meanwhile, and are
refused after five seconds (measured: 130 MB per second, 50 MB on a busy machine)."""

LOG_SECONDS, PAUSE = 30.0, 0.05
"""The longest wait for readers of the -wal, and the time between two attempts."""


@contextmanager
def opened(path: str | Path, mode: str) -> Iterator[Database]:
    """Open an existing file in autocommit mode; `mode` as in sqlite.org/uri.html."""
    address = f"file:{quote(str(path))}?{mode}"
    conn = sqlite3.connect(address, uri=True, isolation_level=None, timeout=LOCK_SECONDS)
    try:
        conn.execute("PRAGMA trusted_schema = OFF")
        yield Database(conn, recursive_triggers=False, execute_plugins=False)
    finally:
        conn.close()


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


def copy_database(source: Path, target: Path, *, live: bool = False) -> None:
    """Copy a snapshot of a database into the file `target`.

    Set `live` if others may have the database open. Raises BotError if `source` can't be read or
    `target` can't be written.
    """
    with _naming(source), opened(source, WRITABLE) if live else _readable(source) as old:
        old.table_names()  # raises if the file is locked or damaged
        copy_opened(old, target)
    with _naming(source), closing(sqlite3.connect(target, isolation_level=None)) as new:
        new.execute("PRAGMA journal_mode = DELETE")


def copy_opened(db: Database, target: Path) -> None:
    """Copy an open database into the file `target`. Raises BotError if it can't be written."""
    with _naming(target), closing(sqlite3.connect(target, isolation_level=None)) as new:
        new.execute("PRAGMA journal_mode = OFF")
        new.execute("PRAGMA synchronous = OFF")  # `publish` syncs it
        db.conn.backup(new)


def forget_processes(path: Path) -> None:
    """Delete the rows about running processes from a copy. Raises BotError."""
    with _naming(path), opened(path, WRITABLE) as db:
        for name in OF_RUNNING_PROCESSES.intersection(db.table_names()):
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
            return any(any(db[name].rows_where(limit=1)) for name in tables - FILLED_BY_A_START)
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

MIGRATIONS_TABLE: Entry = (
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


def find_damage(path: str, seconds: float = CHECK_SECONDS) -> str | None:
    """Return the first damage that SQLite finds in a file within `seconds`, or None.

    Raises sqlite3.Error if the file can't be read.
    """
    until = time.monotonic() + seconds
    with opened(path, "mode=ro") as db:
        db.conn.set_progress_handler(lambda: time.monotonic() > until, STEPS)
        try:
            return first_flaw(db)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                return None
            raise


def first_flaw(db: Database) -> str | None:
    """Return the first damage in a database, or None; indexes and references are not checked."""
    (row,) = db.query("PRAGMA quick_check(1)")
    return None if row["quick_check"] == SOUND else sanitize.line(row["quick_check"])


def first_inconsistency(db: Database) -> str | None:
    """Return the first fault in a database, its indexes and its references, or None.

    Takes several times as long as `first_flaw`.
    """
    (row,) = db.query("PRAGMA integrity_check(1)")
    if row["integrity_check"] != SOUND:
        return sanitize.line(row["integrity_check"])
    lost = next(db.query("PRAGMA foreign_key_check"), None)
    return f"{lost['table']} refers to a row of {lost['parent']} that is missing" if lost else None


def check_sound(path: Path, source: Path) -> None:
    """Raise BotError if a copy of `source` is damaged."""
    _check(path, source, first_flaw)


def check_foreign(path: Path, source: Path) -> None:
    """Raise BotError if a copy of an untrusted `source` is not ours or inconsistent."""
    check_schema(path, source)
    _check(path, source, first_inconsistency)


def check_schema(path: Path, source: Path) -> None:
    """Raise BotError if a copy of `source` doesn't have exactly the schema of its version."""
    with _naming(source):
        with opened(path, UNSHARED) as db:
            found, marks = _catalogue(db.conn), _marks(db.conn)
            if MIGRATIONS_TABLE not in found:
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
    # SQLite also stores the spaces at the end of an index's statement.
    sql = "SELECT type, name, tbl_name, RTRIM(sql, char(10, 32)) FROM sqlite_master"
    rows = conn.execute(sql)
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


# Exclusive access to a database.


@contextmanager
def exclusive(path: Path) -> Iterator[Database | None]:
    """Merge a database's -wal into it, and open it so that no other process can use it meanwhile.

    Yield None, and keep nobody out, if another process has the database open: in WAL mode even an
    idle process holds a lock. Raises BotError if the file can't be opened.
    """
    with _naming(path), opened(path, WRITABLE) as db:
        try:
            db.disable_wal()
            db.execute("BEGIN EXCLUSIVE")
            is_alone = db.journal_mode == "delete"
            if is_alone:  # keep the lock after the transaction, within which nothing can be copied
                db.execute("PRAGMA locking_mode = EXCLUSIVE")
            db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            is_alone = False
        yield db if is_alone else None


def merge_log(path: Path) -> None:
    """Merge the -wal into a file that nobody has open. Raises BotError."""
    with _naming(path), opened(path, WRITABLE) as db:
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
        with exclusive(path) as db:
            may_wait = db is not None
    try:
        with opened(path, WRITABLE) as db:
            if may_wait:
                db.vacuum()
            until = time.monotonic() + LOG_SECONDS
            while next(db.query("PRAGMA wal_checkpoint(TRUNCATE)"))["busy"]:
                if time.monotonic() > until:
                    raise errors.BotError(
                        "the -wal can't be emptied: another process reads the database all the time"
                    )
                time.sleep(PAUSE)
    except sqlite3.Error as error:
        raise errors.BotError(f"{path}: can't be rewritten: {error}") from error
    return may_wait


def _readable(path: Path) -> AbstractContextManager[Database]:
    """Open a file for reading, without creating side files."""
    is_alone = not any(Path(f"{path}{ending}").exists() for ending in private_files.SIDE_FILES)
    return opened(path, UNSHARED if is_alone else "mode=ro")


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Convert errors of SQLite and the disk to a BotError with the file name."""
    try:
        with private_files.naming(path):
            yield
    except sqlite3.DatabaseError as error:
        raise errors.BotError(f"{path}: {sanitize.line(str(error))}") from error
    except UnicodeDecodeError as error:  # SQLite's message quotes a broken schema
        raise errors.BotError(f"{path}: is damaged: its schema is not text") from error
