"""Telegram's updates as what a person did."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from telegram.constants import ChatMemberStatus, ChatType

from bot.chat.messages.buttons import decode
from bot.core.errors import Unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.chat.messages.reply import Action

COMMAND = re.compile(r"/(\S*)(.*)", re.DOTALL)
HALF = re.compile(r"[\ud800-\udfff]")

LARGEST_ID = 2**63 - 1
"""Telegram's have 52 bits; the database takes 63."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who did something, and in which chat; `tag` is Telegram's language_code."""

    id: int
    chat_id: int
    private: bool
    tag: str | None


@dataclass(frozen=True, slots=True)
class Spoke:
    """A message: a command with its arguments, or text (empty for pictures and the like).

    `photo` is the file_id of the picture that came with it, the largest of its sizes.
    """

    person: Person
    text: str
    command: str | None = None
    photo: str | None = None


@dataclass(frozen=True, slots=True)
class Tapped:
    """A button pressed; `message_id` None where the message is too old to be touched."""

    person: Person
    query_id: str
    action: Action | None
    message_id: int | None
    picture: bool


@dataclass(frozen=True, slots=True)
class Searched:
    """An inline query: words typed after the bot's name in some chat."""

    person: Person
    query_id: str
    text: str
    offset: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """An inline result that the person posted; `message_id` is its inline_message_id.

    None where the message has no buttons: Telegram names no other.
    """

    person: Person
    result_id: str
    message_id: str | None


@dataclass(frozen=True, slots=True)
class Moved:
    """The bot was blocked or let in again; `open` says whether it may write now."""

    person: Person
    open: bool


Event = Spoke | Tapped | Searched | Chosen | Moved


def read(raw: Mapping[str, Any], bot_name: str) -> Event | None:
    """Read an update; None for what the bot has no use for.

    Only what is needed is asked for, since other people's Bot API servers leave much out; a field
    of the wrong type counts as left out. Raises Unreadable where there is no going on without.
    """
    if message := _object(raw, "message"):
        return _spoke(message, bot_name) if "from" in message else None
    if query := _object(raw, "callback_query"):
        return _tapped(query)
    if query := _object(raw, "inline_query"):
        return _searched(query)
    if result := _object(raw, "chosen_inline_result"):
        return _chosen(result)
    if change := _object(raw, "my_chat_member"):
        return _moved(change)
    return None


def _spoke(message: Mapping[str, Any], bot_name: str) -> Spoke | None:
    person = _person(message, _object(message, "chat"))
    if bot_name and _text(_object(message, "via_bot"), "username") == bot_name:
        return None  # what we wrote ourselves, posted inline into our own chat
    text = _text(message, "text") or _text(message, "caption")
    command = COMMAND.fullmatch(text)
    if command is None:
        return Spoke(person, text, photo=_photo(message))
    name, _, addressee = command[1].partition("@")
    if addressee and addressee.lower() != bot_name.lower():
        return None
    return Spoke(person, command[2].strip(), name.lower())


def _photo(message: Mapping[str, Any]) -> str | None:
    """Give the file_id of a picture, sent as such or as a file (Bot API: PhotoSize, Document)."""
    sizes = message.get("photo")
    known = [size for size in sizes if isinstance(size, dict)] if isinstance(sizes, list) else []
    if known:
        largest = max(known, key=lambda size: _number(size, "width") * _number(size, "height"))
        return _text(largest, "file_id") or None
    file = _object(message, "document")
    is_picture = _text(file, "mime_type").startswith("image/")
    return (_text(file, "file_id") or None) if is_picture else None


def _tapped(query: Mapping[str, Any]) -> Tapped:
    message = _object(query, "message")
    is_accessible = _number(message, "date") > 0  # Telegram dates what is too old with 0
    return Tapped(
        person=_person(query, _object(message, "chat")) if message else _alone(query),
        query_id=_query_id(query),
        action=decode(_text(query, "data")),
        message_id=(_number(message, "message_id") or None) if is_accessible else None,
        picture=is_accessible and bool(message.get("photo")),
    )


def _searched(query: Mapping[str, Any]) -> Searched:
    return Searched(_alone(query), _query_id(query), _text(query, "query"), _text(query, "offset"))


def _chosen(result: Mapping[str, Any]) -> Chosen:
    message_id = _text(result, "inline_message_id") or None
    return Chosen(_alone(result), _text(result, "result_id"), message_id)


def _moved(change: Mapping[str, Any]) -> Moved:
    status = _text(_object(change, "new_chat_member"), "status")
    if not status:
        raise Unreadable("what the bot is now is not told")
    gone = status in {ChatMemberStatus.BANNED, ChatMemberStatus.LEFT}
    return Moved(_person(change, _object(change, "chat")), open=not gone)


def _alone(told: Mapping[str, Any]) -> Person:
    """Give who did it, in private: the chat with a person has the person's id."""
    return _person(told, _object(told, "from"))


def _person(told: Mapping[str, Any], chat: Mapping[str, Any]) -> Person:
    user = _object(told, "from")
    user_id, chat_id = _number(user, "id"), _number(chat, "id")
    if not user_id or not chat_id:
        raise Unreadable("who did it, or where, is not told")
    chat_type = _text(chat, "type")
    private = chat_type == ChatType.PRIVATE if chat_type else chat_id > 0
    return Person(user_id, chat_id, private, _text(user, "language_code") or None)


def _query_id(query: Mapping[str, Any]) -> str:
    query_id = _text(query, "id")
    if not query_id:
        raise Unreadable("the query has no id")
    return query_id


def _object(told: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    value = told.get(field)
    return value if isinstance(value, dict) else {}


def _text(told: Mapping[str, Any], field: str) -> str:
    """Return a text; halves of characters, which JSON can carry, fit into no database or answer."""
    value = told.get(field)
    return HALF.sub("\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else ""


def _number(told: Mapping[str, Any], field: str) -> int:
    value = told.get(field)
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return value if abs(value) <= LARGEST_ID else 0
