"""A client for posts to an ASGI application of this process: HTTP without a socket.

The application gets what a server would pass on, and its answer is taken in the same way. It runs
in a task of its own, so that nothing it does to its task reaches the caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import httpx
import structlog

if TYPE_CHECKING:
    Event: TypeAlias = MutableMapping[str, Any]
    App: TypeAlias = Callable[
        [Event, Callable[[], Awaitable[Event]], Callable[[Event], Awaitable[None]]],
        Awaitable[None],
    ]

log = structlog.get_logger()

CLIENT = ("127.0.0.1", 0)
"""The address from which the application sees the posts come."""

SERVER_ERROR = 500


@lru_cache(maxsize=256)
def _scope(url: str) -> Mapping[str, Any]:
    """Return what an application sees of the URL (ASGI, HTTP connection scope)."""
    parsed = httpx.URL(url)
    path, _, query = parsed.raw_path.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": parsed.scheme,
        "path": parsed.path,
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": [(b"host", parsed.netloc)],
        "client": CLIENT,
        "server": (parsed.host, parsed.port),
    }


class AppReply:
    """A post under way, then the application's answer to it."""

    def __init__(self, body: bytes) -> None:
        self.status = SERVER_ERROR
        self.headers: dict[str, str] = {}
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unread: bytes | None = body
        self._answer = bytearray()

    async def read(self, _seconds: float) -> bytes:
        """Return the body of the answer, which has come as a whole."""
        return bytes(self._answer)

    async def receive(self) -> Event:
        """Return the body of the post; later, wait for the end as for a client that leaves."""
        if self._unread is None:
            await asyncio.shield(self.ended)
            return {"type": "http.disconnect"}
        body, self._unread = self._unread, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, event: Event) -> None:
        """Take a part of the answer."""
        if event["type"] == "http.response.start":
            self.status = event["status"]
            self.headers = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in event["headers"]
            }
        elif event["type"] == "http.response.body":
            self._answer += event.get("body", b"")
            if not event.get("more_body", False):
                self.end()

    def end(self) -> None:
        """End the answer, as far as it came."""
        if not self.ended.done():
            self.ended.set_result(None)


class AppClient:
    """Posts to an application; `headers` are those of every post."""

    def __init__(self, app: App, headers: Mapping[str, str]) -> None:
        self._app = app
        self._headers = _written(headers)
        self._tasks: set[asyncio.Task[None]] = set()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> AppReply:
        """Send a post and return its answer, a 500 where the application raises.

        The application is cancelled if the caller is.
        """
        reply = AppReply(body)
        scope = dict(_scope(url))
        length = (b"content-length", b"%d" % len(body))
        scope["headers"] = [*scope["headers"], length, *self._headers, *_written(headers)]
        task = asyncio.create_task(self._run(scope, reply))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await reply.ended
        except asyncio.CancelledError:
            task.cancel()
            raise
        return reply

    async def _run(self, scope: dict[str, Any], reply: AppReply) -> None:
        try:
            await self._app(scope, reply.receive, reply.send)
        except Exception:
            log.exception("application failed", path=scope["path"])
        finally:
            reply.end()


def _written(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]
