"""Replies: a text with buttons, as data, and the escaping of what people typed."""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass, field

from bot.core.text.translations import t

Action = tuple[str, ...]  # everything that a press needs: ("card", listing_id)
Rows = tuple[tuple["Button", ...], ...]

# core.telegram.org/bots/api, in UTF-16 code units after parsing.
TEXT_LIMIT = 4096
CAPTION_LIMIT = 1024

SUCCESS, DANGER = "success", "danger"
"""Styles of buttons, green and red (core.telegram.org/bots/api, InlineKeyboardButton)."""

_TAG = re.compile(r"<[^<>]*>")
_RIGHT_TO_LEFT = frozenset(["R", "AL", "AN"])
_BIDI_CONTROLS = frozenset(["LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"])
_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"
_JOINERS = "\u200d\ufe0f"


@dataclass(frozen=True, slots=True)
class Button:
    """A button with exactly one effect.

    A press sends `action` back, opens `url` or copies `copy`; `share` is the text of an inline
    query that starts in a chat of the person's choice. `style` is SUCCESS or DANGER where the
    button has a colour.
    """

    label: str
    action: Action | None = None
    url: str | None = None
    copy: str | None = None
    share: str | None = None
    style: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A message in Telegram's HTML; `picture` is the id of the listing whose card it is.

    `menu` is the menu that is open on the card (chat/cards/menus.py). `is_passing`: the message
    only says that something is under way, and is deleted once the form goes on.
    """

    text: str
    rows: Rows = ()
    picture: str | None = None
    menu: str | None = None
    is_passing: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an input is not accepted: a text key, and the escaped values in the text."""

    key: str
    values: dict[str, object] = field(default_factory=dict)

    def text(self, language: str) -> str:
        """Return the text of the problem."""
        return t(language, self.key, **self.values)


def escaped(text: object, limit: int = TEXT_LIMIT) -> str:
    """Escape what a person typed for our HTML, as one line; see `plain`."""
    return html.escape(plain(text, limit))


def plain(text: object, limit: int = TEXT_LIMIT) -> str:
    """Convert what a person typed to one line of `limit` units at most, such as a label.

    Control characters become spaces. Bidirectional controls are removed and right-to-left text is
    isolated, so that it does not reorder the text beside it.
    """
    typed = str(text)
    if typed.isascii() and typed.isprintable():  # most texts, at a tenth of the time
        return shortened(" ".join(typed.split()), limit)
    line = " ".join("".join(map(_harmless, typed)).split())
    if _RIGHT_TO_LEFT.isdisjoint(map(unicodedata.bidirectional, line)):
        return shortened(line, limit)
    return _ISOLATE + shortened(line, limit - 2) + _POP_ISOLATE


def _harmless(char: str) -> str:
    if unicodedata.bidirectional(char) in _BIDI_CONTROLS:
        return ""
    return " " if unicodedata.category(char) in ("Cc", "Cs") else char


def shortened(text: str, limit: int) -> str:
    """Cut to `limit` UTF-16 units, the last of them an ellipsis, never within a character."""
    if units(text) <= limit:
        return text
    kept, room = [], limit - 1
    for char in text:
        room -= units(char)
        if room < 0:
            break
        kept.append(char)
    return "".join(kept).rstrip(f"{_JOINERS} ") + "…"


def units(text: str) -> int:
    """Count the UTF-16 code units of a text, as Telegram does."""
    return len(text) + (0 if text.isascii() else sum(char > "\uffff" for char in text))


def shown_units(text: str) -> int:
    """Count the units of our HTML once Telegram has parsed it."""
    return units(html.unescape(_TAG.sub("", text)))
