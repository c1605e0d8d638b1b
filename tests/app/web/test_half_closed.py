"""Clients that close their half after a request are answered, then closed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from bot.app.http_protocol import BoundedProtocol
from tests.support.raw_http import get, open_web_server, post

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


async def slow(_scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the body, some time after it has arrived."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    await asyncio.sleep(0.05)
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def test_a_whole_request_is_answered_after_a_half_close() -> None:
    async with open_web_server(slow) as site:
        caller = await site.connect()
        await caller.send(post("/", b"a=b"))
        caller.writer.write_eof()
        answer = await caller.answer()
        assert (answer.status, answer.body) == (200, b"a=b")
        assert answer.headers["connection"] == "close"
        assert await caller.ended() == b""
        await site.gone()


async def test_several_whole_requests_are_answered_after_a_half_close() -> None:
    async with open_web_server(slow) as site:
        caller = await site.connect()
        await caller.send(post("/", b"1") + post("/", b"2") + post("/", b"3"))
        caller.writer.write_eof()
        assert [(await caller.answer()).body for _ in range(3)] == [b"1", b"2", b"3"]
        assert await caller.ended() == b""


@pytest.mark.parametrize("said", [b"", get("/")[:-2], post("/", b"a", length=2)])
async def test_the_rest_of_a_request_is_not_awaited_after_a_half_close(said: bytes) -> None:
    async with open_web_server(slow) as site:
        caller = await site.connect()
        await caller.send(said)
        await site.arrived()
        caller.writer.write_eof()
        assert await caller.ended() == b""
        assert site.connections == 0


async def test_a_refused_half_closed_connection_closes_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The input after the call is unreadable, and its rest is not awaited."""
    monkeypatch.setattr(BoundedProtocol, "LINGER_SECONDS", 60.0)
    async with open_web_server(slow) as site:
        caller = await site.connect()
        await caller.send(get("/") + b"\0\0\0\0")
        caller.writer.write_eof()
        assert (await caller.answer()).status == 200
        await site.gone()
