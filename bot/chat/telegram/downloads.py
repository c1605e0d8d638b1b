"""Downloads of files that people sent, over HTTP and with a limit of bytes.

Where the Bot API server answers a `file_path` on this machine, as it does in local mode, the
library's own download reads it from the disk. Here a path is only used as part of an address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx
from telegram.error import TelegramError

from bot.core.errors import BadAnswer, Overloaded, Refused, Unreachable
from bot.core.net import http_client
from bot.core.net.retry_after import read_retry_after

if TYPE_CHECKING:
    from collections.abc import Callable

    from telegram import Bot, File

CONNECTIONS = 2
READ_SECONDS = 20.0
TOO_MANY = 429

UNREADABLE = (AttributeError, KeyError, TypeError, ValueError)
"""The errors that the library raises at an answer in another shape than Telegram's."""


class TooManyBytes(Refused):
    """A file is larger than it may be."""

    default = "The file is too large."


class Downloads:
    """Downloads files from `{root}/file/bot{token}/{path}`."""

    def __init__(self, bot: Bot, root: str, now: Callable[[], int]) -> None:
        self._bot = bot
        self._now = now
        self._base = f"{root}/file/bot{bot.token}/"
        self._http = httpx.AsyncClient(
            timeout=READ_SECONDS,
            limits=httpx.Limits(max_connections=CONNECTIONS),
            verify=http_client.ssl_context(),
            trust_env=http_client.may_use_proxy(root),
            headers={"Accept-Encoding": "identity"},  # the bytes counted are those received
        )

    async def fetch(self, file_id: str, max_bytes: int) -> bytearray:
        """Return the bytes of a file.

        Raises TelegramError where Telegram refuses, PeerError where it can't be reached or its
        answer is no file, Refused for an unknown file and for one of more than `max_bytes` bytes.
        """
        file = await self._get_file(file_id)
        if isinstance(file.file_size, int) and file.file_size > max_bytes:
            raise TooManyBytes
        return await self._download(self._base + relative_path(file, self._bot), max_bytes)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _get_file(self, file_id: str) -> File:
        try:
            return await self._bot.get_file(file_id)
        except TelegramError:
            raise
        except UNREADABLE as error:
            raise Refused(f"getFile's answer can't be read: {type(error).__name__}") from None

    async def _download(self, url: str, max_bytes: int) -> bytearray:
        data = bytearray()
        try:
            async with self._http.stream("GET", url) as response:
                self._check_status(response)
                async for chunk in response.aiter_raw():
                    data += chunk
                    if len(data) > max_bytes:
                        raise TooManyBytes
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unreachable(type(error).__name__) from None  # its text contains the token
        return data

    def _check_status(self, response: httpx.Response) -> None:
        status = response.status_code
        if response.is_success:
            return
        if status == TOO_MANY or response.is_server_error:
            wait = read_retry_after(response.headers.get("retry-after"), self._now())
            raise Overloaded(f"the download was answered {status}", wait)
        if response.is_client_error:
            raise Refused(f"the download was answered {status}")
        raise BadAnswer(f"the download was answered {status}")


def relative_path(file: File, bot: Bot) -> str:
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
