"""NUL in an address is refused like any unknown id: PostgreSQL takes no text that has it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot import config
from bot.app.application import Application
from bot.core.net.request_body import EscapeNul
from tests.support.free_ports import free_port
from tests.support.service_harness import client, headers_of, refusal_code, refused_fields

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
