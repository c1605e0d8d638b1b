"""Unicode rules for text in pictures: line breaks and the order of characters.

Line breaks in East Asian scripts, which have no spaces, follow Standard Annex #14. The order from
left to right follows Annex #9. Characters that embed, isolate or override a direction are ignored:
short names don't need them, and they can make a text look like a different text. The marks LRM, RLM
and ALM are respected.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from bot.core.text import sanitize

JOINER = "\u200d"
TEXT_STYLE, EMOJI_STYLE, KEYCAP = "\ufe0e", "\ufe0f", "\u20e3"
_FIRST_SYMBOL, _FIRST_PICTOGRAPH, _END_OF_PICTOGRAPHS = 0x2190, 0x1F000, 0x1FB00

_FIRST_EAST_ASIAN = "\u2e80"
_HANGUL = (range(0x3131, 0x318F), range(0xAC00, 0xD7A4))
_KANA = range(0x3040, 0x3100)
_NEVER_FIRST = frozenset("ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶーゝゞヽヾ々〻")
_CLOSING = frozenset(["Pe", "Pf", "Po"])
_OPENING = frozenset(["Ps", "Pi", "Sc"])


def is_pictograph(char: str) -> bool:
    """True if a character may be an emoji; some text symbols also count."""
    if char < chr(_FIRST_SYMBOL):
        return char in "©®™"
    return (
        _FIRST_PICTOGRAPH <= ord(char) < _END_OF_PICTOGRAPHS or unicodedata.category(char) == "So"
    )


def is_japanese(text: str) -> bool:
    """True if a text has kana, so that its Han characters take Japanese forms."""
    return any(ord(char) in _KANA for char in text)


def break_word(word: str) -> Iterator[str]:
    """Yield the unbreakable pieces of a word."""
    if max(word, default="") < _FIRST_EAST_ASIAN:
        yield word
        return
    piece = ""
    for cluster in sanitize.graphemes(word):
        if piece and _may_break(piece, cluster):
            yield piece
            piece = ""
        piece += cluster
    yield piece


def _may_break(piece: str, cluster: str) -> bool:
    """True if a line may end between a piece and the cluster after it."""
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


# The order from left to right.


LEFT_MARK, RIGHT_MARK = "\u200e", "\u200f"
DIRECTION_MARKS = frozenset([LEFT_MARK, RIGHT_MARK, "\u061c"])

_STRONG = {"L": "L", "R": "R", "AL": "R"}
_DIRECTIONS = {"L": "L", "R": "R", "EN": "R", "AN": "R"}
"""The direction of each strong class; numbers next to neutrals count as right to left (N1)."""

_SEPARATORS = frozenset(["ES", "ET", "CS"])
_UNSEEN = frozenset(["BN", "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"])
_PAIRS = {"(": ")", "[": "]", "{": "}", "「": "」", "『": "』", "【": "】", "《": "》", "〈": "〉"}
_LEVELS = {0: {"L": 0, "R": 1, "EN": 2, "AN": 2}, 1: {"L": 2, "R": 1, "EN": 2, "AN": 2}}

_Run = TypeVar("_Run")


def base_level(text: str) -> int:
    """Return 1 if the first letter of a text is written from right to left, else 0 (P2, P3)."""
    for char in text:
        direction = _STRONG.get(unicodedata.bidirectional(char))
        if direction:
            return int(direction == "R")
    return 0


def levels(text: str) -> list[int]:
    """Return the level of each character; odd levels run from right to left."""
    base = base_level(text)
    kinds = [unicodedata.bidirectional(char) or "L" for char in text]
    seen = [number for number, kind in enumerate(kinds) if kind not in _UNSEEN]
    resolved = _resolve_weak([kinds[number] for number in seen], "RL"[not base])
    _resolve_brackets([text[number] for number in seen], resolved, "RL"[not base])
    _resolve_neutral(resolved, "RL"[not base])
    found = {number: _LEVELS[base][kind] for number, kind in zip(seen, resolved, strict=True)}
    level, answer = base, []
    for number in range(len(text)):
        level = found.get(number, level)
        answer.append(level)
    return answer


def _resolve_weak(kinds: list[str], before: str) -> list[str]:
    """Resolve marks and numbers (W1 to W7) after a letter of direction `before`."""
    previous, strong = before, before
    for number, kind in enumerate(kinds):
        previous = previous if kind == "NSM" else kind
        strong = previous if previous in _STRONG else strong
        kinds[number] = "AN" if (previous, strong) == ("EN", "AL") else previous
    kinds = ["R" if kind == "AL" else kind for kind in kinds]
    for number in range(1, len(kinds) - 1):
        left, kind, right = kinds[number - 1 : number + 2]
        if left == right and (kind, left) in (("ES", "EN"), ("CS", "EN"), ("CS", "AN")):
            kinds[number] = left
    start = 0
    for kind, group in groupby([*kinds]):  # signs such as % or € are part of a number (W5)
        end = start + len([*group])
        if kind == "ET" and "EN" in (*kinds[max(0, start - 1) : start], *kinds[end : end + 1]):
            kinds[start:end] = ["EN"] * (end - start)
        start = end
    strong = before
    for number, kind in enumerate(kinds):
        strong = kind if kind in _STRONG else strong
        if kind in _SEPARATORS:
            kinds[number] = "ON"
        elif kind == "EN" and strong == "L":
            kinds[number] = "L"
    return kinds


def _resolve_brackets(text: Sequence[str], kinds: list[str], base: str) -> None:
    """Set both brackets of a pair to the direction of their content (N0)."""
    for opening, closing in _bracket_pairs(text, kinds):
        inside = {_DIRECTIONS.get(kind) for kind in kinds[opening + 1 : closing]} - {None}
        if base in inside:
            kinds[opening] = kinds[closing] = base
        elif inside:
            earlier = (_DIRECTIONS.get(kind) for kind in reversed(kinds[:opening]))
            direction = next(filter(None, earlier), base)
            kinds[opening] = kinds[closing] = direction


def _bracket_pairs(text: Sequence[str], kinds: Sequence[str]) -> list[tuple[int, int]]:
    pairs, open_ones = [], []
    for number, char in enumerate(text):
        if kinds[number] != "ON":
            continue
        if char in _PAIRS:
            open_ones.append((number, _PAIRS[char]))
        matching = [place for place, pair in enumerate(open_ones) if pair[1] == char]
        if matching:
            pairs.append((open_ones[matching[-1]][0], number))
            del open_ones[matching[-1] :]
    return sorted(pairs)


def _resolve_neutral(kinds: list[str], base: str) -> None:
    """Set spaces and signs to the surrounding direction, or to the text's direction (N1, N2)."""
    start = 0
    for directed, group in groupby([*kinds], key=_DIRECTIONS.__contains__):
        end = start + len([*group])
        if not directed:
            left = _DIRECTIONS[kinds[start - 1]] if start else base
            right = _DIRECTIONS[kinds[end]] if end < len(kinds) else base
            kinds[start:end] = [left if left == right else base] * (end - start)
        start = end


def in_visual_order(runs: Sequence[_Run], level: Callable[[_Run], int]) -> list[_Run]:
    """Return runs of text in display order, from left to right (L2)."""
    shown = [*runs]
    highest = max(map(level, shown), default=0)
    for threshold in range(highest, 0, -1):
        ordered: list[_Run] = []
        for inside, group in groupby(shown, key=lambda run: level(run) >= threshold):
            part = [*group]
            ordered += part[::-1] if inside else part
        shown = ordered
    return shown
