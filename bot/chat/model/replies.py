"""Buttons in Telegram's JSON, and the codec of their callback data.

Old buttons must keep working, so words may be added to the grammar but never changed or removed.
"""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from telegram import CopyTextButton, InlineKeyboardButton, InlineKeyboardMarkup
from telegram.constants import (
    InlineKeyboardButtonLimit,
    InlineQueryLimit,
    KeyboardButtonStyle,
    MessageLimit,
)

from bot.core.money import amounts
from bot.core.text import translations

# Replies: a text with buttons, as data, and escaping of what people typed.

Action = tuple[str, ...]  # all data of a button press: ("card", listing_id)
Rows = tuple[tuple["Button", ...], ...]

# In UTF-16 code units after parsing.
TEXT_LIMIT = MessageLimit.MAX_TEXT_LENGTH
CAPTION_LIMIT = MessageLimit.CAPTION_LENGTH

ENTITY_LIMIT = MessageLimit.MESSAGE_ENTITIES
"""Entities of one message; Telegram ignores further formatting."""

SUCCESS, DANGER = KeyboardButtonStyle.SUCCESS.value, KeyboardButtonStyle.DANGER.value
"""Styles of buttons, green and red."""

_TAG = re.compile(r"<[^<>]*>")
_OPENING_TAG = re.compile(r"<[a-z]")
_RIGHT_TO_LEFT = frozenset(["R", "AL", "AN"])
_BIDI_CONTROLS = frozenset(["LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"])
_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"
_JOINERS = "\u200d\ufe0f"


@dataclass(frozen=True, slots=True)
class Button:
    """A button; exactly one of the effects is set."""

    label: str
    action: Action | None = None
    """Sent to the bot when the button is pressed."""
    url: str | None = None
    """Address that the button opens."""
    copy: str | None = None
    """Text that the button copies."""
    share: str | None = None
    """Inline query that the button starts in a chat of the person's choice."""
    style: str | None = None
    """SUCCESS, DANGER, or None for no colour."""


def text_button(language: str, key: str, *action: str, style: str | None = None) -> Button:
    """Build a button with the text `key` that sends `action`."""
    return Button(translations.t(language, key), action, style=style)


@dataclass(frozen=True, slots=True)
class Reply:
    """A message in Telegram's HTML."""

    text: str
    rows: Rows = ()
    picture: str | None = None
    """Id of the link if the reply is its card."""
    menu: str | None = None
    """The menu opened on the card (chat/cards/menus.py)."""
    is_passing: bool = False
    """A progress message, deleted once the form continues."""


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason why an input is rejected: a text key, and the escaped values for the text."""

    key: str
    values: dict[str, object] = field(default_factory=dict)

    def text(self, language: str) -> str:
        """Return the text of the problem."""
        return translations.t(language, self.key, **self.values)


def escaped(text: object, limit: int = TEXT_LIMIT) -> str:
    """Escape what a person typed for our HTML, on one line; see `plain`."""
    return html.escape(plain(text, limit))


def money(minor: int, currency: str, language: str) -> str:
    """Format an amount in minor units, escaped."""
    return escaped(amounts.format_money(minor, currency, language))


def plain(text: object, limit: int = TEXT_LIMIT) -> str:
    """Convert what a person typed to a single line of at most `limit` UTF-16 units.

    Control characters become spaces. Bidirectional controls are removed and right-to-left text is
    isolated, so that it does not reorder adjacent text.
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
    """Shorten to `limit` UTF-16 units, ending with an ellipsis; never split a character."""
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
    """Count the UTF-16 units of our HTML after Telegram has parsed it."""
    return units(html.unescape(_TAG.sub("", text)))


# Keeping strangers' texts from becoming links, mentions, commands or phone numbers in Telegram.
#
# Telegram searches every text for these, whatever its HTML says. A word joiner (U+2060) after the
# sign that begins or joins one prevents a match: neither Telegram's apps nor its servers accept
# this invisible character in an address, a name or a number.

WORD_JOINER = "\u2060"

MOST_MARKS = 4
"""Maximum accents and vowel signs on one letter: no script needs more, and a pile of them would
cover adjacent lines."""

_JOINTS = re.compile(r"(?<=[.\u3002\uff0e\uff61@/:#$\uff20\uff03\uff0f])(?=[^\W_]|[/_@+])")
"""Positions after a sign that begins a mention, command or tag, or joins parts of an address."""

_PHONE = re.compile(r"\+?\(?\d(?:[\s().\-/\u2010-\u2015\u00a0]{0,3}\d){4,}")
_DIGIT = re.compile(r"(?<=\d)(?=[\s().\-/\u2010-\u2015\u00a0]{0,3}\d)")


def entities(text: str) -> int:
    """Return the most entities that Telegram may find in our HTML: tags, and words to link."""
    words = html.unescape(_TAG.sub("", text))
    linked = sum(_JOINTS.search(word) is not None for word in words.split())
    return len(_OPENING_TAG.findall(text)) + linked + len(_PHONE.findall(words))


def inert(text: str, limit: int = TEXT_LIMIT) -> str:
    """Return a stranger's text as one line of HTML in which Telegram finds nothing to link.

    `limit` counts the UTF-16 units of the text, without the added invisible characters: word
    joiners in whatever Telegram would make active.
    """
    line = plain(_bounded(text), limit)
    without_numbers = _PHONE.sub(lambda found: _DIGIT.sub(WORD_JOINER, found[0]), line)
    return html.escape(_JOINTS.sub(WORD_JOINER, without_numbers), quote=False)


def inert_lines(text: str, limit: int = TEXT_LIMIT) -> str:
    """Like `inert`, but keep line breaks; empty lines are removed."""
    lines = (line for line in map(str.strip, _bounded(text).splitlines()) if line)
    return "\n".join(inert(line) for line in shortened("\n".join(lines), limit).split("\n"))


def _bounded(text: str) -> str:
    """Drop the marks beyond MOST_MARKS on one letter."""
    kept, marks = [], 0
    for char in unicodedata.normalize("NFC", text):
        marks = marks + 1 if unicodedata.category(char) in ("Mn", "Me") else 0
        if marks <= MOST_MARKS or char in "\ufe0f\ufe0e":
            kept.append(char)
    return "".join(kept)


MAX_DATA = InlineKeyboardButtonLimit.MAX_CALLBACK_DATA  # bytes
MAX_COPY = InlineKeyboardButtonLimit.MAX_COPY_TEXT
MAX_QUERY = InlineQueryLimit.MAX_QUERY_LENGTH
MAX_URL = 2048
_MAX_LABEL = 64  # our own limit: clients cut longer labels anyway

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
            rf"getpaid(?::bank|:{_WAY})?",
            rf"account:{_WAY}(?::remove(?::[0-9a-f]{{8}})?)?",
        )
    )
)
_HOST = re.compile(r"(?:[\w-]+\.)+(?:[^\W\d_]{2,63}|xn--[\w-]+)|[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
_UNSOUND = re.compile(r"[\s\x00-\x20\x7f\ud800-\udfff]")


def encode_data(action: Action) -> str:
    """Encode an action as callback data of at most MAX_DATA bytes.

    Raises ValueError for an action that `decode_data` would not return, which is a bug.
    """
    if not is_known(action):
        raise ValueError(f"not in the grammar of callback data: {action!r}")
    return _BETWEEN.join(action)


def is_known(action: Action) -> bool:
    """True if an action is in the grammar of callback data."""
    return decode_data(_BETWEEN.join(action)) == action


def decode_data(data: str) -> Action | None:
    """Decode callback data; None if it is not in the grammar."""
    if len(data) > MAX_DATA or not _GRAMMAR.fullmatch(data):
        return None
    return tuple(data.split(_BETWEEN))


def markup(rows: Rows) -> dict[str, Any] | None:
    """Return the InlineKeyboardMarkup as JSON, or None if it would have no buttons.

    Buttons are left out if Telegram would refuse the link, or if the text is too long to copy: the
    message contains both anyway.
    """
    keyboard = [[_button(button) for button in row if _is_possible(button)] for row in rows]
    kept = [row for row in keyboard if row]
    return InlineKeyboardMarkup(kept).to_dict() if kept else None


def is_question(keyboard: dict[str, Any] | None) -> bool:
    """True if a keyboard has the buttons of a form."""
    rows = keyboard["inline_keyboard"] if keyboard else ()
    return any(
        button.get("callback_data", "").startswith(_OF_DRAFT) for row in rows for button in row
    )


def without_styles(keyboard: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a keyboard without button styles; None if no button has a style."""
    rows = keyboard["inline_keyboard"] if keyboard else []
    plain = [
        [{name: button[name] for name in button if name != "style"} for button in row]
        for row in rows
    ]
    return None if plain == rows else {"inline_keyboard": plain}


def linkable(url: str) -> bool:
    """True if a button may open the address: Telegram refuses hosts without a dot."""
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


def _button(button: Button) -> InlineKeyboardButton:
    return InlineKeyboardButton(
        shortened(button.label, _MAX_LABEL),
        callback_data=None if button.action is None else encode_data(button.action),
        url=button.url,
        copy_text=None if button.copy is None else CopyTextButton(button.copy),
        switch_inline_query=None if button.share is None else shortened(button.share, MAX_QUERY),
        style=button.style,
    )
