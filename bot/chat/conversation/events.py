"""Events: Telegram's updates, parsed as actions of a person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from telegram.constants import ChatMemberStatus, ChatType

from bot.chat.model import drafts, replies
from bot.core import errors

COMMAND = re.compile(r"/(\S*)(.*)", re.DOTALL)
HALF = re.compile(r"[\ud800-\udfff]")

FILE_NAMES = {
    "animation": (".mp4", "video/mp4"),
    "audio": (".mp3", "audio/mpeg"),
    "video": (".mp4", "video/mp4"),
    "voice": (".ogg", "audio/ogg"),
    "video_note": (".mp4", "video/mp4"),
    "document": ("", "application/octet-stream"),
}
"""Fields of a message that hold a file (Bot API, Message), each with the default extension and
media type if Telegram sends none. An animation is also sent as a document, which is the same
file."""

PHOTO_FILE = (".jpg", "image/jpeg")
"""Telegram converts every photo to JPEG."""

UNUSABLE = (
    *("sticker", "story", "contact", "dice", "game", "poll", "venue", "location", "checklist"),
    *("paid_media", "live_photo", "photo", *FILE_NAMES),
)
"""Fields for content that a person can send but that is useless here, or incomplete. Any other
message without a text, a photo or a file is Telegram's own report on the chat, such as a pin, and
is ignored."""

FORWARDED = ("forward_origin", "forward_date", "is_automatic_forward")
"""Fields of a forwarded message; older Bot API servers send the second one."""

LARGEST_ID = 2**63 - 1
"""The largest id that the database can store; Telegram's ids have 52 bits."""


@dataclass(frozen=True, slots=True)
class Person:
    """The person who acted, and the chat."""

    id: int
    chat_id: int
    private: bool
    tag: str | None
    """Telegram's language_code."""
    first_name: str = ""
    last_name: str = ""
    username: str = ""
    """The person's names at Telegram; "" if a name is missing."""


@dataclass(frozen=True, slots=True)
class MessageEvent:
    """A message: a command with its arguments, or text; either may be the caption of a file."""

    person: Person
    text: str
    command: str | None = None
    photo: str | None = None
    """The file_id of the attached picture in its largest size."""
    file: drafts.Attachment | None = None
    """Any attached file, including a picture."""
    message_id: int | None = None
    """None if the Bot API server sends no id."""
    linked: str | None = None
    """The text with the addresses of its links; None if there are no links, or if it is a
    command."""
    is_unusable: bool = False
    """The message has other content, which is useless here."""
    topic_id: int | None = None
    """The topic in which the message was written; None for General, and without topics."""
    is_forwarded: bool = False
    """The message was written elsewhere; a channel's posts are forwarded to its discussion."""

    @property
    def has_words(self) -> bool:
        """True if the message has a text, not just a file."""
        return bool(self.text) or self.command is not None

    @property
    def enclosure(self) -> drafts.Enclosure | None:
        """Return the content sent along with the text, if any."""
        if self.photo is None and self.file is None and not self.is_unusable:
            return None
        return drafts.Enclosure(self.photo, self.file)

    @property
    def album_id(self) -> str | None:
        """Return the id of the file's album, if any."""
        return self.file.album_id if self.file else None


@dataclass(frozen=True, slots=True)
class PressEvent:
    """A pressed button."""

    person: Person
    query_id: str
    action: replies.Action | None
    message_id: int | None
    """None if the message is too old to edit."""
    picture: bool
    """The button's message has a picture."""


@dataclass(frozen=True, slots=True)
class SearchEvent:
    """An inline query: words typed after the bot's name in some chat."""

    person: Person
    query_id: str
    text: str
    offset: str


@dataclass(frozen=True, slots=True)
class PostedEvent:
    """A person posted an inline result."""

    person: Person
    result_id: str
    message_id: str | None
    """The inline_message_id; None if the message has no buttons: Telegram sends no id then."""


@dataclass(frozen=True, slots=True)
class BlockEvent:
    """A person blocked or unblocked the bot."""

    person: Person
    open: bool
    """True if the bot may write now."""


Event = MessageEvent | PressEvent | SearchEvent | PostedEvent | BlockEvent


def read(raw: Mapping[str, Any], bot_name: str) -> Event | None:
    """Parse an update; None if the bot does not handle it.

    Few fields are required, because other Bot API servers leave many out. A field of the wrong type
    counts as missing. Raises Unreadable if a required field is missing.
    """
    if message := _object(raw, "message"):
        return _read_message(message, bot_name) if "from" in message else None
    if query := _object(raw, "callback_query"):
        return _read_press(query)
    if query := _object(raw, "inline_query"):
        text, offset = _text(query, "query"), _text(query, "offset")
        return SearchEvent(_person_in_private(query), _query_id(query), text, offset)
    if result := _object(raw, "chosen_inline_result"):
        message_id = _text(result, "inline_message_id") or None
        return PostedEvent(_person_in_private(result), _text(result, "result_id"), message_id)
    if change := _object(raw, "my_chat_member"):
        status = _text(_object(change, "new_chat_member"), "status")
        if not status:
            raise errors.Unreadable("the new status of the bot is missing")
        gone = status in {ChatMemberStatus.BANNED, ChatMemberStatus.LEFT}
        return BlockEvent(_person(change, _object(change, "chat")), open=not gone)
    return None


def _read_message(message: Mapping[str, Any], bot_name: str) -> MessageEvent | None:
    """Parse a message; None if it has no content from a person, or if it isn't for the bot."""
    text = _text(message, "text") or _text(message, "caption")
    photo, file = _photo(message), _attachment(message)
    others = (message.get(name) for name in UNUSABLE)
    is_unusable = not (file or photo) and any(isinstance(v, dict | list) and v for v in others)
    if not (text or file or photo or is_unusable):
        return None
    person = _person(message, _object(message, "chat"))
    if bot_name and _text(_object(message, "via_bot"), "username") == bot_name:
        return None  # posted inline by this bot into its own chat
    message_id = _number(message, "message_id") or None
    command, linked, name = COMMAND.fullmatch(text), None, None
    if command is None:
        linked = _text_with_links(message, text)
    else:
        name, _, addressee = command[1].partition("@")
        if addressee and addressee.lower() != bot_name.lower():
            return None
        text, name = command[2].strip(), name.lower()
    # In groups without topics, message_thread_id is a thread of replies, where bots can't write.
    topic_id = _number(message, "message_thread_id") if message.get("is_topic_message") else 0
    is_forwarded = any(message.get(field) for field in FORWARDED)
    return MessageEvent(
        person, text, name, photo, file, message_id, linked, is_unusable, topic_id or None,
        is_forwarded,
    )  # fmt: skip


def _text_with_links(message: Mapping[str, Any], text: str) -> str | None:
    """Insert the address of each link after the linked words (Bot API, MessageEntity)."""
    listed = message.get("entities")
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    links = {
        _number(one, "offset") + _number(one, "length"): _text(one, "url")
        for one in found
        if _text(one, "type") == "text_link" and _text(one, "url")
    }
    data = text.encode("utf-16-le")  # entities count UTF-16 units
    for end in sorted(links, reverse=True):
        address = f" {links[end]} ".encode("utf-16-le")
        data = data[: 2 * end] + address + data[2 * end :]
    return data.decode("utf-16-le", "replace") if links else None


def _attachment(message: Mapping[str, Any]) -> drafts.Attachment | None:
    """Return the file of a message, if there is a downloadable file."""
    sizes = message.get("photo")
    sent_as = next((name for name in FILE_NAMES if _object(message, name)), "")
    file = _object(message, sent_as)
    if isinstance(sizes, list) and sizes and isinstance(sizes[-1], dict):
        sent_as, file = "photo", {**sizes[-1], "file_id": _photo(message) or ""}
    if not _text(file, "file_id"):
        return None
    ending, media_type = FILE_NAMES.get(sent_as, PHOTO_FILE)
    return drafts.Attachment(
        file_id=_text(file, "file_id"),
        sent_as=sent_as,
        name=_text(file, "file_name") or f"{sent_as}{ending}",
        media_type=_text(file, "mime_type") or media_type,
        size=_number(file, "file_size") or None,
        album_id=_text(message, "media_group_id") or None,
        has_words=bool(_text(message, "caption")),
    )


def _photo(message: Mapping[str, Any]) -> str | None:
    """Return the file_id of a photo or a picture file (Bot API: PhotoSize, Document)."""
    sizes = message.get("photo")
    known = [size for size in sizes if isinstance(size, dict)] if isinstance(sizes, list) else []
    if known:
        largest = max(known, key=lambda size: _number(size, "width") * _number(size, "height"))
        return _text(largest, "file_id") or None
    file = _object(message, "document")
    is_picture = _text(file, "mime_type").startswith("image/")
    return (_text(file, "file_id") or None) if is_picture else None


def _read_press(query: Mapping[str, Any]) -> PressEvent:
    message = _object(query, "message")
    is_accessible = _number(message, "date") > 0  # an inaccessible message has the date 0
    return PressEvent(
        person=_person(query, _object(message, "chat")) if message else _person_in_private(query),
        query_id=_query_id(query),
        action=replies.decode_data(_text(query, "data")),
        message_id=(_number(message, "message_id") or None) if is_accessible else None,
        picture=is_accessible and bool(message.get("photo")),
    )


def _person_in_private(data: Mapping[str, Any]) -> Person:
    """Return the person with their private chat, which has the person's id."""
    return _person(data, _object(data, "from"))


def _person(data: Mapping[str, Any], chat: Mapping[str, Any]) -> Person:
    user = _object(data, "from")
    user_id, chat_id = _number(user, "id"), _number(chat, "id")
    if not user_id or not chat_id:
        raise errors.Unreadable("the person or the chat is missing")
    chat_type = _text(chat, "type")
    private = chat_type == ChatType.PRIVATE if chat_type else chat_id > 0
    names = (_text(user, name) for name in ("first_name", "last_name", "username"))
    return Person(user_id, chat_id, private, _text(user, "language_code") or None, *names)


def _query_id(query: Mapping[str, Any]) -> str:
    query_id = _text(query, "id")
    if not query_id:
        raise errors.Unreadable("the query has no id")
    return query_id


def _object(data: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    value = data.get(field)
    return value if isinstance(value, dict) else {}


def _text(data: Mapping[str, Any], field: str) -> str:
    """Return a text; replace lone surrogates, which JSON allows but databases refuse."""
    value = data.get(field)
    return HALF.sub("\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else ""


def _number(data: Mapping[str, Any], field: str) -> int:
    value = data.get(field)
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return value if abs(value) <= LARGEST_ID else 0
