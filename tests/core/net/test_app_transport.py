"""Calls of an application in this process: HTTP as over a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import TYPE_CHECKING

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from structlog.testing import capture_logs

from bot.core import errors
from bot.core.net.http_client import App, HttpClient, app_client
from bot.core.ops.readiness import EndCancelled

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


HERE = "http://bot.internal"
SECONDS = 5.0
PLACE: ContextVar[str] = ContextVar("place", default="outside")


def inside(app: App) -> HttpClient:
    return app_client(app)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    seen = {
        "line": [scope["method"], scope["raw_path"].decode(), scope["query_string"].decode()],
        "client": scope["client"][0],
        "headers": dict(request.headers),
        "parts": [len(part) async for part in request.stream() if part],
    }
    await JSONResponse(seen, 201, {"Retry-After": "7"})(scope, receive, send)


async def test_a_call_is_the_same_as_over_a_socket() -> None:
    reply = await inside(echo).call(
        "POST", f"{HERE}/a%20b?c=d", {"App-Id": "me"}, b"{}", seconds=SECONDS
    )
    assert (reply.status, reply.headers["retry-after"]) == (201, "7")
    assert reply.body == (
        b'{"line":["POST","/a%20b","c=d"],"client":"127.0.0.1","headers":'
        b'{"host":"bot.internal","user-agent":"payment-request-bot","accept":"*/*",'
        b'"accept-encoding":"identity","app-id":"me","content-length":"2"},"parts":[2]}'
    )


async def test_a_body_is_taken_part_by_part() -> None:
    taken: list[int] = []

    async def parts() -> AsyncIterator[bytes]:
        for number in range(3):
            assert taken == list(range(number))
            yield bytes([number])

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async for part in Request(scope, receive).stream():
            taken.extend(part)
        await PlainTextResponse("ok")(scope, receive, send)

    headers = {"Content-Length": "3"}
    assert (await inside(app).call("POST", HERE, headers, parts(), seconds=SECONDS)).body == b"ok"
    assert taken == [0, 1, 2]


async def test_a_bug_of_the_application_is_a_500_and_is_logged() -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError

    with capture_logs() as lines:
        reply = await inside(broken).call("GET", f"{HERE}/x", {}, seconds=SECONDS)
    assert (reply.status, reply.body) == (500, b"")
    assert [(one["event"], one["path"]) for one in lines] == [("application failed", "/x")]


class Hanging:
    """An application that never answers, and notes how it ended."""

    def __init__(self) -> None:
        self.began, self.ended = asyncio.Event(), asyncio.Event()

    async def __call__(self, *_: object) -> None:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


async def test_an_application_that_hangs_is_cancelled_after_the_time_limit() -> None:
    app = Hanging()
    with pytest.raises(errors.Unreachable, match=r"^ReadTimeout$"):
        await inside(app).call("GET", HERE, {}, seconds=0.01)
    async with asyncio.timeout(SECONDS):
        await app.ended.wait()


async def test_a_caller_that_is_cancelled_ends_at_once_and_cancels_the_application() -> None:
    """Also if the application answers its cancellation, as ours does."""
    app = Hanging()
    calling = asyncio.create_task(inside(EndCancelled(app)).call("GET", HERE, {}, seconds=SECONDS))
    await app.began.wait()
    calling.cancel()
    await asyncio.wait({calling}, timeout=SECONDS)
    assert calling.cancelled()
    async with asyncio.timeout(SECONDS):
        await app.ended.wait()


async def test_the_application_does_not_change_the_callers_context() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        PLACE.set("inside")
        await PlainTextResponse("ok")(scope, receive, send)

    await inside(app).call("GET", HERE, {}, seconds=SECONDS)
    assert PLACE.get() == "outside"
