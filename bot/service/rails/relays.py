"""Connections to relays (NIP-01): few, shared by all calls over a relay, and closed when idle."""

from __future__ import annotations

import asyncio
import re
import secrets
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from urllib.parse import urlsplit

import nostr_sdk
import structlog
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException
from websockets.frames import Frame, Opcode

from bot.core import errors, exact_json
from bot.core.net import guarded_transport, webhook_addresses

if TYPE_CHECKING:
    from websockets.protocol import Event as Received

log = structlog.get_logger()

MAX_FRAME = 576 * 1024
"""Maximum bytes of a message: the largest events that relays accept have 512 KiB. A longer message
can't be skipped and ends the connection.
"""

DIAL_SECONDS = 6.0
"""Seconds for DNS, TCP, TLS and WebSocket, out of the ten seconds for a whole call."""

PING_SECONDS = 20.0
"""Seconds between pings, and time limit for the answer to a ping."""

SILENT_SECONDS = 3.0
"""Seconds without any message during an ask after which the connection counts as dead, because
pings detect half-open connections only later.
"""

# Limits on what a relay sends. An ask needs three messages. If a wallet sends too many events, only
# its own asks end, because other wallets share the connection. A relay that sends too much is
# disconnected.

FRAMES_PER_ASK, BYTES_PER_ASK = 25, 160 * 1024
"""Maximum frames and bytes for one subscription; beyond that only this subscription is closed."""

FRAGMENT_COST = 64
"""Extra bytes charged per frame. Relays send fragments of 4 KiB; a message in fragments of one byte
takes as much time as a long message.
"""

LATE_FRAMES, LATE_BYTES = 4_000, 16 * 1024 * 1024
"""Maximum frames and bytes for a closed subscription before the relay has processed the close. They
are dropped unread.
"""

MOST_FRAMES, MOST_BYTES = 400, 16 * BYTES_PER_ASK
"""Maximum frames and bytes outside subscriptions, such as pings and notices. Each ask adds its own
limit up to this maximum.
"""

MOST_ENDED = 200
"""Ended subscriptions to remember, so that frames in transit are still counted for them."""

PIECE = 4 * 1024
"""Bytes to parse before frames are counted: 80,000 pings received at once would block the event
loop for a second.
"""

MOST_HEARD = 32
"""Maximum queued events per ask; further events are dropped."""

NOISE = "the wallet sent more than was asked for"
FLOOD = "the relay sent more than was asked for"

_NAME = re.compile(rb'\s*\[\s*"(?:EVENT|EOSE|CLOSED|OK)"\s*,\s*"([0-9a-f]{16,64})"')
"""Finds the subscription or event of a message without parsing the message."""


@dataclass(slots=True)
class Budget:
    """Frames and bytes that may still arrive."""

    frames: int
    size: int

    def spend(self, size: int, frames: int = 1) -> bool:
        """Count received data; return False if it exceeds the budget."""
        self.frames -= frames
        self.size -= size
        return self.frames >= 0 and self.size >= 0


class MeteredConnection(ClientConnection):
    """A WebSocket that drops frames refused by `admit` before any other processing."""

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
    """A relay has sent all stored events."""

    url: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A relay did not accept the ask, or can't be reached."""

    url: str
    why: str
    """The relay's text, at most 200 characters."""


Heard: TypeAlias = nostr_sdk.Event | NoMore | Refusal


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to relays."""

    wallet: str
    """Public key of the wallet, the author of all answers."""

    where: nostr_sdk.Filter
    """Which events answer it."""

    event: nostr_sdk.Event | None
    """The event to send, None to only listen."""

    heard: asyncio.Queue[Heard]
    """Where answers are put."""

    def tell(self, heard: Heard) -> None:
        with suppress(asyncio.QueueFull):
            self.heard.put_nowait(heard)


class Subscription:
    """An ask at one relay, and the data that may still arrive for it."""

    def __init__(self, ask: Ask) -> None:
        self.ask: Ask | None = ask  # None after the end
        self.wallet = ask.wallet
        self.problem = ""
        self.over = asyncio.Event()
        self.budget = Budget(FRAMES_PER_ASK, BYTES_PER_ASK)
        self.late = Budget(LATE_FRAMES, LATE_BYTES)

    def end(self, problem: str) -> None:
        """End the ask; only the first problem is kept."""
        self.problem = self.problem or problem
        self.ask = None
        self.over.set()


def guarded_dial(dialler: guarded_transport.GuardedDialler, tls: ssl.SSLContext) -> Dial:
    """Return a function that connects to relays through the address guard, without a proxy."""

    async def dial(url: str, admit: Admit) -> ClientConnection:
        parts = urlsplit(url)
        host, secure = parts.hostname or "", parts.scheme == "wss"
        metered = partial(MeteredConnection, admit=admit)
        sock = await dialler.connect(host, parts.port or (443 if secure else 80), DIAL_SECONDS)
        try:
            return await connect(
                url,
                # any callable that makes a connection works
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
    """A connection with one task that connects, then reads until the relay disconnects or `end`.

    `noisy` is called with a wallet's key if one of its subscriptions receives too much.
    """

    def __init__(self, url: str, dial: Dial, noisy: Callable[[str], None]) -> None:
        self.url = url
        self.asks = 0
        self._dial = dial
        self._noisy = noisy
        # By subscription name, and by the id of the event sent for it.
        self._asked: dict[str, Subscription] = {}
        self._ended: deque[tuple[str, ...]] = deque()
        self._spare = Budget(MOST_FRAMES, MOST_BYTES)
        self._frames = 0
        self._current: Subscription | None = None  # of the message whose fragments are arriving
        self._dropping = False
        self._ready = asyncio.Event()
        self._socket: ClientConnection | None = None
        self._problem = ""
        self.task = asyncio.create_task(self._run(), name=f"relay {urlsplit(url).hostname}")

    @property
    def usable(self) -> bool:
        return not self._problem

    async def ask(self, ask: Ask) -> None:
        """Send the question and queue the answers, until this call is cancelled.

        Raises Unreachable if the relay can't be reached or disconnects, or if the wallet is too
        noisy.
        """
        await self._ready.wait()
        if self._problem:
            raise errors.Unreachable(self._problem)
        now = asyncio.get_running_loop().time
        name, seen, began = secrets.token_hex(8), self._frames, now()
        names = (name, ask.event.id().to_hex()) if ask.event else (name,)
        subscription = Subscription(ask)
        self._asked |= dict.fromkeys(names, subscription)
        self._spare.frames = min(self._spare.frames + FRAMES_PER_ASK, MOST_FRAMES)
        self._spare.size = min(self._spare.size + BYTES_PER_ASK, MOST_BYTES)
        try:
            await self._send(nostr_sdk.ClientMessage.req(name, ask.where))
            if ask.event:
                await self._send(nostr_sdk.ClientMessage.event(ask.event))
            await subscription.over.wait()
            raise errors.Unreachable(subscription.problem)
        finally:
            subscription.end("")
            # It is remembered for frames in transit, and the oldest is forgotten.
            self._ended.append(names)
            if len(self._ended) > MOST_ENDED:
                for old in self._ended.popleft():
                    self._asked.pop(old, None)
            if self._frames == seen and now() - began > SILENT_SECONDS:
                self.end("the relay is silent")
            if self.usable:
                with suppress(errors.Unreachable, TimeoutError):
                    async with asyncio.timeout(1):
                        await self._send(nostr_sdk.ClientMessage.close(name))

    def silence(self, wallet: str) -> None:
        """End the asks about one wallet."""
        for subscription in self._asked.values():
            if subscription.ask and subscription.wallet == wallet:
                subscription.end(NOISE)

    def end(self, problem: str) -> None:
        """Close the connection at once; all asks end with an error."""
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
                # A relay isn't trusted, so an unreadable answer counts as not sent.
                with suppress(exact_json.JsonError, errors.BadAnswer):
                    self._dispatch(exact_json.loads(frame, depth=5))
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

    async def _send(self, message: nostr_sdk.ClientMessage) -> None:
        assert self._socket
        try:
            await self._socket.send(message.as_json())
        except (OSError, WebSocketException) as error:
            raise errors.Unreachable(f"the relay is gone: {type(error).__name__}") from error

    def _admit(self, frame: Frame) -> bool:
        """Count a frame for its subscription; return False to drop it.

        Fragments count towards their message, pings towards the connection.
        """
        self._frames += 1
        starts = frame.opcode in (Opcode.TEXT, Opcode.BINARY)
        if starts:
            found = _NAME.match(frame.data)
            self._current = self._asked.get(bytes(found[1]).decode()) if found else None
        of_message = starts or frame.opcode is Opcode.CONT
        about = self._current if of_message else None
        size = len(frame.data)
        # If a limit is exceeded, the subscription or the connection ends.
        if not (about.late if about else self._spare).spend(size):
            self.end(FLOOD)
        is_noise = about and not about.budget.spend(size + FRAGMENT_COST, int(starts))
        if about and is_noise and about.problem != NOISE:
            about.problem = NOISE
            self._noisy(about.wallet)
        if starts:
            self._dropping = about is not None and about.ask is None
        return self.usable and not (of_message and self._dropping)

    def _dispatch(self, message: Any) -> None:
        match message:
            case [str(), str(name), *_] if (found := self._asked.get(name)) and found.ask:
                ask = found.ask
            case _:
                return
        match message:
            case ["EVENT", _, event]:
                read = read_event(event)
                if ask.where.match_event(read):
                    ask.tell(read)
            case ["EOSE", *_]:
                ask.tell(NoMore(self.url))
            case ["CLOSED", _, *why] | ["OK", _, False, *why]:
                ask.tell(Refusal(self.url, _printable(str(why[0])) if why else "no reason"))


FAILURES = (nostr_sdk.NostrSdkError, nostr_sdk.InternalError)
"""What nostr-sdk raises: for wrong input, and if its Rust code panics."""


def read_event(data: Any) -> nostr_sdk.Event:
    """Read an event that a relay sent. Raises BadAnswer unless its id and signature are valid."""
    try:
        event = nostr_sdk.Event.from_json(exact_json.dumps(data))
        is_valid = event.verify()
    except FAILURES:
        is_valid = False
    if not is_valid:
        raise errors.BadAnswer("The event is damaged, or its signature does not hold.")
    return event


def _printable(words: str) -> str:
    """Return a relay's text in a form that is safe to log."""
    return "".join(char for char in words[:200] if char.isprintable())


# All connections.

ASKS_PER_CONNECTION = 16
"""Simultaneous asks on a connection: relays commonly allow twenty subscriptions."""

MOST_CONNECTIONS = 200
"""Simultaneous connections to all relays: about 200 MiB if all send their largest message."""

ZONE_CONNECTIONS = 40
"""Simultaneous connections to one zone, whose owner can invent any number of silent relays."""

IDLE_SECONDS = 30.0
"""Seconds without an ask after which a connection is closed."""

NOISY_SECONDS = 300.0
"""Seconds for which a wallet isn't asked at a relay after it sent too much."""


def zone_of(url: str) -> str:
    """Return the zone of a relay's host."""
    return webhook_addresses.zone_of(urlsplit(url).hostname or "")


class Relays:
    """Asks relays over shared connections."""

    def __init__(self, dial: Dial, idle: float = IDLE_SECONDS) -> None:
        self._dial = dial
        self._idle = idle
        self._open: dict[str, list[RelayConnection]] = {}
        self._ends: dict[RelayConnection, asyncio.TimerHandle] = {}
        # By relay and wallet key: until when the wallet isn't asked there, oldest first.
        self._noisy: dict[tuple[str, str], float] = {}

    @property
    def connections(self) -> int:
        return sum(map(len, self._open.values()))

    @asynccontextmanager
    async def asking(
        self,
        urls: Sequence[str],
        wallet: str,
        where: nostr_sdk.Filter,
        event: nostr_sdk.Event | None = None,
    ) -> AsyncIterator[asyncio.Queue[Heard]]:
        """Ask several relays about a wallet until the block ends; yield the queue of answers.

        An unreachable relay yields a Refusal.
        """
        ask = Ask(wallet, where, event, asyncio.Queue(MOST_HEARD))
        tasks = [asyncio.create_task(self._ask(url, ask)) for url in urls]
        try:
            yield ask.heard
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """Close all connections."""
        for timer in self._ends.values():
            timer.cancel()
        tasks = [connection.task for each in self._open.values() for connection in each]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self, url: str, ask: Ask) -> None:
        try:
            connection = self._connection(url, ask.wallet)
            connection.asks += 1
            try:
                await connection.ask(ask)
            finally:
                connection.asks -= 1
                if connection.usable and not connection.asks:
                    later = asyncio.get_running_loop().call_later
                    self._ends[connection] = later(self._idle, connection.end, "idle")
        except errors.Unreachable as error:
            ask.tell(Refusal(url, str(error)))

    def _connection(self, url: str, wallet: str) -> RelayConnection:
        """Return a connection with room for an ask. Raises Unreachable."""
        if self._noisy.get((url, wallet), 0) > asyncio.get_running_loop().time():
            raise errors.Unreachable(NOISE)
        for connection in self._open.get(url, ()):
            if connection.usable and connection.asks < ASKS_PER_CONNECTION:
                if timer := self._ends.pop(connection, None):
                    timer.cancel()
                return connection
        self._make_room(zone_of(url))
        connection = RelayConnection(url, self._dial, partial(self._silence, url))
        self._open.setdefault(url, []).append(connection)
        connection.task.add_done_callback(lambda _: self._forget(connection))
        return connection

    def _silence(self, url: str, wallet: str) -> None:
        """Stop asking a wallet at a relay for a while; other wallets are not affected."""
        now = asyncio.get_running_loop().time()
        self._noisy = {known: until for known, until in self._noisy.items() if until > now}
        self._noisy[url, wallet] = now + NOISY_SECONDS
        for connection in self._open.get(url, ()):
            connection.silence(wallet)
        host = urlsplit(url).hostname
        log.warning("a wallet sends too much", relay=host, wallet=wallet, seconds=NOISY_SECONDS)

    def _make_room(self, zone: str) -> None:
        """End an idle connection if the zone needs room. Raises Unreachable if all are in use."""
        of_zone = sum(len(each) for url, each in self._open.items() if zone_of(url) == zone)
        if of_zone >= ZONE_CONNECTIONS:
            idles = (one for one in self._ends if zone_of(one.url) == zone)
        elif self.connections >= MOST_CONNECTIONS:
            idles = (one for one in self._ends)
        else:
            return
        idle = next(idles, None)  # idle for the longest time
        if idle is None:
            raise errors.Unreachable("too many relays are connected")
        self._ends.pop(idle).cancel()
        idle.end("another relay is needed")

    def _forget(self, connection: RelayConnection) -> None:
        if timer := self._ends.pop(connection, None):
            timer.cancel()
        self._open[connection.url].remove(connection)
        if not self._open[connection.url]:
            del self._open[connection.url]
