"""Uploads: a file is stored part by part as it arrives, and deleted if it does not arrive whole."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import structlog

from bot.core.errors import InvalidBody, NotFound, RateLimited, Refused, StorageError
from bot.service.goods import files
from bot.service.model.goods.code_lists import CodeFile
from bot.service.model.goods.delivered import StoredFile
from bot.service.store import idempotency

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from bot.core.database.database import Database, Transaction
    from bot.service.goods.files import NewFile
    from bot.service.store.idempotency import CallKey

log = structlog.get_logger()

MOST_BYTES = 20 * 1024 * 1024
"""Bytes of a file: what Telegram's bots can download (core.telegram.org/bots/api#getfile)."""

AT_ONCE = 4
"""Simultaneous uploads of an application, each with one part in memory."""

RETRY_SECONDS = 5

GONE = "The file that this Idempotency-Key stored is gone."
ABOUT = "uploads"
"""What transactions of uploads have in common: others don't wait behind them."""


class UploadSlots:
    """The uploads under way in this process, by application."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    @contextmanager
    def taken(self, app_id: str) -> Iterator[None]:
        """Count an upload while it lasts. Raises RateLimited beyond AT_ONCE."""
        before = self._taken.get(app_id, 0)
        if before >= AT_ONCE:
            raise RateLimited(RETRY_SECONDS)
        self._taken[app_id] = before + 1
        try:
            yield
        finally:
            self._taken[app_id] -= 1
            if not self._taken[app_id]:
                del self._taken[app_id]


async def store(
    db: Database,
    file: NewFile,
    parts: AsyncIterator[bytes],
    now: Callable[[], int],
    key: CallKey | None = None,
) -> StoredFile:
    """Store a file whose parts have files.PART bytes, each in a transaction of its own.

    A call repeated under its key is answered with the file that it stored. Raises TooManyFiles,
    InvalidBody for an empty file, IdempotencyMismatch, NotFound for a repeat whose file is gone,
    and what `parts` raises; then nothing of it stays. What is left by a process that was killed is
    deleted within hours.
    """
    content = hashlib.sha256() if key else None
    if key and content and await idempotency.is_known(db, key):
        async for part in parts:  # a repeat stores nothing, and so it needs no room
            content.update(part)
        return await _find_made(db, file.app_id, key.with_content(content.hexdigest()))
    await db.transaction(lambda tx: files.begin(tx, file, now()))
    try:
        size = await _store_parts(db, file.id, parts, content)
    except Exception:
        with suppress(StorageError):
            await discard(db, file.id, now())
        raise
    if key and content:
        key = key.with_content(content.hexdigest())
    new = StoredFile(file.id, file.name, file.media_type, size)
    try:
        stored = await db.transaction(lambda tx: _finish(tx, file.app_id, new, now(), key))
    except Refused:
        await discard(db, file.id, now())
        raise
    if stored.id != file.id:
        await discard(db, file.id, now())
        return stored
    log.info("file uploaded", application=file.app_id, file=file.id, bytes=size)
    return stored


async def _find_made(db: Database, app_id: str, key: CallKey) -> StoredFile:
    made = await idempotency.read_made(db, key)
    stored = await files.read_of_app(db, app_id, made) if made else None
    if stored is None:
        raise NotFound(GONE)
    return stored


def _finish(
    tx: Transaction, app_id: str, new: StoredFile, now: int, key: CallKey | None
) -> StoredFile:
    """Complete a file, or return the one that was stored under the same key."""

    def change() -> StoredFile:
        files.finish(tx, new.id, new.size, now)
        return new

    def again(made: str) -> StoredFile:
        earlier = files.find_of_app(tx, app_id, made)
        if earlier is None:
            raise NotFound(GONE)
        return earlier

    return idempotency.once(tx, key, change, again, made=new.id)


async def _store_parts(
    db: Database, file_id: str, parts: AsyncIterator[bytes], content: hashlib._Hash | None
) -> int:
    """Store the parts, and add them to the digest of their content; return their size."""
    size = 0
    async for part in parts:
        if content:
            content.update(part)
        place = size // files.PART
        add = partial(files.add_part, file_id=file_id, place=place, data=part)
        await db.bulk(add, about=ABOUT)
        size += len(part)
    if not size:
        raise InvalidBody("The file is empty.")
    return size


async def discard(db: Database, file_id: str, now: int) -> None:
    """Delete what was stored of a file that is not complete."""
    await db.transaction(lambda tx: files.expire(tx, file_id, now))
    await sweep(db, now)


async def sweep(db: Database, now: int) -> None:
    """Delete expired files, a few parts a transaction."""
    while await db.bulk(partial(files.sweep, now=now), about=ABOUT):
        pass


async def read_codes(db: Database, file: StoredFile) -> tuple[str, ...]:
    """Return the codes that a file lists. Raises CodesProblem."""
    found, at = CodeFile(), 0
    while at < file.size:
        data = await files.read_slice(db, file.id, at, file.size)
        found.feed(data)
        at += len(data)
    return found.finish()
