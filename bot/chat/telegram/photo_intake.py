"""Sellers' photos: downloaded from Telegram, checked, reduced and stored."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import structlog
from telegram.error import BadRequest, Forbidden, InvalidToken, RetryAfter, TelegramError

from bot.chat.dialogue import form_effects
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
from bot.core.outbox.retry_table import RetryTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.messages.queues import Queues
    from bot.chat.telegram.downloads import Downloads
    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.outbox import Message

log = structlog.get_logger()

MAX_BYTES = 10_000_000
"""The limit of sendPhoto: no larger photo exists, and no larger file is accepted."""

AT_ONCE = 2
"""Photos in memory: one is reduced at a time, while another one is downloaded."""

DOWNLOAD_SECONDS = 40.0
"""The limit of one download; less than its lease."""

RETRIES = RetryTable((1_000, 3_000, 10_000, 30_000), longest_asked=24 * 3600 * 1000)
"""Milliseconds until the next attempt; after the last one the seller is asked to send it again.

While this machine can start no process, which is not the photo's fault, the last delay repeats."""

TOO_BIG = "file is too big"
"""Telegram's answer about a file of more than the 20 MB that bots may download."""

FINAL = (BadRequest, Forbidden, InvalidToken, Refused)
"""Refusals that another attempt would not change."""

UNREACHABLE, TOO_LARGE, TOO_HEAVY = "unreachable", "tooLarge", "tooHeavy"
"""Reasons why there is no photo, beside those of PictureError."""


class PhotoIntake:
    """Downloads photos and continues their forms."""

    def __init__(
        self, db: Database, downloads: Downloads, queues: Queues, now: Callable[[], int]
    ) -> None:
        self._db = db
        self._downloads = downloads
        self._child = BoundedChild(decoder_process.MODULE, PICTURE_BUDGET)
        self._queues = queues
        self._now = now

    async def take(self, message: Message) -> None:
        """Download one photo, prepare it and continue its form."""
        photo: bytes | str
        try:
            async with asyncio.timeout(DOWNLOAD_SECONDS):
                data = await self._fetch(message.body.file_id)
            photo = decoder_process.read_answer(await self._child.run(data))
        except PictureError as error:
            photo = error.reason
        except OverBudget as error:
            log.warning("photo refused", chat=message.lane, reason=str(error))
            photo = TOO_HEAVY
        except (TelegramError, PeerError, Refused, StorageError, TimeoutError) as error:
            reason, delay = _reason(error), _delay(error, message.attempts)
            log.warning("photo not fetched", chat=message.lane, reason=reason)
            if delay is not None:
                retry = partial(self._retry, message=message, delay=delay, note=reason)
                await self._db.transaction_until_stored(retry)
                return
            photo = UNREACHABLE
        await self._db.transaction_until_stored(partial(self._finish, message=message, photo=photo))

    def buried(self, tx: Transaction, message: Message) -> None:
        """Ask the seller for another photo in place of one that was set aside."""
        form_effects.receive_photo(tx, self._queues, message, TOO_HEAVY, self._now())

    async def _fetch(self, file_id: str) -> bytearray:
        """Return a file's bytes. Raises PictureError for too many, and the errors of a download."""
        try:
            return await self._downloads.fetch(file_id, MAX_BYTES)
        except TooManyBytes as error:
            raise PictureError(TOO_LARGE, error.message) from None
        except BadRequest as error:
            if TOO_BIG in error.message.lower():
                raise PictureError(TOO_LARGE, error.message) from None
            raise

    def _retry(self, tx: Transaction, message: Message, delay: int, note: str) -> None:
        outbox.retry(tx, self._queues.photos, message, self._now() + delay, note)

    def _finish(self, tx: Transaction, message: Message, photo: bytes | str) -> None:
        if outbox.done(tx, self._queues.photos, message, self._now()):
            form_effects.receive_photo(tx, self._queues, message, photo, self._now())


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return describe_error(error) if isinstance(error, TelegramError) else str(error)


def _delay(error: Exception, attempts: int) -> int | None:
    """Return the milliseconds until the next attempt, None for no further one."""
    if isinstance(error, StorageError):  # no child process can be started
        return RETRIES.delay_or_last(attempts)
    if isinstance(error, FINAL):
        return None
    asked = retry_after_ms(error) / 1000 if isinstance(error, RetryAfter) else requested_wait(error)
    return RETRIES.delay(attempts, asked)
