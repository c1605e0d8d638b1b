"""Files that sellers send for their buyers: downloaded from Telegram, kept by the service.

The service deletes a file that no request names within a week, so an attempt may be repeated.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import structlog
from telegram.error import BadRequest, Forbidden, InvalidToken, RetryAfter, TelegramError

from bot.chat.fields.goods_text import CodeList, is_code_file, read_code_file
from bot.chat.forms.goods_form import Fetched
from bot.chat.model.goods import FILE, MAX_CODE, MAX_CODES, MAX_FILE, Goods
from bot.chat.model.payout import owner_ref
from bot.chat.telegram.failures import describe_error, retry_after_ms
from bot.core.errors import PeerError, PictureError, Refused, TooManyFiles, requested_wait
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import RetryTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.dialogue.dialogue import Chat
    from bot.chat.messages.payloads import FileDownload
    from bot.chat.messages.queues import Queues
    from bot.chat.messages.reply import Problem
    from bot.chat.provider.client import Client
    from bot.chat.provider.goods_calls import StoredFile
    from bot.chat.telegram.photo_intake import Downloads
    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.outbox import Message

log = structlog.get_logger()

FETCH_SECONDS = 150.0
"""The limit of one attempt, less than its lease."""

MOST_CODE_BYTES = 2 * MAX_CODES * MAX_CODE
"""A larger file is not read as a list of codes."""

RETRIES = RetryTable((1_000, 3_000, 10_000, 30_000), longest_asked=3600 * 1000)
"""Milliseconds until the next attempt; after the last one the seller is asked to send it again."""

FINAL = (BadRequest, Forbidden, InvalidToken, Refused)
"""Refusals that another attempt would not change."""

TOO_LARGE, UNREACHABLE, REFUSED, FULL = (
    "problem-goods-too-large",
    "problem-goods-unreachable",
    "problem-goods-refused",
    "problem-goods-full",
)
"""The texts about a file that could not be fetched or kept."""


@dataclass(frozen=True, slots=True)
class FileRoute:
    """Where files come from, and the service that keeps them."""

    downloads: Downloads
    service: Client


class FileIntake:
    """Takes files along a route, and continues their forms in `chat`."""

    def __init__(
        self, db: Database, route: FileRoute, queues: Queues, now: Callable[[], int], chat: Chat
    ) -> None:
        self._db = db
        self._route = route
        self._queues = queues
        self._now = now
        self._chat = chat

    async def take(self, message: Message) -> None:
        """Fetch one file and continue its form."""
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                found = await self._fetch(message)
        except PictureError:
            found = Fetched(problem=TOO_LARGE)
        except (TelegramError, PeerError, Refused, TimeoutError) as error:
            delay = _delay(error, message.attempts)
            log.warning("file not fetched", chat=message.lane, reason=_reason(error))
            if delay is not None:
                retry = partial(self._retry, message=message, due_at=self._now() + delay)
                await self._db.transaction_until_stored(retry)
                return
            found = Fetched(problem=_problem(error))
        finish = partial(self._finish, message=message, found=found)
        await self._db.transaction_until_stored(finish)

    def buried(self, tx: Transaction, message: Message) -> None:
        """Ask the seller to send a file again that was set aside."""
        self._chat.receive_file(tx, message, Fetched(problem=UNREACHABLE))

    async def _fetch(self, message: Message) -> Fetched:
        wanted, service = message.body, self._route.service.keyed(message.id)
        data = await self._route.downloads.fetch(wanted.file.file_id, MAX_FILE)
        codes = await self._codes_in(wanted, data)
        if wanted.for_codes:
            return Fetched(codes=codes)
        whole = await _keep(service, wanted, data)
        readings: tuple[Goods, ...] = (whole,)
        if isinstance(codes, CodeList):
            readings = (whole, await _keep_codes(service, wanted, codes, whole, data))
        return Fetched(readings, codes, has_words=wanted.file.has_words)

    async def _codes_in(self, wanted: FileDownload, data: bytearray) -> CodeList | Problem | None:
        """Read the codes in a file, in a thread; None for one that is no list of codes."""
        name = wanted.file.name
        if not is_code_file(name) or len(data) > MOST_CODE_BYTES:
            return None
        return await asyncio.to_thread(read_code_file, name, bytes(data))

    def _retry(self, tx: Transaction, message: Message, due_at: int) -> None:
        outbox.retry(tx, self._queues.files, message, due_at, "its file did not come")

    def _finish(self, tx: Transaction, message: Message, found: Fetched) -> None:
        if outbox.done(tx, self._queues.files, message, self._now()):
            self._chat.receive_file(tx, message, found)


async def _keep(service: Client, wanted: FileDownload, data: bytes | bytearray) -> Goods:
    file = wanted.file
    owner = owner_ref(wanted.seller_id)
    kept = await service.keep_file(owner, file.name, file.media_type, data)
    return _goods_of(wanted, kept)


async def _keep_codes(
    service: Client, wanted: FileDownload, codes: CodeList, whole: Goods, data: bytearray
) -> Goods:
    """Return a file as codes: kept once more where the service would read it otherwise."""
    clean, file_id = codes.text.encode(), whole.file_id
    if clean != bytes(data):
        owner, name = owner_ref(wanted.seller_id), wanted.file.name
        kept = await service.keep_file(owner, name, "text/plain", clean)
        file_id = kept.id
    return replace(codes.as_goods(), file_id=file_id, name=whole.name)


def _goods_of(wanted: FileDownload, kept: StoredFile) -> Goods:
    return Goods(
        FILE,
        file_id=kept.id,
        name=kept.name,
        size=kept.size,
        telegram_id=wanted.file.file_id,
        sent_as=wanted.file.sent_as,
    )


def _problem(error: Exception) -> str:
    if isinstance(error, TooManyFiles):
        return FULL
    return REFUSED if isinstance(error, Refused) else UNREACHABLE


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return describe_error(error) if isinstance(error, TelegramError) else str(error)


def _delay(error: Exception, attempts: int) -> int | None:
    """Return the milliseconds until the next attempt, None for no further one."""
    if isinstance(error, FINAL):
        return None
    asked = retry_after_ms(error) / 1000 if isinstance(error, RetryAfter) else requested_wait(error)
    return RETRIES.delay(attempts, asked)
