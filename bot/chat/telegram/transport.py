"""The transport of Bot API calls.

An accepted call is never repeated, even where the library can't read its answer: another server of
the Bot API may answer less than Telegram. So the transport keeps the answer.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import httpx
from telegram.error import NetworkError, TimedOut
from telegram.request import HTTPXRequest

from bot.core import exact_json
from bot.core.net import http_client
from bot.core.net.bounded_stream import MOST_READ
from bot.core.net.guarded_socket import GuardedDialler
from bot.core.net.post_client import PostClient
from bot.core.net.webhook_addresses import AllowList

if TYPE_CHECKING:
    from telegram.request import RequestData

CONNECT_SECONDS = 5.0
READ_SECONDS = 20.0

FORM = "application/x-www-form-urlencoded"

_answer: ContextVar[bytes] = ContextVar("answer", default=b"")


class Transport(HTTPXRequest):
    """A transport that keeps the last answer of each task, where the call succeeded.

    Calls without a file go over `PostClient`, at a quarter of the processor time, unless a proxy
    leads to the server. `connections` are httpx's at most.
    """

    def __init__(self, root: str, connections: int) -> None:
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        super().__init__(
            connection_pool_size=connections,
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            pool_timeout=READ_SECONDS,
            httpx_kwargs={
                "limits": limits,
                "verify": http_client.ssl_context(),
                "trust_env": http_client.may_use_proxy(root),
            },
        )
        self._posts = None if http_client.has_proxy(root) else _post_client(root)

    async def shutdown(self) -> None:
        await super().shutdown()
        if self._posts is not None:
            await self._posts.close()

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        *given: Any,
        **named: Any,
    ) -> tuple[int, bytes]:
        """Make one call, as the library's BaseRequest."""
        _answer.set(b"")
        if self._posts is None or request_data is None or request_data.contains_files:
            code, payload = await super().do_request(url, method, request_data, *given, **named)
        else:
            code, payload = await _post(self._posts, url, request_data)
        if httpx.codes.is_success(code):
            _answer.set(payload)
        return code, payload


def last_call_accepted() -> bool:
    """Return whether the last call of this task was answered 2xx with `ok` true."""
    try:
        data = exact_json.loads(_answer.get())
    except ValueError:
        return False
    return isinstance(data, dict) and data.get("ok") is True


def _post_client(root: str) -> PostClient:
    """Return a client that may reach the server, whatever its address is."""
    allow = AllowList(frozenset([urlsplit(root).hostname or ""]))
    headers = {"User-Agent": HTTPXRequest.USER_AGENT, "Content-Type": FORM}
    return PostClient(
        GuardedDialler(allow),
        http_client.ssl_context(),
        headers,
        seconds=CONNECT_SECONDS,
        longest=MOST_READ,
    )


async def _post(posts: PostClient, url: str, request_data: RequestData) -> tuple[int, bytes]:
    """Send a form; raise the library's errors, from those of httpx that `classify` knows."""
    body = urlencode(request_data.json_parameters).encode()
    limit = asyncio.timeout(READ_SECONDS)
    try:
        async with limit:
            reply = await posts.post(url, {}, body)
            return reply.status, await reply.read(READ_SECONDS)
    except TimeoutError:
        slow = httpx.ReadTimeout if limit.expired() else httpx.ConnectTimeout
        raise TimedOut from slow("")
    except httpx.HTTPError as error:
        raise NetworkError(f"{type(error).__name__}: {error}") from error
