"""Reads the messages in a chat: the only place that knows their words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.sandbox.world.model import Chat, Message


LANGUAGE = "en"
_TAG = re.compile(r"<[^<>]*>")
_PAYER = re.compile(r"payer-\d+@example\.org")
_CHAT_ID = re.compile(rb'(?:^|&)chat_id=(-?\d+)|name="chat_id"\r\n(?:[^\r\n]+\r\n)*\r\n(-?\d+)')
_MARK = _TAG.sub("", t(LANGUAGE, "possibly-repeated"))
_VIEW = _TAG.sub("", t(LANGUAGE, "find-payment", name=""))
"""How the view of one payment begins, which its seller asks for."""


@dataclass(frozen=True, slots=True)
class Telling:
    """A message that tells of payments, one or many; `marked` says that it may be a repetition."""

    message_id: int
    marked: bool
    payers: tuple[str, ...]


def address_of(payer: int) -> str:
    """Return the email address by which every alert names a payer."""
    return f"payer-{payer:03d}@example.org"


def tellings(chat: Chat) -> list[Telling]:
    """Return the messages about payments, in the order in which the seller reads them."""
    found = ((message, tuple(_PAYER.findall(_came(message)))) for message in chat.from_bot())
    return [Telling(one.id, is_marked(one), payers) for one, payers in found if payers]


def cards(chat: Chat, name: str) -> list[Message]:
    """Return the cards of the request with this name."""
    return [one for one in chat.from_bot() if one.photo and name in one.text]


def is_marked(message: Message) -> bool:
    """Check whether a message said that it may be a repetition."""
    return _first(message).startswith(_MARK)


def _came(message: Message) -> str:
    """Return the text in which a message told of payments, '' for the view of one."""
    text = _first(message)
    return "" if _VIEW in text else text


def _first(message: Message) -> str:
    """Return a message's text as it came: it is edited later."""
    came = message.history[0].content if message.history else message.content
    return str(came.get("text", came.get("caption", "")))


def chat_id_of(body: bytes) -> int | None:
    """Return the chat of a Bot API call, None if it names none."""
    found = _CHAT_ID.search(body)
    return int(found[1] or found[2]) if found else None


def doubled(values: Sequence[str]) -> list[str]:
    """Return the values that occur more than once."""
    return sorted({value for value in values if values.count(value) > 1})
