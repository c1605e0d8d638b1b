"""Downloads of files from sellers: photos, and files for buyers.

A Bot API server in local mode answers with a `file_path` on this machine, which the library's own
download would read from the disk. This module only uses a path as a part of an address.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote

import structlog
from telegram.constants import FileSizeLimit
from telegram.error import BadRequest, Forbidden, InvalidToken, RetryAfter, TelegramError

from bot.chat.conversation import conversation
from bot.chat.forms import goods_form
from bot.chat.model import payloads, payout, queues, replies, request_spec
from bot.chat.payments import client
from bot.chat.pictures import decoder_process
from bot.chat.telegram import transport
from bot.core import bounded_process, errors
from bot.core.database import database
from bot.core.net import http_client
from bot.core.outbox import outbox, queue_policy
from bot.interface import parts

if TYPE_CHECKING:
    from telegram import Bot, File


log = structlog.get_logger()

PHOTOS_AT_ONCE = 2
"""Photos in memory: one is downloaded while another is reduced."""

READ_SECONDS = 20.0

TOO_BIG = "file is too big"
"""Telegram's refusal of a file larger than 20 MB, the most that bots may download."""

PORTRAIT_SIDE = 320
"""Pixels of a portrait, as in pictures/photo_preparation.py, whose import takes memory. A smaller
profile photo is only used if Telegram has no larger size."""

PHOTO_UNREACHABLE, PHOTO_TOO_LARGE, TOO_HEAVY, NO_PROFILE = (
    "unreachable",
    "tooLarge",
    "tooHeavy",
    "noProfile",
)
"""Reasons why there is no photo, in addition to PictureError's reasons."""


class Downloads:
    """Downloads files from `{root}/file/bot{token}/{path}`."""

    def __init__(self, bot: Bot, root: str, now: Callable[[], int]) -> None:
        self._bot = bot
        self._now = now
        self._base = f"{root}/file/bot{bot.token}/"
        self._http = http_client.web_client(http_client.proxy_for(root))

    async def fetch(self, file_id: str, max_bytes: int) -> bytearray:
        """Return the bytes of a file.

        Raises PictureError if the file has more than `max_bytes` bytes, TelegramError if Telegram
        refuses, PeerError if Telegram can't be reached or its answer isn't a file, and Refused for
        an unknown file.
        """
        try:
            file = await self._bot.get_file(file_id)
        except transport.UNREADABLE as error:
            raise errors.Refused(
                f"getFile's answer can't be read: {type(error).__name__}"
            ) from None
        except BadRequest as error:
            if TOO_BIG in error.message.lower():
                raise _too_large() from None
            raise
        if isinstance(file.file_size, int) and file.file_size > max_bytes:
            raise _too_large()
        return await self._download(self._base + _relative_path(file, self._bot), max_bytes)

    async def profile_photo(self, user_id: int) -> str:
        """Return the file_id of a profile photo, in the smallest size that is large enough.

        Raises PictureError if Telegram shows none, TelegramError, and Refused.
        """
        try:
            found = await self._bot.get_user_profile_photos(user_id, limit=1)
            sizes = sorted(found.photos[0], key=lambda size: size.width) if found.photos else []
        except transport.UNREADABLE as error:
            name = type(error).__name__
            raise errors.Refused(f"getUserProfilePhotos's answer can't be read: {name}") from None
        if not sizes:
            raise errors.PictureError(NO_PROFILE, "Telegram shows no profile photo.")
        large = (size for size in sizes if size.width >= PORTRAIT_SIDE)
        return next(large, sizes[-1]).file_id

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    async def _download(self, url: str, max_bytes: int) -> bytearray:
        data = bytearray()
        try:
            async with await self._http.send("GET", url, {}, seconds=READ_SECONDS) as answer:
                self._check_status(answer)
                async for chunk in answer.chunks():
                    data += chunk
                    if len(data) > max_bytes:
                        raise _too_large()
        except errors.Unreachable as error:  # its text may contain the token
            raise errors.Unreachable(http_client.kind_of(error)) from None
        return data

    def _check_status(self, answer: http_client.Answer) -> None:
        status = answer.status
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return
        is_server_error = status >= HTTPStatus.INTERNAL_SERVER_ERROR
        if status == HTTPStatus.TOO_MANY_REQUESTS or is_server_error:
            wait = http_client.read_retry_after(answer.headers.get("retry-after"), self._now())
            raise errors.Overloaded(f"the download was answered {status}", wait)
        kind = errors.Refused if status >= HTTPStatus.BAD_REQUEST else errors.BadAnswer
        raise kind(f"the download was answered {status}")


def _too_large() -> errors.PictureError:
    return errors.PictureError(PHOTO_TOO_LARGE, "The file is too large.")


def _relative_path(file: File, bot: Bot) -> str:
    """Return the path below the root of a bot's files, quoted.

    Raises Refused for any other `file_path`: a missing path, a file of this machine, a path that
    leads up, or another address.
    """
    given = file.file_path
    path = given.removeprefix(f"{bot.base_file_url}/") if isinstance(given, str) else ""
    is_odd = any(part in {"", ".", ".."} for part in path.split("/"))
    if is_odd or not path.isprintable() or ":" in path or "\\" in path:
        raise errors.Refused("its file_path is not one below the bot's files")
    return quote(path)


FINAL = (BadRequest, Forbidden, InvalidToken, errors.Refused)
"""Refusals for which another attempt is useless."""


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return transport.describe_error(error) if isinstance(error, TelegramError) else str(error)


def _delay(retries: queue_policy.RetryTable, error: Exception, attempts: int) -> int | None:
    """Return the milliseconds until the next attempt; None after the last attempt.

    The last delay repeats while this machine can't start a process, which isn't the photo's fault.
    """
    if isinstance(error, errors.StorageError):
        return retries.delay_or_last(attempts)
    if isinstance(error, FINAL):
        return None
    asked = (
        transport.retry_after_ms(error) / 1000
        if isinstance(error, RetryAfter)
        else errors.requested_wait(error)
    )
    return retries.delay(attempts, asked)


# Photos: prepared in a separate process, and stored.


MAX_PHOTO_BYTES = FileSizeLimit.PHOTOSIZE_UPLOAD
"""The limit of sendPhoto: photos are never larger, and a larger file isn't accepted as a photo."""

PHOTO_SECONDS = 40.0
"""Time limit of one download; less than its lease."""

PHOTO_RETRIES = queue_policy.RetryTable(
    (1_000, 3_000, 10_000, 30_000), longest_asked=24 * 3600 * 1000
)
"""Delays between attempts; after the last attempt, the seller is asked to send the photo again."""


class PhotoIntake:
    """Downloads photos and continues their forms in `chat`."""

    def __init__(
        self,
        db: database.Database,
        downloads: Downloads,
        queues: queues.Queues,
        now: Callable[[], int],
        chat: conversation.Chat,
    ) -> None:
        self._db = db
        self._downloads = downloads
        self._child = bounded_process.BoundedChild(
            decoder_process.MODULE, bounded_process.PICTURE_BUDGET
        )
        self._queues = queues
        self._now = now
        self._chat = chat

    async def take(self, message: outbox.Message) -> None:
        """Download one photo, prepare it and continue its form."""
        wanted: payloads.PhotoDownload = message.body
        photo: bytes | str
        try:
            async with asyncio.timeout(PHOTO_SECONDS):
                file_id = wanted.file_id or await self._downloads.profile_photo(wanted.seller_id)
                data = await self._downloads.fetch(file_id, MAX_PHOTO_BYTES)
            words = (decoder_process.PORTRAIT,) if wanted.portrait else ()
            photo = decoder_process.read_answer(await self._child.run(data, *words))
        except errors.PictureError as error:
            photo = error.reason
        except errors.OverBudget as error:
            log.warning("photo refused", chat=message.lane, reason=str(error))
            photo = TOO_HEAVY
        except (
            TelegramError,
            errors.PeerError,
            errors.Refused,
            errors.StorageError,
            TimeoutError,
        ) as error:
            reason, delay = _reason(error), _delay(PHOTO_RETRIES, error, message.attempts)
            log.warning("photo not fetched", chat=message.lane, reason=reason)
            if delay is not None:
                retry = partial(self._retry, message=message, delay=delay, note=reason)
                await self._db.transaction_until_stored(retry)
                return
            photo = PHOTO_UNREACHABLE
        await self._db.transaction_until_stored(partial(self._finish, message=message, photo=photo))

    def on_dead_letter(self, tx: database.Transaction, message: outbox.Message) -> None:
        """Ask the seller for another photo after a download became a dead letter."""
        self._chat.receive_photo(tx, message, TOO_HEAVY)

    def _retry(
        self, tx: database.Transaction, message: outbox.Message, delay: int, note: str
    ) -> None:
        outbox.retry(tx, self._queues.photos, message, self._now() + delay, note)

    def _finish(
        self, tx: database.Transaction, message: outbox.Message, photo: bytes | str
    ) -> None:
        if outbox.done(tx, self._queues.photos, message, self._now()):
            self._chat.receive_photo(tx, message, photo)


# Files for buyers, kept by the service. An attempt may be repeated, because the service deletes a
# file if no request names it within a week.


FILE_SECONDS = 150.0
"""Time limit of one attempt; less than its lease."""

MOST_CODE_BYTES = 2 * parts.MOST_CODES * parts.LONGEST_CODE
"""A larger file is not parsed as a list of codes."""

FILE_RETRIES = queue_policy.RetryTable((1_000, 3_000, 10_000, 30_000), longest_asked=3600 * 1000)
"""Delays between attempts; after the last attempt, the seller is asked to send the file again."""

FILE_TOO_LARGE, FILE_UNREACHABLE, FILE_REFUSED, STORAGE_FULL = (
    "problem-goods-too-large",
    "problem-goods-unreachable",
    "problem-goods-refused",
    "problem-goods-full",
)
"""The text keys for a file that could not be fetched or kept."""


@dataclass(frozen=True, slots=True)
class FileRoute:
    """The source of files, and the service that keeps them."""

    downloads: Downloads
    service: client.Client


class FileIntake:
    """Downloads files along a route, and continues their forms in `chat`."""

    def __init__(
        self,
        db: database.Database,
        route: FileRoute,
        queues: queues.Queues,
        now: Callable[[], int],
        chat: conversation.Chat,
    ) -> None:
        self._db = db
        self._route = route
        self._queues = queues
        self._now = now
        self._chat = chat

    async def take(self, message: outbox.Message) -> None:
        """Fetch one file and continue its form."""
        try:
            async with asyncio.timeout(FILE_SECONDS):
                found = await self._fetch(message)
        except errors.PictureError:
            found = goods_form.Fetched(problem=FILE_TOO_LARGE)
        except (TelegramError, errors.PeerError, errors.Refused, TimeoutError) as error:
            delay = _delay(FILE_RETRIES, error, message.attempts)
            log.warning("file not fetched", chat=message.lane, reason=_reason(error))
            if delay is not None:
                retry = partial(self._retry, message=message, due_at=self._now() + delay)
                await self._db.transaction_until_stored(retry)
                return
            problem = FILE_REFUSED if isinstance(error, errors.Refused) else FILE_UNREACHABLE
            problem = STORAGE_FULL if isinstance(error, errors.TooManyFiles) else problem
            found = goods_form.Fetched(problem=problem)
        finish = partial(self._finish, message=message, found=found)
        await self._db.transaction_until_stored(finish)

    def on_dead_letter(self, tx: database.Transaction, message: outbox.Message) -> None:
        """Ask the seller to send a file again after its download became a dead letter."""
        self._chat.receive_file(tx, message, goods_form.Fetched(problem=FILE_UNREACHABLE))

    async def _fetch(self, message: outbox.Message) -> goods_form.Fetched:
        wanted: payloads.FileDownload = message.body
        service, file = self._route.service.keyed(message.id), wanted.file
        data = await self._route.downloads.fetch(file.file_id, request_spec.MAX_FILE)
        codes: goods_form.CodeList | replies.Problem | None = None
        if goods_form.is_code_file(file.name) and len(data) <= MOST_CODE_BYTES:
            codes = await asyncio.to_thread(goods_form.read_code_file, file.name, bytes(data))
        if wanted.for_codes:
            return goods_form.Fetched(codes=codes)
        whole = await _keep(service, wanted, data)
        readings: tuple[request_spec.Goods, ...] = (whole,)
        if isinstance(codes, goods_form.CodeList):
            readings = (whole, await _keep_codes(service, wanted, codes, whole, data))
        return goods_form.Fetched(readings, codes, has_words=file.has_words)

    def _retry(self, tx: database.Transaction, message: outbox.Message, due_at: int) -> None:
        outbox.retry(tx, self._queues.files, message, due_at, "its file did not come")

    def _finish(
        self, tx: database.Transaction, message: outbox.Message, found: goods_form.Fetched
    ) -> None:
        if outbox.done(tx, self._queues.files, message, self._now()):
            self._chat.receive_file(tx, message, found)


async def _keep(
    service: client.Client, wanted: payloads.FileDownload, data: bytes | bytearray
) -> request_spec.Goods:
    file = wanted.file
    owner = payout.owner_ref(wanted.seller_id)
    kept = await service.keep_file(owner, file.name, file.media_type, data)
    return request_spec.Goods(
        request_spec.FILE,
        file_id=kept.id,
        name=kept.name,
        size=kept.size,
        telegram_id=file.file_id,
        sent_as=file.sent_as,
    )


async def _keep_codes(
    service: client.Client,
    wanted: payloads.FileDownload,
    codes: goods_form.CodeList,
    whole: request_spec.Goods,
    data: bytearray,
) -> request_spec.Goods:
    """Return a file as codes; if their text differs from the file, keep it as another file."""
    clean, file_id = codes.text.encode(), whole.file_id
    if clean != bytes(data):
        owner, name = payout.owner_ref(wanted.seller_id), wanted.file.name
        kept = await service.keep_file(owner, name, "text/plain", clean)
        file_id = kept.id
    return replace(codes.as_goods(), file_id=file_id, name=whole.name)
