"""Texts of strangers that Telegram turns into no link, mention, command or phone number.

Telegram looks for these in every text, whatever its HTML says. An invisible character after the
sign that begins or joins one keeps it from being found: a word joiner (U+2060), which neither the
apps nor the servers of Telegram take for a part of an address, a name or a number.
"""

from __future__ import annotations

import html
import re
import unicodedata

from bot.chat.messages.reply import TEXT_LIMIT, plain, shortened

WORD_JOINER = "\u2060"

MOST_MARKS = 4
"""Accents and vowel signs on one letter: no script needs more, and a pile of them covers the lines
above and below."""

_JOINTS = re.compile(r"(?<=[.\u3002\uff0e\uff61@/:#$\uff20\uff03\uff0f])(?=[^\W_]|[/_@+])")
"""Places after a sign that begins a mention, a command or a tag, or joins parts of an address."""

_PHONE = re.compile(r"\+?\(?\d(?:[\s().\-/\u2010-\u2015\u00a0]{0,3}\d){4,}")
_DIGIT = re.compile(r"(?<=\d)(?=[\s().\-/\u2010-\u2015\u00a0]{0,3}\d)")


def inert(text: str, limit: int = TEXT_LIMIT) -> str:
    """Return what a stranger typed, as one line in our HTML that does nothing in Telegram.

    `limit` are the UTF-16 units of the text itself; its invisible characters come on top.
    """
    return html.escape(_broken(plain(_bounded(text), limit)), quote=False)


def inert_lines(text: str, limit: int = TEXT_LIMIT) -> str:
    """Return what a stranger typed in the same way, with line breaks but without empty lines."""
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


def _broken(line: str) -> str:
    """Insert word joiners into whatever Telegram would make active."""
    without_numbers = _PHONE.sub(lambda found: _DIGIT.sub(WORD_JOINER, found[0]), line)
    return _JOINTS.sub(WORD_JOINER, without_numbers)
