"""Grapheme clusters: what a reader takes for one character (Unicode Standard Annex #29).

And the places where a line of an East Asian script may end, which has no spaces (Annex #14).
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

JOINER, NON_JOINER = "\u200d", "\u200c"
TEXT_STYLE, EMOJI_STYLE, KEYCAP = "\ufe0e", "\ufe0f", "\u20e3"
LONGEST = 32
"""Code points of a cluster; the longest emoji has fewer than half of them."""

_MARKS = frozenset(["Mn", "Me", "Mc"])
_VIRAMA = 9  # the combining class of signs that join two letters into one
_AFTER = frozenset("\u0e33\u0eb3\uff9e\uff9f" + NON_JOINER + JOINER)
_SKIN_TONES = range(0x1F3FB, 0x1F400)
TAGS = range(0xE0020, 0xE0080)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_JAMO = (range(0x1160, 0x1200), range(0xD7B0, 0xD800))  # vowels and final consonants
_FIRST_SYMBOL, _FIRST_PICTOGRAPH, _END_OF_PICTOGRAPHS = 0x2190, 0x1F000, 0x1FB00

_FIRST_EAST_ASIAN = "\u2e80"
_HANGUL = (range(0x3131, 0x318F), range(0xAC00, 0xD7A4))
_KANA = range(0x3040, 0x3100)
_NEVER_FIRST = frozenset("ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶーゝゞヽヾ々〻")
_CLOSING = frozenset(["Pe", "Pf", "Po"])
_OPENING = frozenset(["Ps", "Pi", "Sc"])


def split(text: str) -> list[str]:
    """Split a text into grapheme clusters."""
    clusters: list[str] = []
    for char in text:
        if clusters and _belongs(clusters[-1], char):
            clusters[-1] += char
        else:
            clusters.append(char)
    return clusters


def _belongs(cluster: str, char: str) -> bool:
    if len(cluster) >= LONGEST or cluster.isspace():
        return False
    return is_extending(char) or _joins(cluster, char)


def is_extending(char: str) -> bool:
    """Return whether a character belongs to the one before it: marks, skin tones, joiners."""
    if char < "\u0300":
        return False
    code = ord(char)
    return (
        unicodedata.category(char) in _MARKS
        or char in _AFTER
        or code in _SKIN_TONES
        or code in TAGS
        or any(code in letters for letters in _JAMO)
    )


def _joins(cluster: str, char: str) -> bool:
    """Return whether a letter or pictograph is part of the cluster before it."""
    if ord(char) in _FLAG_LETTERS:
        return len(cluster) == 1 and ord(cluster) in _FLAG_LETTERS
    if cluster[-1] == JOINER and is_pictograph(char):
        return is_pictograph(cluster[0])
    category = unicodedata.category(char)
    return category == "Lo" and unicodedata.combining(cluster.rstrip(JOINER)[-1:] or " ") == _VIRAMA


def is_pictograph(char: str) -> bool:
    """Return whether a character may be an emoji; symbols of text are among them."""
    if char < chr(_FIRST_SYMBOL):
        return char in "©®™"
    return (
        _FIRST_PICTOGRAPH <= ord(char) < _END_OF_PICTOGRAPHS or unicodedata.category(char) == "So"
    )


def is_japanese(text: str) -> bool:
    """Return whether a text has kana, so that its Han characters have the forms of Japan."""
    return any(ord(char) in _KANA for char in text)


def break_word(word: str) -> Iterator[str]:
    """Yield the pieces of a word after each of which a line may end."""
    if max(word, default="") < _FIRST_EAST_ASIAN:
        yield word
        return
    piece = ""
    for cluster in split(word):
        if piece and _may_break(piece, cluster):
            yield piece
            piece = ""
        piece += cluster
    yield piece


def _may_break(piece: str, cluster: str) -> bool:
    """Return whether a line may end between a piece and the cluster after it."""
    last, first = piece[-1], cluster[0]
    if first in _NEVER_FIRST or unicodedata.category(first) in _CLOSING:
        return False
    if unicodedata.category(last) in _OPENING:
        return False
    return _is_ideographic(last) or _is_ideographic(first)


def _is_ideographic(char: str) -> bool:
    if char < _FIRST_EAST_ASIAN or any(ord(char) in letters for letters in _HANGUL):
        return False
    return unicodedata.east_asian_width(char) in "WF" or char in (EMOJI_STYLE, JOINER)
