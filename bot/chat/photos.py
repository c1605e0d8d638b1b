"""Sellers' photos out of their queue: fetched from Telegram, checked, made small, kept."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import structlog
from telegram.error import BadRequest, Forbidden, InvalidToken, RetryAfter, TelegramError

from bot.chat.refusals import told
from bot.chat.usecases import photos
from bot.core import handles, outbox
from bot.core.errors import PictureError

if TYPE_CHECKING:
    from collections.abc import Callable

    from telegram import Bot

    from bot.chat.queues import Queues
    from bot.core.db import Database, Transaction
    from bot.core.outbox import Message

log = structlog.get_logger()

LARGEST = 10_000_000
"""Bytes, as sendPhoto takes at most: nothing larger comes as a photo, or is taken as a file."""

LONGEST = 40.0
"""Seconds for fetching one; less than its lease."""

BACKOFF = (1_000, 3_000, 10_000, 30_000)
"""Milliseconds until the next try; after the last one the seller is asked to send it again."""

TOO_BIG = "file is too big"
"""Telegram's answer about a file of more than the 20 MB that bots may download."""

FINAL = (BadRequest, Forbidden, InvalidToken)
"""Refusals that another try won't change."""

UNREACHABLE = "unreachable"
"""Why there is no photo, beside the reasons of PictureError."""


class Photos:
    """Fetches photos and lets their forms go on."""

    def __init__(self, db: Database, bot: Bot, queues: Queues, now: Callable[[], int]) -> None:
        self._db = db
        self._bot = bot
        self._queues = queues
        self._now = now

    async def take(self, message: Message) -> None:
        """Fetch one photo and settle what follows; raises StorageError."""
        try:
            async with asyncio.timeout(LONGEST):
                data = await self._fetch(message.body["file"])
            # In a thread: a large one takes a second, and everybody else would wait for it.
            with handles.needed():
                photo: bytes | str = await asyncio.to_thread(_prepared, data)
        except PictureError as error:
            photo = error.reason
        except (TelegramError, TimeoutError) as error:
            reason = told(error) if isinstance(error, TelegramError) else "no answer in time"
            log.warning("photo not fetched", chat=message.lane, reason=reason)
            if (wait := _wait(error, message.attempts)) is not None:
                await self._db.insist(partial(self._again, message=message, wait=wait))
                return
            photo = UNREACHABLE
        await self._db.insist(partial(self._arrived, message=message, photo=photo))

    async def _fetch(self, file_id: str) -> bytes:
        """Give a file's bytes. Raises TelegramError, and PictureError for what is too large."""
        try:
            file = await self._bot.get_file(file_id)
        except BadRequest as error:
            if TOO_BIG in error.message.lower():
                raise PictureError("tooLarge", error.message) from None
            raise
        if (file.file_size or 0) > LARGEST:
            raise PictureError("tooLarge", f"{file.file_size} bytes")
        return bytes(await file.download_as_bytearray())

    def _again(self, tx: Transaction, message: Message, wait: int) -> None:
        note = "Telegram did not hand out the photo"
        outbox.retry(tx, self._queues.photos, message, self._now() + wait, note)

    def _arrived(self, tx: Transaction, message: Message, photo: bytes | str) -> None:
        if outbox.done(tx, self._queues.photos, message, self._now()):
            photos.arrive(tx, self._queues, message, photo, self._now())


def _prepared(data: bytes) -> bytes:
    """Check a photo and make it what is served; raises PictureError."""
    from bot.chat.pictures.photo import prepared  # noqa: PLC0415 - costs memory, seldom used

    return prepared(data)


def _wait(error: Exception, attempts: int) -> int | None:
    """Give the milliseconds until the next try, None where there is to be none."""
    if attempts > len(BACKOFF) or isinstance(error, FINAL):
        return None
    wait = BACKOFF[attempts - 1]
    if not isinstance(error, RetryAfter):
        return wait
    asked = error.retry_after
    seconds = asked if isinstance(asked, int) else asked.total_seconds()
    return max(wait, int(seconds * 1000))
