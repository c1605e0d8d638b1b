"""One connection to a relay (NIP-01), shared by everybody who asks something there."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException
from websockets.frames import Frame, Opcode

from bot.core import errors, exact_json
from bot.core.net import guarded_transport
from bot.service.rails import nostr

if TYPE_CHECKING:
    from websockets.protocol import Event as Received


MAX_FRAME = 576 * 1024
"""Bytes of a message: the largest events that relays take have 512 KiB. A longer one can't be
skipped, and ends the connection of all; what is long for its subscription is dropped unread."""

DIAL_SECONDS = 6.0
"""Seconds for look-up, TCP, TLS and WebSocket, of the ten that a whole ask may take."""

PING_SECONDS = 20.0
"""Seconds between pings, and until a connection without an answer to one is given up."""

FRAMES_PER_ASK, BYTES_PER_ASK = 25, 160 * 1024
"""What may come for one subscription, which needs three messages. Beyond it is closed alone: the
events are its wallet's, and the connection is shared with other wallets."""

FRAGMENT_COST = 64
"""Bytes that a frame counts for beside its own: relays send a message in fragments of 4 KiB, and
one in fragments of a byte takes as much time as a long one."""

LATE_FRAMES, LATE_BYTES = 4_000, 16 * 1024 * 1024
"""What may come for one subscription until the relay has read that it is closed; each is dropped
unread. A relay that sends more is cut off."""

MOST_FRAMES, MOST_BYTES = 400, 16 * BYTES_PER_ASK
"""What may come for no subscription, such as pings and notices: as many more for each ask as that
may have, up to the most. A relay that sends more is cut off."""

MOST_ENDED = 200
"""Subscriptions that are remembered after their end: what is on its way is counted for them."""

PIECE = 4 * 1024
"""Bytes that are parsed before frames are counted: 80,000 pings, which fit into what is received
at once, would stop the event loop for a second."""

SILENT_SECONDS = 3.0
"""Seconds of an ask without a single message, after which the connection counts as dead: half-open
ones are noticed by pings only later."""

MOST_HEARD = 32
"""Events that wait for their asker; what comes beyond is dropped."""

NOISE = "the wallet sent more than was asked for"
FLOOD = "the relay sent more than was asked for"

_NAME = re.compile(rb'\s*\[\s*"(?:EVENT|EOSE|CLOSED|OK)"\s*,\s*"([0-9a-f]{16,64})"')
"""The subscription or event that a message is about, read without parsing the message."""


@dataclass(slots=True)
class Budget:
    """Frames and bytes that may still come."""

    frames: int
    size: int

    def spend(self, size: int, frames: int = 1) -> bool:
        """Count what came; return whether the budget had room for it."""
        self.frames -= frames
        self.size -= size
        return self.frames >= 0 and self.size >= 0


class MeteredConnection(ClientConnection):
    """A WebSocket that drops the frames that `admit` refuses, before anything is done for them."""

    def __init__(self, *args: Any, admit: Admit, **options: Any) -> None:
        super().__init__(*args, **options)
        self._admit = admit

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE):
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + PIECE])

    def process_event(self, event: Received) -> None:
        if not isinstance(event, Frame) or self._admit(event):
            super().process_event(event)


Admit = Callable[[Frame], bool]
Dial = Callable[[str, Admit], Awaitable[ClientConnection]]


@dataclass(frozen=True, slots=True)
class NoMore:
    """A relay has sent everything that it stored."""

    url: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A relay did not take the ask, or can't be reached; `why` is its text, at most 200 long."""

    url: str
    why: str


Heard = nostr.Event | NoMore | Refusal


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to relays: what to send, which events answer it, and where they are put."""

    where: nostr.Filter
    event: nostr.Event | None
    heard: asyncio.Queue[Heard]

    def tell(self, heard: Heard) -> None:
        with suppress(asyncio.QueueFull):
            self.heard.put_nowait(heard)


class Subscription:
    """An ask at one relay, None once it is `over`, and what may still come for it."""

    def __init__(self, ask: Ask) -> None:
        self.ask: Ask | None = ask
        self.wallet = ask.where.author
        self.problem = ""
        self.over = asyncio.Event()
        self.budget = Budget(FRAMES_PER_ASK, BYTES_PER_ASK)
        self.late = Budget(LATE_FRAMES, LATE_BYTES)

    def end(self, problem: str) -> None:
        """End the ask, whose problem is the first one."""
        self.problem = self.problem or problem
        self.ask = None
        self.over.set()


def guarded_dial(dialler: guarded_transport.GuardedDialler, tls: ssl.SSLContext) -> Dial:
    """Return how a relay is dialled: past no address guard, no redirect and no proxy."""

    async def dial(url: str, admit: Admit) -> ClientConnection:
        parts = urlsplit(url)
        host, secure = parts.hostname or "", parts.scheme == "wss"
        metered = partial(MeteredConnection, admit=admit)
        sock = await dialler.connect(host, parts.port or (443 if secure else 80), DIAL_SECONDS)
        try:
            return await connect(
                url,
                # any callable that makes a connection will do
                create_connection=cast("type[ClientConnection]", metered),
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

    return dial


class RelayConnection:
    """A connection with one task, which dials and then reads until the relay goes or `end`.

    `noisy` is called with the wallet's key where too much comes for one of its subscriptions.
    """

    def __init__(self, url: str, dial: Dial, noisy: Callable[[str], None]) -> None:
        self.url = url
        self.asks = 0
        self._dial = dial
        self._noisy = noisy
        # by the subscription's own name, and by the id of the event that was sent for it
        self._asked: dict[str, Subscription] = {}
        self._ended: deque[tuple[str, ...]] = deque()
        self._spare = Budget(MOST_FRAMES, MOST_BYTES)
        self._frames = 0
        self._current: Subscription | None = None  # of the message whose fragments come
        self._dropping = False
        self._ready = asyncio.Event()
        self._socket: ClientConnection | None = None
        self._problem = ""
        self.task = asyncio.create_task(self._run(), name=f"relay {urlsplit(url).hostname}")

    @property
    def usable(self) -> bool:
        return not self._problem

    async def ask(self, ask: Ask) -> None:
        """Send the question and put what answers it, until this call is cancelled.

        Raises Unreachable when the relay can't be reached or goes, or the wallet is too noisy.
        """
        await self._ready.wait()
        if self._problem:
            raise errors.Unreachable(self._problem)
        now = asyncio.get_running_loop().time
        name, seen, began = secrets.token_hex(8), self._frames, now()
        names = (name, ask.event.id) if ask.event else (name,)
        subscription = Subscription(ask)
        self._asked |= dict.fromkeys(names, subscription)
        self._spare.frames = min(self._spare.frames + FRAMES_PER_ASK, MOST_FRAMES)
        self._spare.size = min(self._spare.size + BYTES_PER_ASK, MOST_BYTES)
        try:
            await self._send(["REQ", name, ask.where.as_json()])
            if ask.event:
                await self._send(["EVENT", ask.event.as_json()])
            await subscription.over.wait()
            raise errors.Unreachable(subscription.problem)
        finally:
            subscription.end("")
            self._remember(names)
            if self._frames == seen and now() - began > SILENT_SECONDS:
                self.end("the relay is silent")
            if self.usable:
                with suppress(errors.Unreachable, TimeoutError):
                    async with asyncio.timeout(1):
                        await self._send(["CLOSE", name])

    def _remember(self, names: tuple[str, ...]) -> None:
        """Keep an ended subscription for what is still on its way, and forget the oldest."""
        self._ended.append(names)
        if len(self._ended) > MOST_ENDED:
            for name in self._ended.popleft():
                self._asked.pop(name, None)

    def silence(self, wallet: str) -> None:
        """End what is asked of a wallet here, and nothing else."""
        for subscription in self._asked.values():
            if subscription.ask and subscription.wallet == wallet:
                subscription.end(NOISE)

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
                self._socket = await self._dial(self.url, self._admit)
            self._ready.set()
            async for frame in self._socket:
                self._hear(frame)
        except (
            OSError,
            EOFError,
            ValueError,
            WebSocketException,
            errors.ForbiddenAddress,
        ) as error:
            self._problem = self._problem or _printable(f"{type(error).__name__}: {error}")
        finally:
            self._problem = self._problem or "the relay closed the connection"
            self._ready.set()
            for subscription in self._asked.values():
                subscription.end(self._problem)
            if self._socket:
                await self._socket.close()

    async def _send(self, message: list[Any]) -> None:
        assert self._socket
        try:
            await self._socket.send(json.dumps(message, ensure_ascii=False))
        except (OSError, WebSocketException) as error:
            raise errors.Unreachable(f"the relay is gone: {type(error).__name__}") from error

    def _admit(self, frame: Frame) -> bool:
        """Return whether a frame is read; count it for the subscription that it is about.

        Fragments count for the message that they belong to, pings for the connection.
        """
        self._frames += 1
        starts = frame.opcode in (Opcode.TEXT, Opcode.BINARY)
        if starts:
            found = _NAME.match(frame.data)
            self._current = self._asked.get(bytes(found[1]).decode()) if found else None
        of_message = starts or frame.opcode is Opcode.CONT
        about = self._current if of_message else None
        self._count(about, len(frame.data), int(starts))
        if starts:
            self._dropping = about is not None and about.ask is None
        return self.usable and not (of_message and self._dropping)

    def _count(self, about: Subscription | None, size: int, messages: int) -> None:
        """Count a frame; what is too much ends its subscription, or the connection."""
        if about is None:
            if not self._spare.spend(size):
                self.end(FLOOD)
            return
        if not about.late.spend(size):
            self.end(FLOOD)
        if not about.budget.spend(size + FRAGMENT_COST, messages) and about.problem != NOISE:
            about.problem = NOISE
            self._noisy(about.wallet)

    def _hear(self, frame: str | bytes) -> None:
        try:
            self._dispatch(exact_json.loads(frame, depth=5))
        except (exact_json.JsonError, errors.BadAnswer):
            return  # as if it had not come: a relay is trusted with nothing

    def _dispatch(self, message: Any) -> None:
        match message:
            case [str(kind), str(name), *rest] if subscription := self._asked.get(name):
                if ask := subscription.ask:
                    self._answer(ask, kind, rest)

    def _answer(self, ask: Ask, kind: str, rest: list[Any]) -> None:
        match kind, rest:
            case "EVENT", [event]:
                read = nostr.read_event(event)
                if ask.where.matches(read):
                    ask.tell(read)
            case "EOSE", _:
                ask.tell(NoMore(self.url))
            case ("CLOSED", why) | ("OK", [False, *why]):
                ask.tell(Refusal(self.url, _text(why)))


def _text(parts: list[Any]) -> str:
    return _printable(str(parts[0])) if parts else "no reason"


def _printable(words: str) -> str:
    """Return others' words as they can be logged."""
    return "".join(char for char in words[:200] if char.isprintable())
