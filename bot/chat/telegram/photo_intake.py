"""Sellers' photos: downloaded from Telegram, checked, reduced and stored.

Where the Bot API server answers a `file_path` on this machine, as it does in local mode, the
library's own download reads it from the disk. Here a path is only used as part of an address.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx
import structlog
from telegram.error import BadRequest, Forbidden, InvalidToken, RetryAfter, TelegramError

from bot.chat.messages.queues import FILES_AT_ONCE
from bot.chat.pictures import decoder_process
from bot.chat.telegram.failures import describe_error, retry_after_ms
from bot.core.bounded_process import PICTURE_BUDGET, BoundedChild
from bot.core.errors import (
    BadAnswer,
    OverBudget,
    Overloaded,
    PeerError,
    PictureError,
    Refused,
    StorageError,
    Unreachable,
    requested_wait,
)
from bot.core.net import http_client
from bot.core.net.http_client import read_retry_after
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import RetryTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from telegram import Bot, File

    from bot.chat.dialogue.dialogue import Chat
    from bot.chat.messages.payloads import PhotoDownload
    from bot.chat.messages.queues import Queues
    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.outbox import Message

log = structlog.get_logger()

MAX_BYTES = 10_000_000
"""The limit of sendPhoto: no larger photo exists, and no larger file is accepted."""

AT_ONCE = 2
"""Photos in memory: one is reduced at a time, while another one is downloaded."""

READ_SECONDS = 20.0
DOWNLOAD_SECONDS = 40.0
"""The limit of one download; less than its lease."""

RETRIES = RetryTable((1_000, 3_000, 10_000, 30_000), longest_asked=24 * 3600 * 1000)
"""Milliseconds until the next attempt; after the last one the seller is asked to send it again.

While this machine can start no process, which is not the photo's fault, the last delay repeats."""

UNREADABLE = (AttributeError, KeyError, TypeError, ValueError)
"""The errors that the library raises at an answer in another shape than Telegram's."""

TOO_MANY_REQUESTS = 429
TOO_BIG = "file is too big"
"""Telegram's answer about a file of more than the 20 MB that bots may download."""

FINAL = (BadRequest, Forbidden, InvalidToken, Refused)
"""Refusals that another attempt would not change."""

PORTRAIT_SIDE = 320
"""Pixels of a portrait, as in pictures/photo_preparation.py, whose import costs memory. A smaller
profile photo is only used where Telegram has no larger one."""

UNREACHABLE, TOO_LARGE, TOO_HEAVY, NO_PROFILE = "unreachable", "tooLarge", "tooHeavy", "noProfile"
"""Reasons why there is no photo, beside those of PictureError."""


class Downloads:
    """Downloads files from `{root}/file/bot{token}/{path}`."""

    def __init__(self, bot: Bot, root: str, now: Callable[[], int]) -> None:
        self._bot = bot
        self._now = now
        self._base = f"{root}/file/bot{bot.token}/"
        self._http = httpx.AsyncClient(
            timeout=READ_SECONDS,
            limits=httpx.Limits(max_connections=AT_ONCE + FILES_AT_ONCE),
            verify=http_client.ssl_context(),
            trust_env=http_client.may_use_proxy(root),
            headers={"Accept-Encoding": "identity"},  # the bytes counted are those received
        )

    async def fetch(self, file_id: str, max_bytes: int) -> bytearray:
        """Return the bytes of a file.

        Raises PictureError for one of more than `max_bytes` bytes, TelegramError where Telegram
        refuses, PeerError where it can't be reached or its answer is no file, Refused for an
        unknown file.
        """
        try:
            file = await self._bot.get_file(file_id)
        except UNREADABLE as error:
            raise Refused(f"getFile's answer can't be read: {type(error).__name__}") from None
        except BadRequest as error:
            if TOO_BIG in error.message.lower():
                raise _too_large() from None
            raise
        if isinstance(file.file_size, int) and file.file_size > max_bytes:
            raise _too_large()
        return await self._download(self._base + _relative_path(file, self._bot), max_bytes)

    async def profile_photo(self, user_id: int) -> str:
        """Return the file_id of a person's profile photo, the smallest that is large enough.

        Raises PictureError where Telegram shows none, TelegramError, and Refused.
        """
        try:
            found = await self._bot.get_user_profile_photos(user_id, limit=1)
            sizes = sorted(found.photos[0], key=lambda size: size.width) if found.photos else []
        except UNREADABLE as error:
            name = type(error).__name__
            raise Refused(f"getUserProfilePhotos's answer can't be read: {name}") from None
        if not sizes:
            raise PictureError(NO_PROFILE, "Telegram shows no profile photo.")
        large = (size for size in sizes if size.width >= PORTRAIT_SIDE)
        return next(large, sizes[-1]).file_id

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _download(self, url: str, max_bytes: int) -> bytearray:
        data = bytearray()
        try:
            async with self._http.stream("GET", url) as response:
                self._check_status(response)
                async for chunk in response.aiter_raw():
                    data += chunk
                    if len(data) > max_bytes:
                        raise _too_large()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unreachable(type(error).__name__) from None  # its text contains the token
        return data

    def _check_status(self, response: httpx.Response) -> None:
        status = response.status_code
        if response.is_success:
            return
        if status == TOO_MANY_REQUESTS or response.is_server_error:
            wait = read_retry_after(response.headers.get("retry-after"), self._now())
            raise Overloaded(f"the download was answered {status}", wait)
        kind = Refused if response.is_client_error else BadAnswer
        raise kind(f"the download was answered {status}")


def _too_large() -> PictureError:
    return PictureError(TOO_LARGE, "The file is too large.")


def _relative_path(file: File, bot: Bot) -> str:
    """Return the path below the root of a bot's files, quoted.

    Raises Refused for any other `file_path`: a file of this machine, a path that leads up, another
    address, nothing.
    """
    given = file.file_path
    path = given.removeprefix(f"{bot.base_file_url}/") if isinstance(given, str) else ""
    is_odd = any(part in {"", ".", ".."} for part in path.split("/"))
    if is_odd or not path.isprintable() or ":" in path or "\\" in path:
        raise Refused("its file_path is not one below the bot's files")
    return quote(path)


class PhotoIntake:
    """Downloads photos and continues their forms in `chat`."""

    def __init__(
        self, db: Database, downloads: Downloads, queues: Queues, now: Callable[[], int], chat: Chat
    ) -> None:
        self._db = db
        self._downloads = downloads
        self._child = BoundedChild(decoder_process.MODULE, PICTURE_BUDGET)
        self._queues = queues
        self._now = now
        self._chat = chat

    async def take(self, message: Message) -> None:
        """Download one photo, prepare it and continue its form."""
        photo: bytes | str
        try:
            async with asyncio.timeout(DOWNLOAD_SECONDS):
                data = await self._fetch(message.body)
            words = (decoder_process.PORTRAIT,) if message.body.portrait else ()
            photo = decoder_process.read_answer(await self._child.run(data, *words))
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

    async def _fetch(self, wanted: PhotoDownload) -> bytearray:
        file_id = wanted.file_id or await self._downloads.profile_photo(wanted.seller_id)
        return await self._downloads.fetch(file_id, MAX_BYTES)

    def buried(self, tx: Transaction, message: Message) -> None:
        """Ask the seller for another photo in place of one that was set aside."""
        self._chat.receive_photo(tx, message, TOO_HEAVY)

    def _retry(self, tx: Transaction, message: Message, delay: int, note: str) -> None:
        outbox.retry(tx, self._queues.photos, message, self._now() + delay, note)

    def _finish(self, tx: Transaction, message: Message, photo: bytes | str) -> None:
        if outbox.done(tx, self._queues.photos, message, self._now()):
            self._chat.receive_photo(tx, message, photo)


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
