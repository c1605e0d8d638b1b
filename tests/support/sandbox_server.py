"""The sandbox: a world behind a real server, a clock that tests set, a bare client."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from bot.core.net.http_client import ssl_context
from bot.sandbox.web.server import create_app
from bot.sandbox.world import people
from bot.sandbox.world.errors import NO_LIMITS
from bot.sandbox.world.world import World
from tests.support.asgi_server import serve_asgi

START = 1_800_000_000.0
A = {"text": "A", "callback_data": "a"}


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Bot:
    """A bare client of the Bot API: answers are the JSON bodies as they came."""

    def __init__(self, world: World, http: httpx.AsyncClient) -> None:
        self.world = world
        self.http = http

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        path = f"/bot{self.world.token}/{method}"
        answer: dict[str, Any] = (await self.http.post(path, json=params)).json()
        return answer

    async def done(self, method: str, **params: Any) -> Any:
        """Make a call that must be accepted; return its result."""
        answer = await self.call(method, **params)
        assert answer["ok"], answer
        return answer["result"]

    async def refused(self, method: str, **params: Any) -> tuple[int, str]:
        """Make a call that must be refused; return code and description."""
        answer = await self.call(method, **params)
        assert not answer["ok"], answer
        return answer["error_code"], answer["description"]

    async def upload(self, method: str, files: dict[str, Any], **params: Any) -> dict[str, Any]:
        path = f"/bot{self.world.token}/{method}"
        answer: dict[str, Any] = (await self.http.post(path, data=params, files=files)).json()
        return answer

    async def updates(self, **params: Any) -> list[dict[str, Any]]:
        """Return the pending updates and confirm them."""
        pending: list[dict[str, Any]] = await self.done("getUpdates", **params)
        if pending:
            await self.done("getUpdates", offset=pending[-1]["update_id"] + 1)
        return pending

    async def update(self) -> dict[str, Any]:
        """Wait for an update, the only one that there may be."""
        await self.world.wait_for(lambda: self.world.updates.pending)
        (update,) = await self.updates()
        return update


@asynccontextmanager
async def serving(world: World) -> AsyncIterator[Bot]:
    """Serve a world and give the bot's client for it."""
    async with (
        serve_asgi(create_app(world)) as root,
        httpx.AsyncClient(base_url=root, verify=ssl_context()) as http,
    ):
        try:
            yield Bot(world, http)
        finally:
            await world.close()


@asynccontextmanager
async def demo_cast() -> AsyncIterator[Bot]:
    """Serve a world without limits, with the demo's people and no updates yet."""
    world = World(limits=NO_LIMITS)
    people.cast(world)
    async with serving(world) as client:
        await client.updates()
        yield client


def button_row(*buttons: dict[str, Any]) -> dict[str, Any]:
    """Return the markup of one row of buttons."""
    return {"inline_keyboard": [list(buttons)]}


def png_header(width: int, height: int) -> bytes:
    """Build the part of a PNG that has its size."""
    header = struct.pack(">II5B", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + header + b"\0\0\0\0"
