"""The front before replicas: nothing that may have been done is sent twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx
import pytest
from starlette.responses import JSONResponse

from demo_cluster import front
from demo_cluster.front import Front
from tests.support.asgi_server import serve_asgi

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


SECONDS = 10.0


@dataclass
class Replica:
    """Answers with its name and what it was asked; `cuts` ends connections without an answer."""

    name: str
    status: int = 200
    ready: int = 200
    cuts: bool = False
    asked: list[str] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            for event in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{event}.complete"})
            return
        if scope["path"] == "/readyz":
            await JSONResponse({}, self.ready)(scope, receive, send)
            return
        body = await receive()
        self.asked.append(scope["method"])
        if self.cuts:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"bad", b"\n")]})
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        path = scope["raw_path"].decode() + "?" + scope["query_string"].decode()
        told = {"name": self.name, "path": path, "headers": headers, "body": body["body"].decode()}
        await JSONResponse(told, self.status, {"Retry-After": "5"})(scope, receive, send)


@asynccontextmanager
async def before(
    *replicas: Replica, gone: int = 0
) -> AsyncIterator[tuple[Front, httpx.AsyncClient]]:
    """A front before these, and before `gone` addresses that passed a check and ended since."""
    async with AsyncExitStack() as stack:
        urls = [await stack.enter_async_context(serve_asgi(each)) for each in replicas]
        async with AsyncExitStack() as ended:
            lost = Replica("lost")
            urls += [await ended.enter_async_context(serve_asgi(lost)) for _ in range(gone)]
        one = Front(urls)
        url = await stack.enter_async_context(serve_asgi(front.serve(one)))
        async with asyncio.timeout(SECONDS):
            for each in one.upstreams[: len(replicas)]:
                await each.becomes_ready()
        for each in one.upstreams[len(replicas) :]:
            each.mark(ready=True)
        yield one, await stack.enter_async_context(httpx.AsyncClient(base_url=url))


async def test_ready_replicas_take_turns() -> None:
    async with before(Replica("a"), Replica("b")) as (_, http):
        names = {(await http.get("/x")).json()["name"] for _ in range(4)}
    assert names == {"a", "b"}


async def test_a_request_arrives_as_it_was_sent_with_its_client_named() -> None:
    async with before(Replica("a")) as (_, http):
        sent = {"Forwarded": "for=203.0.113.9", "Cookie": "a=1"}
        answer = await http.post("/pay/%C3%A4?x=1&y=%20", content=b"token=1", headers=sent)
    told = answer.json()
    assert told["path"] == "/pay/%C3%A4?x=1&y=%20"
    assert told["body"] == "token=1"
    assert told["headers"]["cookie"] == "a=1"
    assert told["headers"]["x-forwarded-for"] == "127.0.0.1"
    assert "forwarded" not in told["headers"]


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_replica_that_cannot_be_reached_is_passed_over(method: str) -> None:
    async with before(Replica("a"), gone=1) as (one, http):
        for _ in range(2):
            one.upstreams[1].mark(ready=True)
            assert (await http.request(method, "/x")).json()["name"] == "a"
    assert one.upstreams[1].failed >= 1


async def test_a_post_without_an_answer_is_not_sent_again() -> None:
    cut, other = Replica("a", cuts=True), Replica("b", cuts=True)
    async with before(cut, other) as (_, http):
        answer = await http.post("/x")
    assert answer.status_code == 502
    assert cut.asked + other.asked == ["POST"]


async def test_a_get_without_an_answer_goes_to_another_replica() -> None:
    async with before(Replica("a", cuts=True), Replica("b")) as (_, http):
        names = [(await http.get("/x")).json()["name"] for _ in range(4)]
    assert names == ["b"] * 4


async def test_a_503_is_passed_on_to_a_post_and_avoided_by_a_get() -> None:
    full = Replica("a", status=503)
    async with before(full) as (_, http):
        answer = await http.post("/x")
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    async with before(full, Replica("b")) as (_, http):
        assert [(await http.get("/x")).status_code for _ in range(4)] == [200] * 4


@pytest.mark.long
async def test_without_a_ready_replica_a_request_waits_then_is_told_when_to_return(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with before(Replica("a")) as (one, http):
        one.upstreams[0].mark(ready=False)  # the next check finds it again
        assert (await http.post("/x")).is_success
    monkeypatch.setattr(front, "PATIENCE_SECONDS", 0.0)
    async with before(Replica("a")) as (one, http):
        one.upstreams[0].mark(ready=False)
        answer = await http.get("/x")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
