"""The world of the sandbox: one bot, the people it talks to, their chats and what is said.

Everything is in memory and belongs to one event loop. The bot acts through the Bot API
(`bot.sandbox.web.server`), people through `bot.sandbox.world.people`.
"""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from bot.sandbox.world import errors, files, model

TOKEN = "42:sandbox-0123456789-abcdefghijklmnopqrst"  # noqa: S105 - opens nothing but the sandbox
BOT = model.User(42, "Payment Requests", username="PaymentRequestBot", is_bot=True)
WEBHOOK_BACKOFF = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
WAIT_SECONDS = 15.0

T = TypeVar("T")


# How changes reach the bot and the chat page: bell, feed, updates, webhook.


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


EVENTS_KEPT = 2000


class Feed:
    """The newest events, numbered, for watchers from outside such as the chat page."""

    def __init__(self, first: int) -> None:
        self.seq = first
        self._events: deque[model.Json] = deque(maxlen=EVENTS_KEPT)

    def add(self, kind: str, chat_id: int, **more: Any) -> None:
        self.seq += 1
        self._events.append({"seq": self.seq, "type": kind, "chat_id": chat_id, **more})

    def since(self, seq: int) -> list[model.Json] | None:
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
        self.pending: deque[model.Json] = deque()
        self.allowed: frozenset[str] = frozenset()
        self._next = first

    def allow(self, kinds: Iterable[str] | None) -> None:
        """Store allowed_updates: None keeps the last choice, an empty list means the default."""
        if kinds is not None:
            self.allowed = frozenset(map(str, kinds))

    def put(self, kind: str, body: model.Json) -> bool:
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

    def first(self, limit: int) -> list[model.Json]:
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


# The world.


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a Bot API method."""

    method: str
    params: model.Json
    time: float

    code: int = 200
    """200, or the code of the error that answered it."""

    reason: str = ""


class World:
    """The state of one sandbox."""

    def __init__(
        self,
        token: str = TOKEN,
        *,
        bot: model.User = BOT,
        limits: errors.Limits | None = None,  # Telegram's by default
        now: Callable[[], float] = time.time,  # epoch seconds
        webhook_backoff: Sequence[float] = WEBHOOK_BACKOFF,  # seconds between attempts
        inline_feedback: bool = False,  # BotFather's switch: the bot gets chosen_inline_result
    ) -> None:
        self.token = token
        self.bot = bot
        self.now = now
        self.inline_feedback = inline_feedback
        self.bell = Bell()
        self.faults = errors.Faults()
        self.files = files.Files()
        self.mails = model.Mails()
        self.profile = model.Profile()
        self.limiter = errors.Limiter(limits or errors.Limits())
        self.users: dict[int, model.User] = {}
        self.profile_photos: dict[int, list[list[model.Json]]] = {}  # newest first; empty if hidden
        self.chats: dict[int, model.Chat] = {}
        self.calls: list[Call] = []
        self.refused: list[Call] = []
        self.callbacks: dict[str, model.CallbackQuery] = {}
        self.inline_queries: dict[str, model.InlineQuery] = {}
        self.inline_cache: dict[tuple[str, str, int], tuple[float, model.InlineQuery]] = {}
        self.inline_messages: dict[str, model.Message] = {}
        self.polls = 0  # calls of getUpdates so far; a new call ends the previous one
        self.first = first_id(now())
        self.feed = Feed(self.first)
        self.updates = Updates(self.first)
        self.webhook = Webhook(self.updates, self.bell, now, webhook_backoff)

    # -- for tests, and for programs that embed the world

    async def wait_for(self, condition: Callable[[], T], seconds: float = WAIT_SECONDS) -> T:
        """Wait until `condition()` is true, and return its value. Errors: TimeoutError."""
        if value := await self.bell.until(condition, seconds):
            return value
        raise TimeoutError(f"nothing within {seconds} s; calls: {self.calls[-5:]}")

    async def bot_message(
        self,
        chat: model.Chat,
        containing: str = "",
        *,
        after: int = 0,
        seconds: float = WAIT_SECONDS,
    ) -> model.Message:
        """Wait for the bot's first message in `chat` above the id `after` with these words."""

        def find() -> model.Message | None:
            found = (m for m in chat.from_bot() if m.id > after and containing in m.text)
            return next(found, None)

        message = await self.wait_for(find, seconds)
        assert message is not None
        return message

    def calls_of(self, *methods: str) -> list[Call]:
        """Return the accepted calls of these methods, in order."""
        return [call for call in self.calls if call.method in methods]

    async def close(self) -> None:
        """End every wait (getUpdates, page, tests) and the delivery to the webhook."""
        self.bell.close()
        await self.webhook.close()

    # -- what happens to chats and messages

    def add_user(self, user: model.User) -> model.User:
        self.users[user.id] = user
        return user

    def add_chat(
        self, chat_id: int, kind: model.ChatKind, members: Sequence[model.User], title: str
    ) -> model.Chat:
        by_id = {member.id: member for member in members}
        chat = model.Chat(chat_id, kind, by_id, self.first, title)
        self.chats[chat_id] = chat
        self.changed("chat", chat)
        return chat

    def post(
        self,
        chat: model.Chat,
        sender: model.User,
        draft: model.Draft,
        *,
        reply_to: model.Message | None = None,
        via_bot: model.User | None = None,
    ) -> model.Message:
        """Put a message into a chat, dated now."""
        message = model.Message(
            chat, chat.next_id(), sender, int(self.now()), draft.content, draft.markup,
            reply_to, via_bot, options=draft.options,
        )  # fmt: skip
        chat.messages[message.id] = message
        self.changed("message", chat, message=message.id)
        return message

    def revise(self, message: model.Message, draft: model.Draft) -> None:
        """Replace the content of a message, and keep the old content in its history."""
        since = message.edit_date or message.date
        message.history.append(model.Version(since, message.content, message.markup))
        message.content, message.markup = draft.content, draft.markup
        message.edit_date = int(self.now())
        self.changed("message", message.chat, message=message.id)

    def remove(self, message: model.Message) -> None:
        message.deleted = True
        self.changed("deleted", message.chat, message=message.id)

    def remember_inline(self, message: model.Message) -> str:
        """Assign the id with which the bot may edit a message that was sent via it."""
        message.inline_message_id = secrets.token_urlsafe(20)
        self.inline_messages[message.inline_message_id] = message
        return message.inline_message_id

    def deliver(self, content: bytes, recipients: tuple[str, ...]) -> None:
        """Keep an email, and notify everybody's pages. Errors: as for Mails.add."""
        mail = self.mails.add(content, recipients, int(self.now()))
        self.feed.add("mail", 0, mail=mail.id)
        self.bell.ring()

    def push(self, kind: str, body: model.Json) -> None:
        """Send the bot an update."""
        self.updates.put(kind, body)
        self.bell.ring()

    def changed(self, kind: str, chat: model.Chat, **more: Any) -> None:
        """Notify all waiters and the chat page."""
        self.feed.add(kind, chat.id, **more)
        self.bell.ring()
