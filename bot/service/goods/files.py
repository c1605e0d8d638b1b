"""SQL of files: stored and deleted in parts, so that no payment waits for a whole one.

Each call that writes parts is a transaction of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.core.errors import TooManyFiles
from bot.service.model.goods.delivered import StoredFile
from bot.service.store import apps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bot.core.database.database import Database, Row, Transaction

PART = 256 * 1024
"""Bytes of a part."""

SLICE = 32 * 1024
"""Bytes read of a part at a time: what a download keeps in memory for a slow reader."""

MIB = 1024 * 1024
MOST_LOOSE, MOST_LOOSE_OF_SELLER = 1024 * MIB, 200 * MIB
"""Bytes of files that no request delivers: of an application, and of one of its sellers."""

MOST_OF_SELLER = 2048 * MIB
"""Bytes of all files of a seller."""

HOUR, DAY = 3_600_000, 24 * 3_600_000
UPLOADED_WITHIN = 2 * HOUR
"""Milliseconds after which an upload has broken off."""

LOOSE_FOR = 7 * DAY
"""Milliseconds for which an uploaded file waits for its request."""

AFTER_CORRECTION = DAY
"""Milliseconds for which a bought, then corrected file is kept, so that its downloads can end."""

AFTER_DELETION = 180 * DAY
"""Milliseconds for which a deleted request's file is kept, as money may still arrive for it."""

DELETED_AT_ONCE = 16
"""Parts deleted in one transaction: on SQLite payments wait for it."""

# A request that was deleted needs its file only for the buyers that it had.
SOLD = (
    "r.paid_count > COALESCE((SELECT MAX(f.last_unit) FROM former_deliveries f"
    " WHERE f.request_id = r.id), 0)"
)
NEEDED = (
    "(EXISTS (SELECT 1 FROM payment_requests r WHERE r.delivery_file = files.id"  # noqa: S608 - our own words
    f" AND (r.deleted_at IS NULL OR {SOLD}))"
    " OR EXISTS (SELECT 1 FROM former_deliveries d WHERE d.delivery_file = files.id))"
)
COLUMNS = "id, name, media_type, size"
OF_APP = f"SELECT {COLUMNS} FROM files WHERE id = :id AND app_id = :app_id AND complete = 1"  # noqa: S608 - our own words
HELD = """
    SELECT COALESCE(SUM(CASE WHEN expires_at <= :soon THEN size ELSE 0 END), 0) AS loose,
      COALESCE(SUM(CASE WHEN expires_at <= :soon AND owner = :owner THEN size ELSE 0 END), 0)
        AS loose_of_seller,
      COALESCE(SUM(CASE WHEN owner = :owner THEN size ELSE 0 END), 0) AS of_seller
    FROM files WHERE app_id = :app_id AND (expires_at IS NOT NULL OR owner = :owner)
"""
BEGIN = """
    INSERT INTO files (id, app_id, owner, name, media_type, size, expires_at, created_at)
    VALUES (:id, :app_id, :owner, :name, :media_type, :size, :expires_at, :now)
"""
FINISH = """
    UPDATE files SET complete = 1, size = :size, expires_at = :expires_at WHERE id = :id
"""
ATTACH = """
    UPDATE files SET expires_at = NULL WHERE id = :id AND app_id = :app_id AND complete = 1
"""
LAST_DELETION = "SELECT MAX(deleted_at) AS at FROM payment_requests WHERE delivery_file = :id"
RELEASE = f"UPDATE files SET expires_at = :at WHERE id = :id AND NOT {NEEDED}"  # noqa: S608 - our own words
KEEP_NEEDED = f"UPDATE files SET expires_at = NULL WHERE expires_at <= :now AND {NEEDED}"  # noqa: S608 - our own words
# An attached file has no end; a file that is not complete can't be attached any more. One that is
# needed may have got an end from an edit that didn't see yet who needs it.
NEXT_EXPIRED = f"""
    UPDATE files SET complete = 0
    WHERE id = (SELECT MIN(id) FROM files WHERE expires_at <= :now AND NOT {NEEDED})
      AND expires_at <= :now
    RETURNING id
"""  # noqa: S608 - our own words
DELETE_PARTS = """
    DELETE FROM file_parts WHERE file_id = :id AND place IN (
      SELECT place FROM file_parts WHERE file_id = :id ORDER BY place LIMIT :most)
"""


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file about to be uploaded for a seller of an application, '' for itself.

    `size`: its bytes as announced.
    """

    id: str
    app_id: str
    owner: str
    name: str
    media_type: str
    size: int


def begin(tx: Transaction, file: NewFile, now: int) -> None:
    """Store a file without parts. Raises TooManyFiles."""
    apps.lock(tx, file.app_id)  # two uploads don't share the last room
    _check_held(tx, file, now)
    tx.execute(
        BEGIN,
        id=file.id,
        app_id=file.app_id,
        owner=file.owner,
        name=file.name,
        media_type=file.media_type,
        size=file.size,
        expires_at=now + UPLOADED_WITHIN,
        now=now,
    )


def _check_held(tx: Transaction, file: NewFile, now: int) -> None:
    soon = now + LOOSE_FOR
    (held,) = tx.query(HELD, app_id=file.app_id, owner=file.owner, soon=soon)
    if held["loose"] + file.size > MOST_LOOSE:
        raise TooManyFiles(_full(MOST_LOOSE, "files that no payment request delivers"))
    if not file.owner:
        return
    if held["loose_of_seller"] + file.size > MOST_LOOSE_OF_SELLER:
        raise TooManyFiles(
            _full(MOST_LOOSE_OF_SELLER, "a seller's files that no payment request delivers")
        )
    if held["of_seller"] + file.size > MOST_OF_SELLER:
        raise TooManyFiles(_full(MOST_OF_SELLER, "the files of a seller"))


def _full(most: int, of: str) -> str:
    return f"There is room for {most // MIB} MiB of {of}, and it is used up."


def add_part(tx: Transaction, file_id: str, place: int, data: bytes) -> None:
    """Store the part at a place, counted from 0; all but the last have PART bytes."""
    sql = "INSERT INTO file_parts (file_id, place, data) VALUES (:id, :place, :data)"
    tx.execute(sql, id=file_id, place=place, data=data)


def finish(tx: Transaction, file_id: str, size: int, now: int) -> None:
    """Complete an upload, which waits for its request from now on."""
    tx.execute(FINISH, id=file_id, size=size, expires_at=now + LOOSE_FOR)


def attach(tx: Transaction, app_id: str, file_id: str) -> bool:
    """Keep a file for a request; return False if the application has no complete one of this id."""
    return tx.execute(ATTACH, id=file_id, app_id=app_id) == 1


def release(tx: Transaction, file_id: str | None, at: int) -> None:
    """Set when a file expires, unless a request or a receipt still needs it.

    Money may still arrive for deleted requests with this file, so it is kept for them too.
    """
    if file_id is not None:
        deleted_at = tx.query(LAST_DELETION, id=file_id)[0]["at"]
        until = at if deleted_at is None else max(at, deleted_at + AFTER_DELETION)
        tx.execute(RELEASE, id=file_id, at=until)


def expire(tx: Transaction, file_id: str, now: int) -> None:
    """Mark a file that was never complete as expired."""
    tx.execute("UPDATE files SET expires_at = :now WHERE id = :id", id=file_id, now=now)


def find(tx: Transaction, file_id: str) -> StoredFile | None:
    """Return a complete file, None if there is none."""
    sql = f"SELECT {COLUMNS} FROM files WHERE id = :id AND complete = 1"  # noqa: S608 - our own words
    row = tx.one(sql, id=file_id)
    return _file(row) if row else None


def find_of_app(tx: Transaction, app_id: str, file_id: str) -> StoredFile | None:
    """Return a complete file of an application, None if it has none of this id."""
    row = tx.one(OF_APP, id=file_id, app_id=app_id)
    return _file(row) if row else None


async def read_of_app(db: Database, app_id: str, file_id: str) -> StoredFile | None:
    """Return what `find_of_app` does, without waiting for the writer."""
    return await db.read(lambda tx: find_of_app(tx, app_id, file_id))


async def read_of_requests(db: Database, request_ids: Iterable[str]) -> dict[str, StoredFile]:
    """Return the files that these requests deliver, by the ids of the requests."""
    found = {}
    for request_id in request_ids:
        sql = (
            f"SELECT {COLUMNS} FROM files"  # noqa: S608 - our own words
            " WHERE id = (SELECT delivery_file FROM payment_requests WHERE id = :id)"
        )
        row = await db.one(sql, id=request_id)
        if row:
            found[request_id] = _file(row)
    return found


async def read_slice(db: Database, file_id: str, start: int, end: int) -> bytes:
    """Return bytes of one part from `start`, up to `end` and at most SLICE of them."""
    place, offset = divmod(start, PART)
    length = min(SLICE, PART - offset, end - start)
    # A place of SUBSTR counts from 1.
    sql = (
        "SELECT SUBSTR(data, CAST(:first AS INTEGER), CAST(:length AS INTEGER)) AS data"
        " FROM file_parts WHERE file_id = :id AND place = :place"
    )
    rows = await db.query(sql, id=file_id, place=place, first=offset + 1, length=length)
    if not rows or len(rows[0]["data"]) != length:
        raise LookupError(f"file {file_id} has no bytes from {start} on")
    return bytes(rows[0]["data"])


def sweep(tx: Transaction, now: int) -> bool:
    """Delete some parts of one expired file; return whether there was one."""
    tx.execute(KEEP_NEEDED, now=now)
    row = tx.one(NEXT_EXPIRED, now=now)
    if row is None:
        return False
    if not tx.execute(DELETE_PARTS, id=row["id"], most=DELETED_AT_ONCE):
        tx.execute("DELETE FROM files WHERE id = :id", id=row["id"])
    return True


def _file(row: Row) -> StoredFile:
    return StoredFile(row["id"], row["name"], row["media_type"], row["size"])
