"""One connection to a relay (NIP-01), shared by everybody who asks something there."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from bot.core import exact_json
from bot.core.errors import BadAnswer, ForbiddenAddress, Unreachable
from bot.service.nostr.events import Event, Filter, read_event

if TYPE_CHECKING:
    import ssl

    from websockets.protocol import Event as Received

    from bot.core.net.guarded_socket import GuardedDialler

MAX_FRAME = 128 * 1024
"""Bytes of a message; a relay's largest event has 64 KiB."""

DIAL_SECONDS = 6.0
"""Seconds for look-up, TCP, TLS and WebSocket, of the ten that a whole ask may take."""

PING_SECONDS = 20.0
"""Seconds between pings, and until a connection without an answer to one is given up."""

FRAMES_PER_ASK = 25
MOST_FRAMES = 400
"""Messages that a relay may send: as many more for each ask, which needs three, up to the most. A
relay that floods is cut off."""

BYTES_PER_ASK = 160 * 1024
MOST_BYTES = 16 * BYTES_PER_ASK
"""Bytes likewise: pings and the like are answered without being messages."""

PIECE = 4 * 1024
"""Bytes that are parsed before frames are counted: 80,000 pings, which fit into the bytes of one
ask, would stop the event loop for a second."""

SILENT_SECONDS = 3.0
"""Seconds of an ask without a single message, after which the connection counts as dead: half-open
ones are noticed by pings only later."""

MOST_HEARD = 32
"""Events that wait for their asker; what comes beyond is dropped."""


class BoundedConnection(ClientConnection):
    """A WebSocket that is cut off once its peer has sent `bytes_left` bytes or too many frames.

    `frames_left` counts pings and fragments too.
    """

    bytes_left = BYTES_PER_ASK
    frames_left = MOST_FRAMES

    def data_received(self, data: bytes) -> None:
        self.bytes_left -= len(data)
        for start in range(0, len(data), PIECE):
            if self.bytes_left < 0 or self.frames_left < 0:
                self.transport.abort()
                return
            super().data_received(data[start : start + PIECE])

    def process_event(self, event: Received) -> None:
        self.frames_left -= 1
        super().process_event(event)


Dial = Callable[[str], Awaitable[BoundedConnection]]


@dataclass(frozen=True, slots=True)
class NoMore:
    """A relay has sent everything that it stored."""

    url: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A relay did not take the ask, or can't be reached; `why` is its text, at most 200 long."""

    url: str
    why: str


Heard = Event | NoMore | Refusal


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to relays: what to send, which events answer it, and where they are put."""

    where: Filter
    event: Event | None
    heard: asyncio.Queue[Heard]

    def tell(self, heard: Heard) -> None:
        with suppress(asyncio.QueueFull):
            self.heard.put_nowait(heard)


def guarded_dial(dialler: GuardedDialler, tls: ssl.SSLContext) -> Dial:
    """Return how a relay is dialled: past no address guard, no redirect and no proxy."""

    async def dial(url: str) -> BoundedConnection:
        parts = urlsplit(url)
        host, secure = parts.hostname or "", parts.scheme == "wss"
        sock = await dialler.connect(host, parts.port or (443 if secure else 80), DIAL_SECONDS)
        try:
            made = await connect(
                url,
                create_connection=BoundedConnection,
                sock=sock,
                ssl=tls if secure else None,
                server_hostname=host if secure else None,
                proxy=None,
                compression=None,
                open_timeout=DIAL_SECONDS,
                close_timeout=1,
                ping_interval=PING_SECONDS,
                ping_timeout=PING_SECONDS,
                max_size=MAX_FRAME,
                max_queue=4,
                user_agent_header=None,
            )
        except BaseException:
            sock.close()
            raise
        assert isinstance(made, BoundedConnection)
        return made

    return dial


class RelayConnection:
    """A connection with one task, which dials and then reads until the relay goes or `end`."""

    def __init__(self, url: str, dial: Dial) -> None:
        self.url = url
        self.asks = 0
        self._dial = dial
        self._asked: dict[str, Ask] = {}
        self._frames_left = FRAMES_PER_ASK
        self._frames = 0
        self._ready = asyncio.Event()
        self._over = asyncio.Event()
        self._socket: BoundedConnection | None = None
        self._problem = ""
        self.task = asyncio.create_task(self._run(), name=f"relay {urlsplit(url).hostname}")

    @property
    def usable(self) -> bool:
        return not self._problem

    async def ask(self, ask: Ask) -> None:
        """Send the question and put what answers it, until this call is cancelled.

        Raises Unreachable when the relay can't be reached or goes.
        """
        await self._ready.wait()
        if self._problem:
            raise Unreachable(self._problem)
        now = asyncio.get_running_loop().time
        subscription, seen, began = secrets.token_hex(8), self._frames, now()
        self._asked[subscription] = ask
        self._allow_another()
        try:
            await self._send(["REQ", subscription, ask.where.as_json()])
            if ask.event:
                await self._send(["EVENT", ask.event.as_json()])
            await self._over.wait()
            raise Unreachable(self._problem)
        finally:
            del self._asked[subscription]
            if self._frames == seen and now() - began > SILENT_SECONDS:
                self.end("the relay is silent")
            if self.usable:
                with suppress(Unreachable, TimeoutError):
                    async with asyncio.timeout(1):
                        await self._send(["CLOSE", subscription])

    def _allow_another(self) -> None:
        """Allow the relay what one ask more needs."""
        assert self._socket
        self._frames_left = min(self._frames_left + FRAMES_PER_ASK, MOST_FRAMES)
        self._socket.bytes_left = min(self._socket.bytes_left + BYTES_PER_ASK, MOST_BYTES)
        self._socket.frames_left = MOST_FRAMES

    def end(self, problem: str) -> None:
        """Close the connection at once; whoever still asks hears that the relay is gone."""
        self._problem = self._problem or problem
        if self._socket:
            self._socket.transport.abort()
        else:
            self.task.cancel()

    async def _run(self) -> None:
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                self._socket = await self._dial(self.url)
            self._ready.set()
            async for frame in self._socket:
                self._hear(frame)
        except (OSError, EOFError, ValueError, WebSocketException, ForbiddenAddress) as error:
            self._problem = self._problem or _printable(f"{type(error).__name__}: {error}")
        finally:
            self._problem = self._problem or "the relay closed the connection"
            self._ready.set()
            self._over.set()
            if self._socket:
                await self._socket.close()

    async def _send(self, message: list[Any]) -> None:
        assert self._socket
        try:
            await self._socket.send(json.dumps(message, ensure_ascii=False))
        except (OSError, WebSocketException) as error:
            raise Unreachable(f"the relay is gone: {type(error).__name__}") from error

    def _hear(self, frame: str | bytes) -> None:
        self._frames += 1
        self._frames_left -= 1
        if self._frames_left < 0:
            self.end("the relay sent more than was asked for")
            return
        try:
            message = exact_json.loads(frame, depth=5)
            self._dispatch(message)
        except (exact_json.JsonError, BadAnswer):
            return  # as if it had not come: a relay is trusted with nothing

    def _dispatch(self, message: Any) -> None:
        match message:
            case ["EVENT", str(subscription), event] if ask := self._asked.get(subscription):
                read = read_event(event)
                if ask.where.matches(read):
                    ask.tell(read)
            case ["EOSE", str(subscription), *_] if ask := self._asked.get(subscription):
                ask.tell(NoMore(self.url))
            case ["CLOSED", str(subscription), *why] if ask := self._asked.get(subscription):
                ask.tell(Refusal(self.url, _text(why)))
            case ["OK", str(event_id), False, *why]:
                for ask in self._asked.values():
                    if ask.event and ask.event.id == event_id:
                        ask.tell(Refusal(self.url, _text(why)))


def _text(parts: list[Any]) -> str:
    return _printable(str(parts[0])) if parts else "no reason"


def _printable(words: str) -> str:
    """Return others' words as they can be logged."""
    return "".join(char for char in words[:200] if char.isprintable())
