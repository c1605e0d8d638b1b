"""Deliver changes of the world to the bot and the chat page: bell, feed, updates, webhook."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

T = TypeVar("T")


class Bell:
    """Rung at every change, so that waiters check their conditions again; closing ends all waits.

    Belongs to one event loop, like the world that it serves.
    """

    def __init__(self) -> None:
        self.closed = False
        self._waiting: dict[asyncio.Future[None], None] = {}  # in the order of their coming

    def ring(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    def close(self) -> None:
        self.closed = True
        self.ring()

    async def until(self, condition: Callable[[], T], seconds: float) -> T:
        """Wait until `condition()` is true; return its last value, also after `seconds`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not (value := condition()) and not self.closed and loop.time() < deadline:
            await self._wait(deadline)
        return value

    async def pause(self, seconds: float) -> None:
        """Wait for so many seconds, or until the world is closed."""
        await self.until(lambda: False, seconds)

    async def _wait(self, deadline: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[future] = None
        try:
            async with asyncio.timeout_at(deadline):
                await future
        except TimeoutError:
            return
        finally:
            self._waiting.pop(future, None)


Json = dict[str, Any]

EVENTS_KEPT = 2000


class Feed:
    """The newest events, numbered, for watchers from outside such as the chat page."""

    def __init__(self, first: int) -> None:
        self.seq = first
        self._events: deque[Json] = deque(maxlen=EVENTS_KEPT)

    def add(self, kind: str, chat_id: int, **more: Any) -> None:
        self.seq += 1
        self._events.append({"seq": self.seq, "type": kind, "chat_id": chat_id, **more})

    def since(self, seq: int) -> list[Json] | None:
        """Return the events after the number `seq`; None if some of them are no longer kept."""
        oldest = self._events[0]["seq"] if self._events else self.seq + 1
        if not oldest - 1 <= seq <= self.seq:
            return None
        return [event for event in self._events if event["seq"] > seq]


_EPOCH = 1_735_689_600  # 2025-01-01
_PER_SECOND = 8  # faster than people can click
_POSITIVE_INT32 = 2**31


def first_id(now: float) -> int:
    """Return the first id, which is higher at each start of the world.

    A bot remembers ids across restarts of the sandbox, which remembers nothing: ids that restarted
    at one would look like repeats.
    """
    return max(int((now - _EPOCH) * _PER_SECOND), 0) % _POSITIVE_INT32 + 1


_ON_REQUEST = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
"""Kinds that are sent only to bots that ask for them by name (getUpdates, allowed_updates)."""


class Updates:
    """The queue of updates for the bot, which keeps them until the bot has confirmed them."""

    def __init__(self, first: int) -> None:
        self.pending: deque[Json] = deque()
        self.allowed: frozenset[str] = frozenset()
        self._next = first

    def allow(self, kinds: Iterable[str] | None) -> None:
        """Store allowed_updates: None keeps the last choice, an empty list means the default."""
        if kinds is not None:
            self.allowed = frozenset(map(str, kinds))

    def put(self, kind: str, body: Json) -> bool:
        """Queue an update; return False if the bot doesn't want its kind."""
        is_wanted = kind in self.allowed if self.allowed else kind not in _ON_REQUEST
        if is_wanted:
            self.pending.append({"update_id": self._next, kind: body})
            self._next += 1
        return is_wanted

    def confirm(self, offset: int) -> None:
        """Forget the updates before `offset`; a negative offset keeps that many newest updates."""
        if offset < 0:
            offset = self._next + offset
        while self.pending and self.pending[0]["update_id"] < offset:
            self.pending.popleft()

    def first(self, limit: int) -> list[Json]:
        return [update for update, _ in zip(self.pending, range(limit), strict=False)]


SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - the header's name
TIMEOUT_SECONDS = 30.0
FIRST_WAIT = 3600.0


@dataclass(slots=True)
class Webhook:
    """Delivers updates to the bot's webhook: in order, one at a time, repeated until a 2xx answer.

    Source: core.telegram.org/bots/api#setwebhook.
    """

    updates: Updates
    bell: Bell
    now: Callable[[], float]

    backoff: Sequence[float]
    """Seconds between attempts; the last value is repeated."""

    url: str = ""
    """Empty while the bot polls."""

    secret: str = ""
    max_connections: int = 40
    last_error: tuple[int, str] | None = None
    _task: asyncio.Task[None] | None = field(default=None, repr=False)

    def set(self, url: str, secret: str, max_connections: int) -> None:
        """Deliver to `url` from now on; "" stops deliveries."""
        self.stop()
        self.url, self.secret, self.max_connections = url, secret, max_connections
        self.last_error = None
        if url:
            self._task = asyncio.get_running_loop().create_task(self._deliver_all())

    def stop(self) -> None:
        if self._task:
            self._task.cancel()
            self._task = None

    async def close(self) -> None:
        """Stop and wait for the current delivery to end."""
        task = self._task
        self.stop()
        if task:
            with suppress(asyncio.CancelledError):
                await task

    def json(self) -> dict[str, Any]:
        """Return the WebhookInfo object."""
        info: dict[str, Any] = {
            "url": self.url,
            "has_custom_certificate": False,
            "pending_update_count": len(self.updates.pending),
        }
        if self.url:
            info["max_connections"] = self.max_connections
        if self.last_error:
            info["last_error_date"], info["last_error_message"] = self.last_error
        if self.updates.allowed:
            info["allowed_updates"] = sorted(self.updates.allowed)
        return info

    async def _deliver_all(self) -> None:
        headers = {SECRET_HEADER: self.secret} if self.secret else {}
        async with httpx.AsyncClient(headers=headers, timeout=TIMEOUT_SECONDS) as client:
            while not self.bell.closed:
                await self.bell.until(lambda: self.updates.pending, FIRST_WAIT)
                if self.updates.pending:
                    await self._deliver_first(client)

    async def _deliver_first(self, client: httpx.AsyncClient) -> None:
        update = self.updates.pending[0]
        attempt = 0
        while problem := await self._post(client, update):
            self.last_error = int(self.now()), problem
            self.bell.ring()
            await self.bell.pause(self.backoff[min(attempt, len(self.backoff) - 1)])
            attempt += 1
            if self.bell.closed:
                return
        self.updates.confirm(update["update_id"] + 1)
        self.bell.ring()

    async def _post(self, client: httpx.AsyncClient, update: dict[str, Any]) -> str:
        """Send an update; return "" or the error, as getWebhookInfo shows it."""
        try:
            response = await client.post(self.url, json=update)
        except httpx.TimeoutException:
            return "Read timeout expired"
        except httpx.HTTPError:
            return "Connection failed"
        if response.is_success:
            return ""
        return f"Wrong response from the webhook: {response.status_code} {response.reason_phrase}"
