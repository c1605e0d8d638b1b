"""Buttons in Telegram's JSON, and the codec of their callback data.

Old buttons work for ever: words are added to the grammar, never changed or removed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bot.chat.messages.reply import shortened, units

if TYPE_CHECKING:
    from bot.chat.messages.reply import Action, Button, Rows

# core.telegram.org/bots/api: InlineKeyboardButton, CopyTextButton; the first in bytes.
MAX_DATA = 64
MAX_COPY = 256
MAX_QUERY = 256
MAX_URL = 2048
_MAX_LABEL = 64  # ours: a longer label is cut off by the clients anyway

_BETWEEN = ":"
_OF_DRAFT = "draft:"
_DRAFT_WORDS = (
    r"kind:(?:donation|oneoff|drop)",
    r"skip|keep|cancel|continue|restart",
    r"back:[a-z]{1,16}",
    r"amount:[0-9]{1,16}(?:\.[0-9]{1,16})?(?::[A-Z]{3,4})?",
    r"currency:[A-Z]{3,4}",
    r"choose(?::[A-Z]{3,4})?",
    r"goal:[0-9]{1,16}(?:\.[0-9]{1,16})?:[A-Z]{3,4}",
    r"create:[0-9a-f]{8}",
    r"options|done|(?:open|clear|off):[a-z]{1,16}",
    r"instrument:[A-Z]{3,4}",
    r"ask:(?:email|phoneNumber|paymail):(?:on|off)",
    r"zone:[A-Za-z0-9_+/-]{1,40}",
    r"moment:(?:starts|ends|end):[1-9][0-9]{0,13}",
    r"hours:[0-9]{1,4}-[0-9]{1,4}",
    r"minute:[0-9]{1,4}",
    r"offer:[0-9a-f]{8}|accent:[a-z]{1,16}|telegram-photo",
    r"save:[0-9a-f]{8}|change|later|land:[A-Z]{2}",
    r"goods:(?:codes|one|again)",
    r"file:(?:yes|no|photo)",
)
_WAY = r"(?:bank-(?:sepa|pix|upi|swiss)|lightning|lnbits|nwc)"
_PAYMENT = r"[a-z0-9]{10}:[0-9]{1,14}:[0-9a-f]{8}"
_GRAMMAR = re.compile(
    "|".join(
        (
            rf"draft:[a-z0-9]{{6}}:(?:{'|'.join(_DRAFT_WORDS)})",
            r"(?:card|refresh|stop|resume|delete|delete-yes):[a-z0-9]{10}",
            r"(?:more|edit|edit-not|duplicate|poster|alerts|look):[a-z0-9]{10}",
            r"edit:[a-z0-9]{10}:[a-z]{1,12}",
            r"codes:[a-z0-9]{10}",
            r"alerts:[a-z0-9]{10}:(?:on|silent|off)",
            r"poster:[a-z0-9]{10}:(?:print|square)-(?:light|dark)",
            r"payments:[a-z0-9]{10}:[0-9]{1,6}",
            r"list:[0-9]{1,6}",
            r"undelivered:again",
            r"new|help|bought|settings(?::(?:destination|zone|quiet|summary))?",
            r"settings:seller(?:name|image|about|contact|accent)",
            r"profile(?::later|:use:[0-9a-f]{8})?",
            r"(?:claim|missing|missing-yes):[a-z0-9]{10}",
            r"received:[a-z0-9]{10}(?::list|:digest)?",
            r"missing:[a-z0-9]{10}:(?:list|digest)",
            r"(?:incoming|bought):[0-9]{1,6}",
            r"(?:receipt|receipt-remove):[a-z0-9]{10}",
            rf"(?:payment|paid-back|paid-back-undo|sent-undo|hide-undo):{_PAYMENT}",
            rf"sent:{_PAYMENT}(?::a)?",
            rf"hide:{_PAYMENT}(?::[vdr]|:[ip][0-9]{{1,6}}|:[be][0-9]{{1,4}})?",
            r"codes:[a-z0-9]{10}",
            rf"getpaid(?::bank|:{_WAY})?",
            rf"account:{_WAY}(?::remove(?::[0-9a-f]{{8}})?)?",
        )
    )
)
_HOST = re.compile(r"(?:[\w-]+\.)+(?:[^\W\d_]{2,63}|xn--[\w-]+)|[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
_UNSOUND = re.compile(r"[\s\x00-\x20\x7f\ud800-\udfff]")


def encode(action: Action) -> str:
    """Write an action as callback data, at most 64 bytes.

    Raises ValueError, a bug, for an action that `decode` does not return.
    """
    if not is_known(action):
        raise ValueError(f"not in the grammar of callback data: {action!r}")
    return _BETWEEN.join(action)


def is_known(action: Action) -> bool:
    """Return whether an action is in the grammar of callback data."""
    return decode(_BETWEEN.join(action)) == action


def decode(data: str) -> Action | None:
    """Read callback data; None if no button of the bot has it."""
    if len(data) > MAX_DATA or not _GRAMMAR.fullmatch(data):
        return None
    return tuple(data.split(_BETWEEN))


def markup(rows: Rows) -> dict[str, Any] | None:
    """Return the InlineKeyboardMarkup; None if no button is left.

    Links that Telegram refuses and texts that are too long to copy are left out: the message has
    them.
    """
    keyboard = [[_button(button) for button in row if _is_possible(button)] for row in rows]
    kept = [row for row in keyboard if row]
    return {"inline_keyboard": kept} if kept else None


def is_question(keyboard: dict[str, Any] | None) -> bool:
    """Check whether a keyboard has the buttons of a form."""
    rows = keyboard["inline_keyboard"] if keyboard else ()
    return any(
        button.get("callback_data", "").startswith(_OF_DRAFT) for row in rows for button in row
    )


def without_styles(keyboard: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a keyboard without the styles of its buttons; None if it has none."""
    rows = keyboard["inline_keyboard"] if keyboard else []
    if not any("style" in button for row in rows for button in row):
        return None
    plain = [[{**button} for button in row] for row in rows]
    for row in plain:
        for button in row:
            button.pop("style", None)
    return {"inline_keyboard": plain}


def linkable(url: str) -> bool:
    """Check that a button may open an address: Telegram refuses hosts without a dot."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    sound = len(url) <= MAX_URL and not _UNSOUND.search(url)
    return sound and parts.scheme in ("http", "https") and bool(_HOST.fullmatch(host))


def _is_possible(button: Button) -> bool:
    if button.url is not None:
        return linkable(button.url)
    return button.copy is None or 1 <= units(button.copy) <= MAX_COPY


def _button(button: Button) -> dict[str, Any]:
    label = {"text": shortened(button.label, _MAX_LABEL)}
    if button.style is not None:
        label["style"] = button.style
    if button.action is not None:
        return {**label, "callback_data": encode(button.action)}
    if button.url is not None:
        return {**label, "url": button.url}
    if button.copy is not None:
        return {**label, "copy_text": {"text": button.copy}}
    return {**label, "switch_inline_query": shortened(button.share or "", MAX_QUERY)}
