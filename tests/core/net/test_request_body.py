"""Bodies and paths of incoming requests: limits of size, time and depth, and NUL in a path."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot import config
from bot.app.application import Application
from bot.core.errors import BodyTooLarge, InvalidBody
from bot.core.net import request_body
from bot.core.net.request_body import EscapeNul
from tests.support.free_ports import free_port
from tests.support.service_harness import (
    REQUESTS_PATH,
    ServiceHarness,
    client,
    headers_of,
    refusal_code,
    refused_fields,
)

STALLED = object()
JSON = {"Content-Type": "application/json"}


def sending(*chunks: Any, length: str | None = None) -> Request:
    """Return a request whose body arrives in these pieces; None is a caller that hangs up."""
    events = iter(chunks)
    headers = [] if length is None else [(b"content-length", length.encode("latin-1"))]

    async def receive() -> dict[str, Any]:
        chunk = next(events, b"")
        if chunk is STALLED:
            await asyncio.Event().wait()
        if chunk is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": chunk, "more_body": chunk != b""}

    return Request({"type": "http", "headers": headers}, receive)


@pytest.mark.parametrize(
    "chunks", [[], [b"ab"], [b"a", b"b"], [b"a" * 100], [bytes([byte]) for byte in range(100)]]
)
async def test_a_body_is_read_unchanged(chunks: Iterable[bytes]) -> None:
    assert await request_body.read(sending(*chunks), 100) == b"".join(chunks)


@pytest.mark.parametrize("chunks", [[b"a" * 101], [b"a" * 100, b"a"], [b"a" * 101, STALLED]])
async def test_a_body_beyond_its_limit_is_refused_at_once(chunks: list[Any]) -> None:
    with pytest.raises(BodyTooLarge):
        await request_body.read(sending(*chunks), 100)


@pytest.mark.parametrize("length", ["101", "9" * 5000])
async def test_a_declared_length_beyond_the_limit_is_refused_unread(length: str) -> None:
    with pytest.raises(BodyTooLarge):
        await request_body.read(sending(STALLED, length=length), 100)


@pytest.mark.parametrize("length", ["2", "100", "", "-1", "x", "²"])
async def test_a_declared_length_within_the_limit_is_not_trusted(length: str) -> None:
    assert await request_body.read(sending(b"ab", length=length), 100) == b"ab"


async def test_the_limit_is_64_kib_and_the_error_names_it() -> None:
    assert len(await request_body.read(sending(b"a" * 65_536))) == 65_536
    with pytest.raises(BodyTooLarge, match=r"^The body is larger than 64 KiB\.$"):
        await request_body.read(sending(b"a" * 65_537))
    with pytest.raises(BodyTooLarge, match=r"^The body is larger than 1 MiB\.$"):
        await request_body.read(sending(b"a" * 1_048_577), 1024 * 1024)


async def test_a_body_that_stalls_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "BODY_SECONDS", 0.01)
    with pytest.raises(InvalidBody, match="did not arrive in time"):
        await request_body.read(sending(b"a", STALLED))


async def test_a_body_that_breaks_off_is_refused() -> None:
    with pytest.raises(InvalidBody, match="broke off"):
        await request_body.read(sending(b"{}", None))


def nested(levels: int, inner: bytes = b"") -> bytes:
    return b'{"a": ' * levels + (inner or b"1") + b"}" * levels


@pytest.mark.parametrize(
    "body", [nested(100), nested(99, b"[]"), b'{"a": [' + b"[]," * 9999 + b"[]]}"]
)
def test_a_body_may_be_nested_a_hundred_levels_deep(body: bytes) -> None:
    assert list(request_body.parse(body)) == ["a"]


@pytest.mark.parametrize(
    "body",
    [
        *(nested(101), nested(100, b"[]"), nested(980), nested(100_000), b"[" * 100_000),
        *(b"", b"{", b"[]", b"1", b'"x"', b"null", b"\xff", b'{"a": NaN}', b"{}{}"),
    ],
    ids=range(14),
)
def test_other_json_than_an_object_and_deeper_nesting_are_refused(body: bytes) -> None:
    with pytest.raises(InvalidBody):
        request_body.parse(body)


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (b"[" * 100_000, (413, "bodyTooLarge")),
        (b"[" * 60_000, (400, "invalidBody")),
        (b"[" * 32_000 + b"]" * 32_000, (400, "invalidBody")),
        (nested(9000), (400, "invalidBody")),
        (nested(33), (400, "invalidBody")),
    ],
    ids=range(5),
)
async def test_endless_brackets_are_no_bug(
    service: ServiceHarness, body: bytes, answer: tuple[int, str]
) -> None:
    """Also with an Idempotency-Key, for which the body is written again in canonical form."""
    for headers in (JSON, JSON | {"Idempotency-Key": "k"}):
        assert (
            refusal_code(await service.seller.post(REQUESTS_PATH, content=body, headers=headers))
            == answer
        )
        assert (
            refusal_code(await service.seller.put(f"{REQUESTS_PATH}/x", content=body, headers=JSON))
            == answer
        )
    assert await service.rows("payment_requests") == []


# NUL in an address is refused like any unknown id: PostgreSQL takes no text that has it.


if TYPE_CHECKING:
    from starlette.requests import Request


PARAMETER = re.compile(r"\{[^}]*\}")


@pytest.fixture
async def product(tmp_path: Path) -> AsyncIterator[Application]:
    """Build the whole product with a chat, without starting its loops."""
    url, token = f"sqlite:///{tmp_path}/bot.db", "123456:" + "a" * 35
    it = Application(config.load(database_url=url, port=int(free_port()), bot_token=token))
    yield it
    it._db.close()


def addresses(product: Application) -> list[tuple[str, str]]:
    """Return the method and the path of each route that takes a part of its path as a value."""
    return [
        (method, route.path)
        for route in product._app.routes
        if isinstance(route, Route) and "{" in route.path
        for method in sorted(route.methods or ())
    ]


async def test_no_route_fails_for_nul_in_its_path(product: Application) -> None:
    """With the credentials of an application, so that each looks for the id."""
    assert product._service
    found = addresses(product)
    assert len(found) > 30
    async with client(product._app, headers_of(product._service.own)) as seller:
        for method, path in found:
            answer = await seller.request(method, PARAMETER.sub("%00", path), json={})
            assert 300 <= answer.status_code < 500, (method, path, answer.text)


async def test_nul_in_a_query_is_refused(product: Application) -> None:
    assert product._service
    async with client(product._app, headers_of(product._service.own)) as seller:
        answer = await seller.get("/v3/deliveries?paymentRequestId=%00")
    assert refusal_code(answer) == (400, "invalidBody")
    assert refused_fields(answer) == ["paymentRequestId"]


@pytest.mark.parametrize("sent", ["%00", "a%00b%00"])
async def test_a_route_sees_nul_as_it_was_sent(sent: str) -> None:
    """No id has a percent sign."""

    async def echo(request: Request) -> Response:
        return PlainTextResponse(request.path_params["id"])

    app = EscapeNul(Starlette(routes=[Route("/{id}", echo)]))
    async with client(app) as anyone:
        assert (await anyone.get(f"/{sent}")).text == sent
        assert (await anyone.get("/plain")).text == "plain"
