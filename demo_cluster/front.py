"""A small reverse proxy before replicas, as an ASGI application: who is ready gets the request.

What a proxy before replicas has to do, and no more: no TLS, no upgrades, no cache. Answers are
passed on as they come.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


CHECK_SECONDS = 0.5
"""Between checks of a replica: shorter than a replica that leaves waits with /readyz at 503."""

PATIENCE_SECONDS = 5.0
"""For which a request waits while no replica is ready."""

TIMEOUT = httpx.Timeout(35.0, connect=1.0)
"""An answer may take as long as the longest poll of a page."""

SAFE = ("GET", "HEAD", "OPTIONS")
UNAVAILABLE = 503
HOP_BY_HOP = (
    *(b"connection", b"keep-alive", b"proxy-connection"),
    *(b"te", b"transfer-encoding", b"upgrade"),
)
"""Headers of one connection (RFC 9110, section 7.6.1)."""

FORWARDING = (b"forwarded", b"x-forwarded-for", b"x-forwarded-proto")
"""Headers that a proxy writes itself: a client's own would be a lie."""

NOBODY = "No replica is ready: try again in a moment.\n"
GONE = (
    "The replica went away before it answered. Check whether your request was carried out before"
    " you repeat it.\n"
)


@dataclass(slots=True)
class Upstream:
    """A replica as the front sees it; `said` is the body of its last answer at /readyz."""

    url: str
    is_ready: bool = False
    said: Mapping[str, Any] = field(default_factory=dict)
    answered: int = 0
    failed: int = 0
    _ready: asyncio.Event = field(default_factory=asyncio.Event)

    def mark(self, *, ready: bool) -> None:
        """Note whether it takes requests."""
        self.is_ready = ready
        if ready:
            self._ready.set()
        else:
            self._ready.clear()

    async def becomes_ready(self) -> None:
        """Wait until it takes requests."""
        await self._ready.wait()


class Front:
    """Passes requests on to replicas in turns.

    A replica that can't be reached is passed over, whatever the method: nothing was sent. Where an
    answer does not come, or is a 503, only a safe method is tried elsewhere: the rest gets a 502,
    or that 503. Where nobody is ready it waits a little, then answers 503.
    """

    def __init__(self, urls: Sequence[str]) -> None:
        self.upstreams = [Upstream(url) for url in urls]
        self.retried = 0
        self._turn = 0
        # A kept connection may be dead, and a request that failed on it may have arrived.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        self._http = httpx.AsyncClient(timeout=TIMEOUT, limits=limits, trust_env=False)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Check all replicas for as long as the block lasts."""
        watches = [asyncio.create_task(self._watch(each)) for each in self.upstreams]
        async with self._http:
            try:
                yield
            finally:
                for watch in watches:
                    watch.cancel()
                await asyncio.gather(*watches, return_exceptions=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with a replica's answer."""
        request = Request(scope, receive)
        body = await request.body()
        tried: list[Upstream] = []
        until = time.monotonic() + PATIENCE_SECONDS
        while (upstream := self._next(tried)) or time.monotonic() < until:
            if upstream is None:
                await self._wait()
                tried.clear()
                continue
            tried.append(upstream)
            is_last = not self._left(tried)
            if await self._passed_on(upstream, request, body, send, is_last=is_last):
                return
            self.retried += 1
        await PlainTextResponse(NOBODY, UNAVAILABLE, {"Retry-After": "1"})(scope, receive, send)

    async def _passed_on(
        self, upstream: Upstream, request: Request, body: bytes, send: Send, *, is_last: bool
    ) -> bool:
        """Return False if the request may be tried at another replica."""
        is_safe = request.method in SAFE
        try:
            answer = await self._http.send(_forwarded(upstream, request, body), stream=True)
        except httpx.TransportError as error:
            upstream.failed += 1
            upstream.mark(ready=False)
            if is_safe or isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
                return False
            await PlainTextResponse(GONE, 502)(request.scope, request.receive, send)
            return True
        try:
            if answer.status_code == UNAVAILABLE and is_safe and not is_last:
                return False
            upstream.answered += 1
            await _answer(answer, send)
        finally:
            await answer.aclose()
        return True

    def _left(self, tried: Sequence[Upstream]) -> list[Upstream]:
        return [each for each in self.upstreams if each.is_ready and each not in tried]

    def _next(self, tried: Sequence[Upstream]) -> Upstream | None:
        self._turn += 1
        left = self._left(tried)
        return left[self._turn % len(left)] if left else None

    async def _wait(self) -> None:
        """Wait for a replica that turns ready, but look again soon."""
        waits = [asyncio.create_task(each.becomes_ready()) for each in self.upstreams]
        await asyncio.wait(waits, timeout=CHECK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    async def _watch(self, upstream: Upstream) -> None:
        while True:
            try:
                async with asyncio.timeout(TIMEOUT.connect):
                    answer = await self._http.get(f"{upstream.url}/readyz")
                upstream.said = answer.json()
                upstream.mark(ready=answer.is_success)
            except (httpx.TransportError, TimeoutError, ValueError):
                upstream.said = {}
                upstream.mark(ready=False)
            await asyncio.sleep(CHECK_SECONDS)


def _forwarded(upstream: Upstream, request: Request, body: bytes) -> httpx.Request:
    left_out = (*HOP_BY_HOP, *FORWARDING)
    headers = [pair for pair in request.headers.raw if pair[0] not in left_out]
    peer = request.client.host if request.client else ""
    headers += [(b"x-forwarded-for", peer.encode()), (b"x-forwarded-proto", b"http")]
    query = request.scope["query_string"]
    target = request.scope["raw_path"] + (b"?" + query if query else b"")
    url = httpx.URL(upstream.url, raw_path=target)
    return httpx.Request(request.method, url, headers=headers, content=body or None)


async def _answer(answer: httpx.Response, send: Send) -> None:
    """Send a replica's answer on; one that is cut short raises, so that the client sees it."""
    headers = [(name.lower(), value) for name, value in answer.headers.raw]
    kept = [pair for pair in headers if pair[0] not in HOP_BY_HOP]
    await send({"type": "http.response.start", "status": answer.status_code, "headers": kept})
    async for chunk in answer.aiter_raw():
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def serve(front: Front) -> Starlette:
    """Return an application of the front alone, which watches while it runs."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with front.watching():
            yield

    return Starlette(routes=[Mount("/", app=front)], lifespan=lifespan)
