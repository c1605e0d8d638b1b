"""Telegram's updates as what a person did, and what is to be said as Telegram's calls."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from telegram import (
    CallbackQuery,
    ChatMemberUpdated,
    InlineQuery,
    MaybeInaccessibleMessage,
    Update,
    User,
)
from telegram import Message as TelegramMessage
from telegram.constants import ChatMemberStatus, ChatType

from bot.chat.keyboards import decode, markup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.chat.replies import Action, Reply

COMMAND = re.compile(r"/(\S*)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Person:
    """Who did something, and in which chat; `tag` is Telegram's language_code."""

    id: int
    chat_id: int
    private: bool
    tag: str | None


@dataclass(frozen=True, slots=True)
class Spoke:
    """A message: a command with its arguments, or text (empty for pictures and the like)."""

    person: Person
    text: str
    command: str | None = None


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
class Moved:
    """The bot was blocked or let in again; `open` says whether it may write now."""

    person: Person
    open: bool


Event = Spoke | Tapped | Searched | Moved


def read(raw: Mapping[str, Any], bot_name: str) -> Event | None:
    """Read an update; None for what the bot has no use for."""
    update = Update.de_json(dict(raw), None)
    if update.message and update.message.from_user:
        return _spoke(update.message, update.message.from_user, bot_name)
    if update.callback_query:
        return _tapped(update.callback_query)
    if update.inline_query:
        return _searched(update.inline_query)
    if update.my_chat_member:
        return _moved(update.my_chat_member)
    return None


def said(reply: Reply, language: str) -> dict[str, Any]:
    """Give the body of a queued message that says `reply`."""
    keyboard = markup(reply.rows)
    extra = {"reply_markup": keyboard} if keyboard else {}
    if reply.picture is None:
        return {
            "method": "sendMessage",
            "args": {"text": reply.text, **extra},
            "language": language,
        }
    return {
        "method": "sendPhoto",
        "args": {"caption": reply.text, **extra},
        "qr": reply.picture,
        "language": language,
    }


def changed(
    reply: Reply, message_id: int | None, language: str, *, picture: bool
) -> dict[str, Any]:
    """Give the body that shows `reply` in the place of an earlier message.

    `picture` says whether that message is one: a text can't become a picture, nor
    can a message that is too old (None) be touched; then it is said anew.
    """
    if message_id is None or (reply.picture is not None and not picture):
        return said(reply, language)
    method, field = ("editMessageCaption", "caption") if picture else ("editMessageText", "text")
    args = {"message_id": message_id, field: reply.text, "reply_markup": markup(reply.rows)}
    return {"method": method, "args": args, "language": language}


def answered(query_id: str, toast: str | None) -> dict[str, Any]:
    """Give the body that answers a callback query, with words or without."""
    words = {"text": toast} if toast else {}
    return {"method": "answerCallbackQuery", "args": {"callback_query_id": query_id, **words}}


def _spoke(message: TelegramMessage, user: User, bot_name: str) -> Spoke | None:
    person = _person(user, message.chat.id, message.chat.type)
    text = message.text or message.caption or ""
    command = COMMAND.fullmatch(text)
    if command is None:
        return Spoke(person, text)
    name, _, addressee = command[1].partition("@")
    if addressee and addressee.lower() != bot_name.lower():
        return None
    return Spoke(person, command[2].strip(), name.lower())


def _tapped(query: CallbackQuery) -> Tapped:
    message = query.message
    chat_id = message.chat.id if message else query.from_user.id
    chat_type = message.chat.type if message else ChatType.PRIVATE
    return Tapped(
        person=_person(query.from_user, chat_id, chat_type),
        query_id=query.id,
        action=decode(query.data or ""),
        message_id=message.message_id if message and message.is_accessible else None,
        picture=_has_picture(message),
    )


def _has_picture(message: MaybeInaccessibleMessage | None) -> bool:
    return isinstance(message, TelegramMessage) and bool(message.photo)


def _searched(query: InlineQuery) -> Searched:
    user = query.from_user
    person = _person(user, user.id, ChatType.PRIVATE)
    return Searched(person, query.id, query.query, query.offset)


def _moved(change: ChatMemberUpdated) -> Moved:
    status = change.new_chat_member.status
    gone = status in {ChatMemberStatus.BANNED, ChatMemberStatus.LEFT}
    return Moved(_person(change.from_user, change.chat.id, change.chat.type), open=not gone)


def _person(user: User, chat_id: int, chat_type: str) -> Person:
    return Person(user.id, chat_id, chat_type == ChatType.PRIVATE, user.language_code)
