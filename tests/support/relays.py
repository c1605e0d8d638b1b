"""Relays of Nostr that follow a script, and calls over them."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from bot.service.rails.nostr_wallet import (
    RESPONSE,
    Call,
    Scheme,
    WalletConnection,
    Wallets,
    parse_connection,
)
from bot.service.rails.relays import Relays
from tests.support.nwc_wallet import NostrKey
from tests.support.service_harness import LOOPBACK

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


WALLET, APP, STRANGER, LOUD = (NostrKey(f"{number:064x}") for number in (7, 8, 9, 10))
"""A wallet, our own key, somebody else's, and another wallet."""


def now() -> int:
    return int(time.time() * 1000)


def answer(
    request: Request, body: Any = None, wallet: NostrKey = WALLET, **changes: Any
) -> dict[str, Any]:
    """The wallet's answer to a request, or one with other parts."""
    text = body or {"result_type": "get_info", "result": {"methods": ["make_invoice"]}}
    parts: dict[str, Any] = {
        "kind": RESPONSE,
        "tags": (("p", APP.public), ("e", request.event["id"])),
        "content": wallet.seal("nip44_v2", APP.public, json.dumps(text)),
        "created_at": request.event["created_at"],
    }
    signer: NostrKey = changes.pop("key", wallet)
    return signer.sign_event(**parts | changes)


def connection(*urls: str, wallet: NostrKey = WALLET) -> WalletConnection:
    relays = "&".join(f"relay={url}" for url in urls)
    text = f"nostr+walletconnect://{wallet.public}?{relays}&secret={8:064x}"
    return parse_connection(text, LOOPBACK)


async def call(
    relays: Relays, *urls: str, patience: tuple[float, ...] = (5.0,), wallet: NostrKey = WALLET
) -> dict[str, Any]:
    asked = connection(*urls, wallet=wallet)
    return await Wallets(relays, now).call(asked, Scheme.NIP44, Call("get_info", {}, patience))


async def honest(request: Request) -> None:
    await request.acknowledge()
    await request.send_event(answer(request))
