"""Sellers' photos out of their queue: fetched from Telegram, checked, made small, kept."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import structlog
from telegram.error import BadRequest, Forbidden, InvalidToken, RetryAfter, TelegramError

from bot.chat.dialogue import photos
from bot.chat.pictures import decoder_process
from bot.chat.telegram.downloads import TooManyBytes
from bot.chat.telegram.failures import describe_error, retry_after_ms
from bot.core.bounded_process import PICTURE_BUDGET, BoundedChild
from bot.core.errors import (
    OverBudget,
    PeerError,
    PictureError,
    Refused,
    StorageError,
    requested_wait,
)
from bot.core.outbox import outbox

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.messages.queues import Queues
    from bot.chat.telegram.downloads import Downloads
    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.outbox import Message

log = structlog.get_logger()

LARGEST = 10_000_000
"""Bytes, as sendPhoto takes at most: nothing larger comes as a photo, or is taken as a file."""

AT_ONCE = 2
"""Photos in memory: one that is made small, which happens one at a time, and one that comes."""

LONGEST = 40.0
"""Seconds for fetching one; less than its lease."""

BACKOFF = (1_000, 3_000, 10_000, 30_000)
"""Milliseconds until the next try; after the last one the seller is asked to send it again.

Where this machine can start no process, which is not the photo's fault, the last delay repeats."""

TOO_BIG = "file is too big"
"""Telegram's answer about a file of more than the 20 MB that bots may download."""

FINAL = (BadRequest, Forbidden, InvalidToken, Refused)
"""Refusals that another try won't change."""

UNREACHABLE, TOO_LARGE, TOO_HEAVY = "unreachable", "tooLarge", "tooHeavy"
"""Why there is no photo, beside the reasons that PictureError has of itself."""


class PhotoIntake:
    """Fetches photos and lets their forms go on."""

    def __init__(
        self, db: Database, downloads: Downloads, queues: Queues, now: Callable[[], int]
    ) -> None:
        self._db = db
        self._downloads = downloads
        self._child = BoundedChild(decoder_process.MODULE, PICTURE_BUDGET)
        self._queues = queues
        self._now = now

    async def take(self, message: Message) -> None:
        """Fetch one photo and settle what follows."""
        photo: bytes | str
        try:
            async with asyncio.timeout(LONGEST):
                data = await self._fetch(message.body.file_id)
            photo = decoder_process.read_answer(await self._child.run(data))
        except PictureError as error:
            photo = error.reason
        except OverBudget as error:
            log.warning("photo refused", chat=message.lane, reason=str(error))
            photo = TOO_HEAVY
        except (TelegramError, PeerError, Refused, StorageError, TimeoutError) as error:
            reason, wait = _reason(error), _wait(error, message.attempts)
            log.warning("photo not fetched", chat=message.lane, reason=reason)
            if wait is not None:
                await self._db.transaction_until_stored(partial(self._again, message, wait, reason))
                return
            photo = UNREACHABLE
        await self._db.transaction_until_stored(
            partial(self._arrived, message=message, photo=photo)
        )

    def buried(self, tx: Transaction, message: Message) -> None:
        """Ask the seller for another photo in the place of one that was set aside."""
        photos.arrive(tx, self._queues, message, TOO_HEAVY, self._now())

    async def _fetch(self, file_id: str) -> bytearray:
        """Return a file's bytes; raises PictureError for too many, else what a download does."""
        try:
            return await self._downloads.fetch(file_id, LARGEST)
        except TooManyBytes as error:
            raise PictureError(TOO_LARGE, error.message) from None
        except BadRequest as error:
            if TOO_BIG in error.message.lower():
                raise PictureError(TOO_LARGE, error.message) from None
            raise

    def _again(self, message: Message, wait: int, note: str, tx: Transaction) -> None:
        outbox.retry(tx, self._queues.photos, message, self._now() + wait, note)

    def _arrived(self, tx: Transaction, message: Message, photo: bytes | str) -> None:
        if outbox.done(tx, self._queues.photos, message, self._now()):
            photos.arrive(tx, self._queues, message, photo, self._now())


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return describe_error(error) if isinstance(error, TelegramError) else str(error)


def _wait(error: Exception, attempts: int) -> int | None:
    """Return the milliseconds until the next try, None where there is to be none."""
    if isinstance(error, StorageError):  # no child process can be started
        return BACKOFF[min(attempts, len(BACKOFF)) - 1]
    if attempts > len(BACKOFF) or isinstance(error, FINAL):
        return None
    asked = retry_after_ms(error) if isinstance(error, RetryAfter) else requested_wait(error) * 1000
    return max(BACKOFF[attempts - 1], int(asked))
