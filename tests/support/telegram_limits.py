"""Telegram's limits on messages, and the links that it makes of text."""

from __future__ import annotations

import re

from telegram import InlineKeyboardMarkup
from telegram.constants import CallbackQueryLimit, MessageLimit

from bot.chat.model.replies import Action, Reply, Rows, decode_data, encode_data, markup, units
from bot.sandbox.web.contents import inline_keyboard
from bot.sandbox.world.formatting import Formatted, formatted


def parsed(text: str, limit: int = MessageLimit.MAX_TEXT_LENGTH) -> Formatted:
    """Parse as Telegram does; broken HTML, emptiness and overlength fail."""
    text.encode()
    found = formatted(text, "HTML")
    assert 1 <= found.units <= limit
    return found


def check(reply: Reply) -> str:
    """Hold a reply to Telegram's limits; its text as a person reads it."""
    limit = MessageLimit.CAPTION_LENGTH if reply.picture else MessageLimit.MAX_TEXT_LENGTH
    check_rows(reply.rows)
    return parsed(reply.text, limit).text


def check_rows(rows: Rows) -> None:
    """Hold buttons to Telegram's limits, and their actions to the codec."""
    keyboard = markup(rows)
    if keyboard is not None:
        inline_keyboard(keyboard)
        assert InlineKeyboardMarkup.de_json(keyboard, None).to_dict() == keyboard
    for action in actions(rows):
        assert 1 <= len(encode_data(action).encode()) <= 64
        assert decode_data(encode_data(action)) == action


def check_toast(toast: str | None) -> None:
    assert (
        toast is None or 1 <= units(toast) <= CallbackQueryLimit.ANSWER_CALLBACK_QUERY_TEXT_LENGTH
    )


def actions(rows: Rows) -> list[Action]:
    return [button.action for row in rows for button in row if button.action is not None]


def labels(rows: Rows) -> list[str]:
    return [button.label for row in rows for button in row]


ACTIVE = {
    "url": re.compile(
        r"[a-z]+://[^\s\u2000-\u206f]|(?<![@\w])[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}|\d+(?:\.\d+){3}",
        re.IGNORECASE,
    ),
    "mention": re.compile(r"(?<!\w)@\w{2,32}"),
    "command": re.compile(r"(?<![\w/<>])/\w{1,64}(?![\w/<>])"),
    "hashtag": re.compile(r"(?<!\w)#\w+"),
    "cashtag": re.compile(r"(?<!\w)\$[A-Z]{1,8}(?!\w)"),
    "email": re.compile(r"[\w.+-]+@[\w-]+\.\w+"),
    "phone": re.compile(r"\+?\(?\d(?:[ ().-]{0,2}\d){6,}"),
}


def active_parts(text: str) -> dict[str, list[str]]:
    """Return what a person could tap in a text, by its kind."""
    found = {kind: [part[0] for part in sign.finditer(text)] for kind, sign in ACTIVE.items()}
    return {kind: parts for kind, parts in found.items() if parts}
