"""People, chats, messages, queries and emails, and how they are written as JSON.

Dates are whole UTC seconds since the epoch.
"""

import email
import email.policy
import re
from collections import deque
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any, Literal

Json = dict[str, Any]
ChatKind = Literal["private", "group", "supergroup", "dialog"]
BotStatus = Literal["new", "member", "left", "kicked"]

START_PAYLOAD = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""The payload of a deep link. Source: core.telegram.org/bots/features#deep-linking."""


@dataclass(frozen=True, slots=True)
class User:
    """A person or the bot; `language_code` may be missing, as in Telegram."""

    id: int
    first_name: str
    last_name: str = ""
    username: str = ""
    language_code: str | None = None
    is_bot: bool = False

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()

    def json(self) -> Json:
        user: Json = {"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name}
        more = {
            "last_name": self.last_name,
            "username": self.username,
            "language_code": self.language_code,
        }
        return user | {name: value for name, value in more.items() if value}


@dataclass(slots=True)
class Version:
    """The content of a message from `date` on, before it was edited."""

    date: int
    content: Json
    markup: Json | None


@dataclass(slots=True, eq=False)
class Message:
    """A message as everybody in its chat sees it now, with its former contents."""

    chat: "Chat"
    id: int
    sender: User
    date: int

    content: Json
    """The Bot API's fields: text, entities, photo, document, video and the like, caption,
    caption_entities and service fields."""

    markup: Json | None = None
    reply_to: "Message | None" = None
    via_bot: User | None = None
    inline_message_id: str | None = None

    options: Json = field(default_factory=dict)
    """Other parameters of the call that sent it, such as disable_notification."""

    edit_date: int | None = None
    history: list[Version] = field(default_factory=list)
    deleted: bool = False

    @property
    def text(self) -> str:
        """Return the text or caption; "" if there is neither."""
        return str(self.content.get("text", self.content.get("caption", "")))

    @property
    def entities(self) -> list[Json]:
        found = self.content.get("entities") or self.content.get("caption_entities")
        return list(found or [])

    @property
    def keyboard(self) -> list[list[Json]]:
        """Return the rows of the inline keyboard."""
        return list((self.markup or {}).get("inline_keyboard", []))

    @property
    def buttons(self) -> list[Json]:
        """Return every inline button, row after row."""
        return [button for row in self.keyboard for button in row]

    @property
    def photo(self) -> str | None:
        """Return the file_id of the picture's largest size."""
        sizes = self.content.get("photo")
        return str(sizes[-1]["file_id"]) if sizes else None

    def button(self, wanted: str) -> Json:
        """Return the button whose text or data equals `wanted`, or else whose text contains it.

        Errors: LookupError, which names the buttons.
        """
        for button in self.buttons:
            if wanted in (button["text"], button.get("callback_data")):
                return button
        for button in self.buttons:
            if wanted in button["text"]:
                return button
        names = [button["text"] for button in self.buttons]
        raise LookupError(f"no button {wanted!r} among {names}")

    def json(self, *, nested: bool = False) -> Json:
        """Write the Message object; a replied-to message is nested one level deep."""
        message: Json = {
            "message_id": self.id,
            "from": self.sender.json(),
            "chat": self.chat.json(),
            "date": self.date,
        }
        if self.reply_to and not nested and not self.reply_to.deleted:
            message["reply_to_message"] = self.reply_to.json(nested=True)
        if self.via_bot:
            message["via_bot"] = self.via_bot.json()
        if self.edit_date:
            message["edit_date"] = self.edit_date
        if self.keyboard:
            message["reply_markup"] = self.markup
        shown = "message_thread_id is_topic_message link_preview_options"
        for name in shown.split():
            if self.options.get(name):
                message[name] = self.options[name]
        return message | self.content


@dataclass(slots=True, eq=False)
class Chat:
    """A chat of a person with the bot, a chat of two people, or a group."""

    id: int

    kind: ChatKind
    """A `private` chat is between a person and the bot and has the person's id; a `dialog` is
    between two people and unknown to the bot."""

    members: dict[int, User]
    first_message_id: int
    title: str = ""

    bot_status: BotStatus = "new"
    """`new` until the person has pressed Start."""

    migrated_to: int | None = None
    topics: set[int] = field(default_factory=set)
    """The ids of topics, each the id of its first message; a supergroup with topics is a forum."""

    messages: dict[int, Message] = field(default_factory=dict, repr=False)
    _last_id: int = 0

    @property
    def is_group(self) -> bool:
        return self.kind in ("group", "supergroup")

    @property
    def visible(self) -> list[Message]:
        """Return the messages that are not deleted, oldest first."""
        return [message for message in self.messages.values() if not message.deleted]

    @property
    def last(self) -> Message | None:
        return next(reversed(self.visible), None)

    def from_bot(self) -> list[Message]:
        """Return the bot's messages that are not deleted, oldest first."""
        return [message for message in self.visible if message.sender.is_bot]

    def next_id(self) -> int:
        self._last_id = max(self._last_id + 1, self.first_message_id)
        return self._last_id

    def json(self) -> Json:
        if self.kind != "private":
            forum = {"is_forum": True} if self.topics else {}
            return {"id": self.id, "type": self.kind, "title": self.title} | forum
        person = next(iter(self.members.values()))
        names = ("id", "first_name", "last_name", "username")
        shown = {name: value for name, value in person.json().items() if name in names}
        return shown | {"type": "private"}


@dataclass(slots=True, eq=False)
class CallbackQuery:
    """A press on a button, and the bot's answer to it."""

    id: str
    sender: User
    message: Message
    data: str
    date: float
    answer: Json | None = None  # text, show_alert, url

    def json(self) -> Json:
        query: Json = {
            "id": self.id,
            "from": self.sender.json(),
            "chat_instance": str(self.message.chat.id),
            "data": self.data,
        }
        if self.message.inline_message_id:
            return query | {"inline_message_id": self.message.inline_message_id}
        return query | {"message": self.message.json()}


@dataclass(slots=True, eq=False)
class InlineQuery:
    """Words after the bot's name, and the results that the bot offered for them."""

    id: str
    sender: User
    query: str
    offset: str
    chat_kind: str
    date: float
    answered: bool = False

    results: list[Json] = field(default_factory=list)
    """The InlineQueryResult objects as the bot sent them."""

    drafts: dict[str, "Draft"] = field(default_factory=dict)
    """By the id of a result, the message that choosing it posts."""

    next_offset: str = ""
    button: Json | None = None

    def json(self) -> Json:
        return {
            "id": self.id,
            "from": self.sender.json(),
            "query": self.query,
            "offset": self.offset,
            "chat_type": self.chat_kind,
        }


@dataclass(frozen=True, slots=True)
class Draft:
    """A message ready to be posted: content and keyboard."""

    content: Json
    markup: Json | None
    options: Json = field(default_factory=dict)


def topic_options(topic: int) -> Json:
    """Return the options of a message in a topic; {} for 0, the General topic."""
    return {"message_thread_id": topic, "is_topic_message": True} if topic else {}


@dataclass(slots=True)
class Profile:
    """The bot's texts and commands by language code, "" for everybody else."""

    texts: dict[tuple[str, str], str] = field(default_factory=dict)
    """By kind (description, short_description) and language."""

    commands: dict[str, list[Json]] = field(default_factory=dict)

    def text(self, kind: str, language: str) -> str:
        """Return the text for a language, else the text for everybody, else ""."""
        return self.texts.get((kind, language)) or self.texts.get((kind, ""), "")

    def commands_for(self, language: str) -> list[Json]:
        return self.commands.get(language) or self.commands.get("", [])


# Emails as the chat page shows them: receivers, subject, text and HTML.

KEPT = 100


@dataclass(frozen=True, slots=True)
class Mail:
    """An email that was sent."""

    id: int

    date: int
    """In epoch seconds."""

    sender: str
    recipients: tuple[str, ...]
    subject: str
    text: str

    html: str
    """Empty if it has no HTML part."""

    def json(self) -> Json:
        """Return the email as an entry of a list of emails, with its text."""
        return {
            "id": self.id,
            "date": self.date,
            "from": self.sender,
            "to": list(self.recipients),
            "subject": self.subject,
            "text": self.text,
            "has_html": bool(self.html),
        }


class Mails:
    """The newest emails."""

    def __init__(self) -> None:
        self.address: str | None = None
        """URL of the mail server; None while no server runs."""

        self.count = 0
        self._kept: deque[Mail] = deque(maxlen=KEPT)

    def add(self, content: bytes, recipients: tuple[str, ...], date: int) -> Mail:
        """Keep an email as it came over the wire. Errors: LookupError, ValueError if unreadable."""
        message = email.message_from_bytes(content, policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        sender, subject = str(message["From"] or ""), str(message["Subject"] or "")
        text, html = _body(message, "plain"), _body(message, "html")
        self.count += 1
        mail = Mail(self.count, date, sender, recipients, subject, text, html)
        self._kept.append(mail)
        return mail

    def find(self, number: int) -> Mail | None:
        return next((mail for mail in self._kept if mail.id == number), None)

    def json(self) -> Json:
        """Return all emails, the newest first."""
        kept = [mail.json() for mail in reversed(self._kept)]
        return {"address": self.address, "count": self.count, "mails": kept}


def _body(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    return "" if part is None else str(part.get_content()).replace("\r\n", "\n")
