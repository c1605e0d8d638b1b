"""The world of the sandbox: one bot, the people it talks to, their chats and what is said.

Everything is in memory and belongs to one event loop. The bot acts through the Bot API
(`bot.sandbox.web.server`), people through `bot.sandbox.world.people`.
"""

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bot.sandbox.world import errors, files, model, updates

TOKEN = "42:sandbox-0123456789-abcdefghijklmnopqrst"  # noqa: S105 - opens nothing but the sandbox
BOT = model.User(42, "Payment Requests", username="PaymentRequestBot", is_bot=True)
WEBHOOK_BACKOFF = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
WAIT_SECONDS = 15.0

T = TypeVar("T")


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
        privacy: bool = True,  # BotFather's switch: talk in groups is hidden from the bot
    ) -> None:
        self.token = token
        self.bot = bot
        self.now = now
        self.inline_feedback = inline_feedback
        self.privacy = privacy
        self.bell = updates.Bell()
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
        self.first = updates.first_id(now())
        self.feed = updates.Feed(self.first)
        self.updates = updates.Updates(self.first)
        self.webhook = updates.Webhook(self.updates, self.bell, now, webhook_backoff)

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
