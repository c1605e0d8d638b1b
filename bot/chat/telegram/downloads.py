"""Files that people sent, fetched from the Bot API server: over HTTP, and never more than wished.

python-telegram-bot's own download reads a `file_path` that names a file of this machine from its
disk, as a server beside it answers in local mode. Here a path is only ever a part of an address.
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
"""What the library raises at an answer that has not the shape of Telegram's."""


class TooManyBytes(Refused):
    """A file is larger than it may be."""

    default = "The file is too large."


class Downloads:
    """Fetches files from `{root}/file/bot{token}/{path}`."""

    def __init__(self, bot: Bot, root: str, now: Callable[[], int]) -> None:
        self._bot = bot
        self._now = now
        self._base = f"{root}/file/bot{bot.token}/"
        self._http = httpx.AsyncClient(
            timeout=READ_SECONDS,
            limits=httpx.Limits(max_connections=CONNECTIONS),
            verify=http_client.ssl_context(),
            trust_env=http_client.may_use_proxy(root),
            headers={"Accept-Encoding": "identity"},  # what is counted is what comes
        )

    async def fetch(self, file_id: str, most: int) -> bytearray:
        """Return the bytes of a file.

        Raises TelegramError where Telegram refuses, PeerError where it can't be reached or answers
        something else, Refused where it hands out no such file, or one of more than `most` bytes.
        """
        file = await self._described(file_id)
        if isinstance(file.file_size, int) and file.file_size > most:
            raise TooManyBytes
        return await self._download(self._base + relative_path(file, self._bot), most)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _described(self, file_id: str) -> File:
        try:
            return await self._bot.get_file(file_id)
        except TelegramError:
            raise
        except UNREADABLE as error:
            raise Refused(f"getFile's answer can't be read: {type(error).__name__}") from None

    async def _download(self, url: str, most: int) -> bytearray:
        data = bytearray()
        try:
            async with self._http.stream("GET", url) as response:
                self._judge(response)
                async for chunk in response.aiter_raw():
                    data += chunk
                    if len(data) > most:
                        raise TooManyBytes
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unreachable(type(error).__name__) from None  # its words hold the token
        return data

    def _judge(self, response: httpx.Response) -> None:
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

    Raises Refused for everything else that a server may name: a file of this machine, a path that
    leads up, an address elsewhere, nothing.
    """
    given = file.file_path
    path = given.removeprefix(f"{bot.base_file_url}/") if isinstance(given, str) else ""
    odd = any(part in {"", ".", ".."} for part in path.split("/"))
    if odd or not path.isprintable() or ":" in path or "\\" in path:
        raise Refused("its file_path is not one below the bot's files")
    return quote(path)
