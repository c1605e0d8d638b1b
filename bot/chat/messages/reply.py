"""What the chat says: a text with buttons, as data, and the care that people's words need in it."""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass

Action = tuple[str, ...]  # what a button means, complete in itself: ("card", listing_id)
Rows = tuple[tuple["Button", ...], ...]

# core.telegram.org/bots/api, in UTF-16 code units after parsing.
TEXT_LIMIT = 4096
CAPTION_LIMIT = 1024

_TAG = re.compile(r"<[^<>]*>")
_RIGHT_TO_LEFT = frozenset(["R", "AL", "AN"])
_TURNS = frozenset(["LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"])
_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"
_JOINERS = "\u200d\ufe0f"


@dataclass(frozen=True, slots=True)
class Button:
    """One button; exactly one of what it does.

    `action` comes back to us, `url` opens, `copy` is put into the clipboard, `share` lets the
    person choose a chat and starts an inline query with it there.
    """

    label: str
    action: Action | None = None
    url: str | None = None
    copy: str | None = None
    share: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One message, as Telegram HTML; `picture` is the listing whose card is drawn above it."""

    text: str
    rows: Rows = ()
    picture: str | None = None


def escaped(text: object, limit: int = TEXT_LIMIT) -> str:
    """Whatever somebody wrote, made safe to stand within our HTML; see `plain`."""
    return html.escape(plain(text, limit))


def plain(text: object, limit: int = TEXT_LIMIT) -> str:
    """Whatever somebody wrote as one line of `limit` units at most, for labels and the like.

    Control characters become spaces. Writing from right to left is kept from turning what
    stands beside it: what would leave a turn open is dropped, the rest is isolated.
    """
    line = " ".join("".join(map(_harmless, str(text))).split())
    if _RIGHT_TO_LEFT.isdisjoint(map(unicodedata.bidirectional, line)):
        return shortened(line, limit)
    return _ISOLATE + shortened(line, limit - 2) + _POP_ISOLATE


def _harmless(char: str) -> str:
    if unicodedata.bidirectional(char) in _TURNS:
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
    """Length as Telegram counts it, in UTF-16 code units."""
    return len(text) + sum(char > "\uffff" for char in text)


def shown_units(text: str) -> int:
    """Length of our own HTML after parsing."""
    return units(html.unescape(_TAG.sub("", text)))
