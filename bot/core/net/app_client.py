"""A client for posts to an ASGI application of this process: HTTP without a socket.

The application receives and sends the same ASGI events as behind a server. It runs in a separate
task, so that nothing it does to its task affects the caller.
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
"""The client address that the application sees."""

SERVER_ERROR = 500


@lru_cache(maxsize=256)
def _scope(url: str) -> Mapping[str, Any]:
    """Return the ASGI HTTP connection scope of a URL."""
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
    """A post in progress, then the application's answer."""

    def __init__(self, body: bytes) -> None:
        self.status = SERVER_ERROR
        self.headers: dict[str, str] = {}
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unread: bytes | None = body
        self._answer = bytearray()

    async def read(self, _seconds: float) -> bytes:
        """Return the body of the answer, which is already complete."""
        return bytes(self._answer)

    async def receive(self) -> Event:
        """Return the body of the post; the next call waits for the client to disconnect."""
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
        """End the answer, even if it is incomplete."""
        if not self.ended.done():
            self.ended.set_result(None)


class AppClient:
    """Posts to an application; `headers` are sent with every post."""

    def __init__(self, app: App, headers: Mapping[str, str]) -> None:
        self._app = app
        self._headers = _written(headers)
        self._tasks: set[asyncio.Task[None]] = set()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> AppReply:
        """Send a post and return its answer; the answer is a 500 if the application raises.

        Cancelling the caller cancels the application.
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
