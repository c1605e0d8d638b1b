"""A relay that answers a wallet's requests as a test scripts it, mostly wrong."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

if TYPE_CHECKING:
    Script = Callable[["Request"], Awaitable[None]]


class Request:
    """A request that arrived: its event, and the subscription for the answer."""

    def __init__(self, socket: ServerConnection, subscription: str, event: dict[str, Any]) -> None:
        self._socket, self.subscription, self.event = socket, subscription, event

    async def send(self, *message: Any) -> None:
        await self._socket.send(json.dumps(message))

    async def acknowledge(self, refusal: str = "") -> None:
        """Take the request, or refuse it with a text."""
        await self.send("OK", self.event["id"], not refusal, refusal)

    async def send_event(self, event: dict[str, Any]) -> None:
        await self.send("EVENT", self.subscription, event)

    async def send_text(self, text: str) -> None:
        await self._socket.send(text)

    async def send_bytes(self, frames: bytes) -> None:
        """Send frames as they are."""
        self._socket.transport.write(frames)

    async def close(self) -> None:
        await self._socket.close()


class ScriptedRelay:
    """Counts connections, and keeps the messages that came."""

    def __init__(self, script: Script) -> None:
        self.url = ""
        self.connections = 0
        self.heard: list[Any] = []
        self._script = script

    async def serve(self, socket: ServerConnection) -> None:
        self.connections += 1
        subscription = ""
        try:
            async for frame in socket:
                message = json.loads(frame)
                self.heard.append(message)
                if message[0] == "REQ":
                    subscription = message[1]
                elif message[0] == "EVENT":
                    await self._script(Request(socket, subscription, message[1]))
        except ConnectionClosed:
            return


@asynccontextmanager
async def scripted_relay(script: Script, host: str = "127.0.0.1") -> AsyncIterator[ScriptedRelay]:
    """Serve a relay on a free port of an address of this machine."""
    relay = ScriptedRelay(script)
    async with serve(relay.serve, host, 0, max_size=None) as server:
        relay.url = f"ws://{host}:{next(iter(server.sockets)).getsockname()[1]}"
        yield relay
