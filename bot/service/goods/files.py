"""Files that requests deliver.

A file is stored and deleted in parts, with one transaction per part, so that payments never wait
for a whole file.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial

import structlog

from bot.core import errors
from bot.core.database import database
from bot.service.goods import contents
from bot.service.requests import applications, idempotency

PART = 256 * 1024
"""Bytes of a part."""

READ_SIZE = 32 * 1024
"""Bytes of a part that are read at once, and the memory that a slow download holds."""

MIB = 1024 * 1024
MOST_LOOSE, MOST_LOOSE_OF_SELLER = 1024 * MIB, 200 * MIB
"""Maximum bytes of files that no request delivers, per application and per seller."""

MOST_OF_SELLER = 2048 * MIB
"""Maximum bytes of all files of a seller."""

HOUR, DAY = 3_600_000, 24 * 3_600_000
UPLOADED_WITHIN = 2 * HOUR
"""Milliseconds after which an unfinished upload counts as aborted."""

LOOSE_FOR = 7 * DAY
"""Milliseconds that an uploaded file is kept without a request."""

AFTER_CORRECTION = DAY
"""Milliseconds that a bought file is kept after a correction, so that its downloads can finish."""

AFTER_DELETION = 180 * DAY
"""Milliseconds that a deleted request's file is kept, because money may still arrive."""

DELETED_AT_ONCE = 16
"""Parts deleted in one transaction. On SQLite, payments wait for the transaction."""

# A deleted request needs its file only if it had buyers.
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
# An attached file doesn't expire, and an incomplete file can't be attached. A concurrent edit that
# didn't know that the file is needed may have set it to expire.
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
    """A file that is about to be uploaded."""

    id: str
    app_id: str

    owner: str
    """The seller within the application, "" for the application itself."""

    name: str
    media_type: str

    size: int
    """Bytes, as announced."""


def begin(tx: database.Transaction, file: NewFile, now: int) -> None:
    """Store a file without parts. Raises TooManyFiles."""
    applications.lock(tx, file.app_id)  # two uploads can't use the same quota
    _check_held(tx, file, now)
    tx.execute(BEGIN, **asdict(file), expires_at=now + UPLOADED_WITHIN, now=now)


def _check_held(tx: database.Transaction, file: NewFile, now: int) -> None:
    soon = now + LOOSE_FOR
    (held,) = tx.query(HELD, app_id=file.app_id, owner=file.owner, soon=soon)
    if held["loose"] + file.size > MOST_LOOSE:
        raise errors.TooManyFiles(_full(MOST_LOOSE, "files that no payment request delivers"))
    if not file.owner:
        return
    if held["loose_of_seller"] + file.size > MOST_LOOSE_OF_SELLER:
        of = "a seller's files that no payment request delivers"
        raise errors.TooManyFiles(_full(MOST_LOOSE_OF_SELLER, of))
    if held["of_seller"] + file.size > MOST_OF_SELLER:
        raise errors.TooManyFiles(_full(MOST_OF_SELLER, "the files of a seller"))


def _full(most: int, of: str) -> str:
    return f"There is room for {most // MIB} MiB of {of}, and it is used up."


def add_part(tx: database.Transaction, file_id: str, place: int, data: bytes) -> None:
    """Store the part at a place, counted from 0. Each part but the last has PART bytes."""
    sql = "INSERT INTO file_parts (file_id, place, data) VALUES (:id, :place, :data)"
    tx.execute(sql, id=file_id, place=place, data=data)


def attach(tx: database.Transaction, app_id: str, file_id: str) -> bool:
    """Attach a file to a request; return False if the application has no such complete file."""
    return tx.execute(ATTACH, id=file_id, app_id=app_id) == 1


def release(tx: database.Transaction, file_id: str | None, at: int) -> None:
    """Set when a file expires, unless a request or a receipt still needs it.

    A deleted request also needs its file, because money may still arrive.
    """
    if file_id is not None:
        deleted_at = tx.query(LAST_DELETION, id=file_id)[0]["at"]
        until = at if deleted_at is None else max(at, deleted_at + AFTER_DELETION)
        tx.execute(RELEASE, id=file_id, at=until)


def find(tx: database.Transaction, file_id: str) -> contents.StoredFile | None:
    """Return a complete file, or None if there is no such file."""
    sql = f"SELECT {COLUMNS} FROM files WHERE id = :id AND complete = 1"  # noqa: S608 - our own words
    row = tx.one(sql, id=file_id)
    return _file(row) if row else None


def find_of_app(tx: database.Transaction, app_id: str, file_id: str) -> contents.StoredFile | None:
    """Return a complete file of an application, or None if it has no such file."""
    row = tx.one(OF_APP, id=file_id, app_id=app_id)
    return _file(row) if row else None


async def read_of_app(
    db: database.Database, app_id: str, file_id: str
) -> contents.StoredFile | None:
    """Return the same as `find_of_app`, without waiting for the writer."""
    return await db.read(lambda tx: find_of_app(tx, app_id, file_id))


async def read_of_requests(
    db: database.Database, request_ids: Iterable[str]
) -> dict[str, contents.StoredFile]:
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


async def read_slice(db: database.Database, file_id: str, start: int, end: int) -> bytes:
    """Return bytes of one part from `start` to `end`, at most READ_SIZE."""
    place, offset = divmod(start, PART)
    length = min(READ_SIZE, PART - offset, end - start)
    # SUBSTR counts from 1.
    sql = (
        "SELECT SUBSTR(data, CAST(:first AS INTEGER), CAST(:length AS INTEGER)) AS data"
        " FROM file_parts WHERE file_id = :id AND place = :place"
    )
    rows = await db.query(sql, id=file_id, place=place, first=offset + 1, length=length)
    if not rows or len(rows[0]["data"]) != length:
        raise LookupError(f"file {file_id} has no bytes from {start} on")
    return bytes(rows[0]["data"])


def sweep_part(tx: database.Transaction, now: int) -> bool:
    """Delete some parts of an expired file; return False if no file has expired."""
    tx.execute(KEEP_NEEDED, now=now)
    row = tx.one(NEXT_EXPIRED, now=now)
    if row is None:
        return False
    if not tx.execute(DELETE_PARTS, id=row["id"], most=DELETED_AT_ONCE):
        tx.execute("DELETE FROM files WHERE id = :id", id=row["id"])
    return True


def _file(row: database.Row) -> contents.StoredFile:
    return contents.StoredFile(row["id"], row["name"], row["media_type"], row["size"])


# Uploads: a file is stored part by part as it arrives, and deleted if the upload fails.

log = structlog.get_logger()

MOST_BYTES = 20 * 1024 * 1024
"""Bytes of a file that a Telegram bot can download (core.telegram.org/bots/api#getfile)."""

AT_ONCE = 4
"""Simultaneous uploads of an application. Each holds one part in memory."""

RETRY_SECONDS = 5

GONE = "The file that this Idempotency-Key stored is gone."
ABOUT = "uploads"
"""Subject of upload transactions, so that other transactions don't queue behind them."""


class UploadSlots:
    """The uploads in progress in this process, by application."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    @contextmanager
    def taken(self, app_id: str) -> Iterator[None]:
        """Count an upload while it lasts. Raises RateLimited beyond AT_ONCE."""
        before = self._taken.get(app_id, 0)
        if before >= AT_ONCE:
            raise errors.RateLimited(RETRY_SECONDS)
        self._taken[app_id] = before + 1
        try:
            yield
        finally:
            self._taken[app_id] -= 1
            if not self._taken[app_id]:
                del self._taken[app_id]


async def store_upload(
    db: database.Database,
    file: NewFile,
    parts: AsyncIterator[bytes],
    now: Callable[[], int],
    key: idempotency.CallKey | None = None,
) -> contents.StoredFile:
    """Store a file in parts of PART bytes, each in its own transaction.

    A repeated call with the same key returns the file that it stored. Raises TooManyFiles,
    InvalidBody for an empty file, IdempotencyMismatch, NotFound if a repeat's file is gone, and any
    error of `parts`. After an error no part remains. Parts stored by a killed process are deleted
    within hours.
    """
    content = hashlib.sha256() if key else None
    if key and content and await idempotency.is_known(db, key):
        async for part in parts:  # a repeat stores nothing, so it needs no quota
            content.update(part)
        made = await idempotency.read_made(db, key.with_content(content.hexdigest()))
        return await db.read(lambda tx: _earlier(tx, file.app_id, made or ""))
    await db.transaction(lambda tx: begin(tx, file, now()))
    try:
        size = await _store_parts(db, file.id, parts, content)
    except Exception:
        with suppress(errors.StorageError):
            await discard_upload(db, file.id, now())
        raise
    if key and content:
        key = key.with_content(content.hexdigest())
    new = contents.StoredFile(file.id, file.name, file.media_type, size)
    try:
        stored = await db.transaction(lambda tx: _finish(tx, file.app_id, new, now(), key))
    except errors.Refused:
        await discard_upload(db, file.id, now())
        raise
    if stored.id != file.id:
        await discard_upload(db, file.id, now())
        return stored
    log.info("file uploaded", application=file.app_id, file=file.id, bytes=size)
    return stored


def _earlier(tx: database.Transaction, app_id: str, file_id: str) -> contents.StoredFile:
    stored = find_of_app(tx, app_id, file_id)
    if stored is None:
        raise errors.NotFound(GONE)
    return stored


def _finish(
    tx: database.Transaction,
    app_id: str,
    new: contents.StoredFile,
    now: int,
    key: idempotency.CallKey | None,
) -> contents.StoredFile:
    """Complete a file, whose LOOSE_FOR starts now, or return the one stored under the same key."""

    def change() -> contents.StoredFile:
        tx.execute(FINISH, id=new.id, size=new.size, expires_at=now + LOOSE_FOR)
        return new

    return idempotency.once(tx, key, change, lambda made: _earlier(tx, app_id, made), made=new.id)


async def _store_parts(
    db: database.Database, file_id: str, parts: AsyncIterator[bytes], content: hashlib._Hash | None
) -> int:
    """Store the parts and update the digest `content`; return the total size."""
    size = 0
    async for part in parts:
        if content:
            content.update(part)
        place = size // PART
        add = partial(add_part, file_id=file_id, place=place, data=part)
        await db.bulk(add, about=ABOUT)
        size += len(part)
    if not size:
        raise errors.InvalidBody("The file is empty.")
    return size


async def discard_upload(db: database.Database, file_id: str, now: int) -> None:
    """Delete the stored parts of an incomplete file."""
    sql = "UPDATE files SET expires_at = :now WHERE id = :id"
    await db.transaction(lambda tx: tx.execute(sql, id=file_id, now=now))
    await sweep_files(db, now)


async def sweep_files(db: database.Database, now: int) -> None:
    """Delete expired files, a few parts in each transaction."""
    while await db.bulk(partial(sweep_part, now=now), about=ABOUT):
        pass


async def read_codes(db: database.Database, file: contents.StoredFile) -> tuple[str, ...]:
    """Return the codes that a file lists. Raises CodesProblem."""
    found, at = contents.CodeFile(), 0
    while at < file.size:
        data = await read_slice(db, file.id, at, file.size)
        found.feed(data)
        at += len(data)
    return found.finish()
