"""Sources of exchange rates over real HTTP, with answers in the hand of a test."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from tests.support.asgi_server import serve_asgi

if TYPE_CHECKING:
    from starlette.requests import Request


def coinbase(**prices: str) -> bytes:
    return json.dumps({"data": {"currency": "BTC", "rates": prices}}).encode()


def bitpay(**prices: str) -> bytes:
    listed = ", ".join(f'{{"code": "{code}", "rate": {it}}}' for code, it in prices.items())
    return f'{{"data": [{{"code": "BTC", "rate": 1}}, {listed}]}}'.encode()


def kraken(**prices: str) -> bytes:
    pairs = {f"XXBTZ{code}": {"c": [price, "0.01"]} for code, price in prices.items()}
    return json.dumps({"error": [], "result": pairs}).encode()


def yadio(**prices: str) -> bytes:
    listed = ", ".join(f'"{code}": {price}' for code, price in prices.items())
    return f'{{"BTC": {{{listed}}}, "base": "BTC", "timestamp": 1}}'.encode()


class RateSource:
    """A server that answers every address with `body`; `asked` counts the calls."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.status = 200
        self.headers: dict[str, str] = {}
        self.asked = 0
        self.url = ""

    @property
    def name(self) -> str:
        return self.url.removeprefix("http://").partition("/")[0]

    async def answer(self, request: Request) -> Response:
        del request
        self.asked += 1
        return Response(self.body, self.status, self.headers, "application/json")


@asynccontextmanager
async def serve_sources(*bodies: bytes) -> AsyncIterator[list[RateSource]]:
    """Serve a source for each body, each at a host of its own."""
    found = [RateSource(body) for body in bodies]
    async with AsyncExitStack() as stack:
        for one in found:
            app = Starlette(routes=[Route("/{path:path}", one.answer)])
            one.url = f"{await stack.enter_async_context(serve_asgi(app))}/rates"
        yield found
