"""Text in pictures: drawable text, fonts, and lines that fit a width.

Pillow sets lines of Latin, Greek and Cyrillic letters in the plain font. All other lines go through
`shaping`, which is loaded for the first such line.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING, Literal, TypeAlias

from PIL import ImageDraw

from bot.core.images import plain_font, unicode_text
from bot.core.text import sanitize

if TYPE_CHECKING:
    from PIL import Image

    from bot.core.images import shaping


Anchor: TypeAlias = Literal["left", "middle", "right"]
Direction: TypeAlias = Literal["ltr", "rtl"]
Fill: TypeAlias = tuple[int, int, int] | int
"""A colour of an RGB image, or a level of a greyscale image."""

_PILLOW_ANCHORS: dict[Anchor, str] = {"left": "lm", "middle": "mm", "right": "rm"}
_SHARES: dict[Anchor, float] = {"left": 0, "middle": 0.5, "right": 1}


def has_glyphs(cluster: str) -> bool:
    """True if one of the fonts has a whole grapheme cluster."""
    from bot.core.images import shaping  # noqa: PLC0415 - costs memory, seldom used

    return shaping.choose_face(cluster) is not None


@dataclass(frozen=True, slots=True)
class Font:
    """The fonts in a size of `size` pixels.

    `language` selects the forms of Han characters: Japanese for "ja", otherwise Chinese.
    """

    size: int
    weight: plain_font.Weight = "regular"
    language: str = ""

    def length(self, line: str) -> float:
        """Return the width of a line in pixels."""
        if plain_font.is_plain(line):
            return plain_font.load_face(self.size, self.weight).getlength(line)
        return self._shape(line).width * self.size

    def ink(self, line: str) -> tuple[float, float]:
        """Return how far a line reaches above and below its baseline, in font sizes."""
        if plain_font.is_plain(line):
            _, top, _, bottom = plain_font.load_face(self.size, self.weight).getbbox(
                line, anchor="ls"
            )
            return -top / self.size, bottom / self.size
        shaped = self._shape(line)
        return shaped.above, shaped.below

    def draw(
        self,
        image: Image.Image,
        line: str,
        at: tuple[float, float],
        fill: Fill,
        anchor: Anchor = "left",
    ) -> None:
        """Draw a line; `at` is its vertical middle at the side that `anchor` names."""
        if plain_font.is_plain(line):
            face, place = plain_font.load_face(self.size, self.weight), _PILLOW_ANCHORS[anchor]
            ImageDraw.Draw(image).text(at, line, fill=fill, font=face, anchor=place)
            return
        from bot.core.images import shaping  # noqa: PLC0415 - costs memory

        shaped = self._shape(line)
        left = at[0] - _SHARES[anchor] * shaped.width * self.size
        origin = (left, at[1] + self._rise())
        shaping.draw(image, shaped, self.size, origin, fill)

    def outlines(self, line: str) -> Iterator[shaping.Layer]:
        """Yield the outlines of a line, colour by colour."""
        from bot.core.images import shaping  # noqa: PLC0415 - costs memory

        yield from shaping.layers(self._shape(line))

    def trace(self, layer: shaping.Layer, at: tuple[float, float], path: shaping.Path) -> None:
        """Add outlines of a line to a path; `at` is the vertical middle of its left end."""
        from bot.core.images import shaping  # noqa: PLC0415 - costs memory

        shaping.trace(layer, self.size, self.weight, (at[0], at[1] + self._rise()), path)

    def _shape(self, line: str) -> shaping.ShapedLine:
        from bot.core.images import shaping  # noqa: PLC0415 - costs memory

        return shaping.shape(line, self.weight, self.language)

    def _rise(self) -> float:
        """Return the distance from the middle of a line down to its baseline."""
        ascent, descent = plain_font.load_face(self.size, self.weight).getmetrics()
        return (ascent - descent) / 2


ELLIPSIS = "…"
LINE_HEIGHT = 1.3  # in font sizes
ABOVE, BELOW = 1.04, 0.26
"""Room of a line above and below its baseline, in font sizes. A line is higher if its ink reaches
further, as in Arabic or Thai."""

HYPHEN = "-"
_HYPHENATED = ("LATIN", "GREEK", "CYRILLIC", "GEORGIAN", "ARMENIAN")
"""Scripts whose words are broken with a hyphen, as they appear in Unicode character names."""

_QUOTES = frozenset(["Pd", "Ps", "Pe", "Pi", "Pf"])
_IN_WORDS = frozenset("'\u2019-")
_AROUND_WORDS = frozenset("\"'.,:;!?…")
KEPT = 2
"""The fewest letters of a broken word on each line."""

MOST_MARKS = 6
"""The most marks drawn on one letter. No writing system needs more, and more would cover other
lines."""

_MIN_LETTER_WIDTH = 0.1
"""A lower bound on letter widths in font sizes, so that only text that may fit is measured."""

_INVISIBLE = frozenset(["Cc", "Cf"])
_SYMBOLS = frozenset(["So", "Sm", "Sk"])  # not Sc: currency signs carry meaning
_MARKS = frozenset(["Mn", "Me", "Mc"])
_MEANINGFUL = frozenset(
    [
        *sanitize.JOINERS,
        *unicode_text.DIRECTION_MARKS,
        *map(chr, sanitize.EMOJI_TAGS),
    ]
)
"""Invisible characters that change how other characters are drawn."""


@dataclass(frozen=True, slots=True)
class FittedText:
    """Lines that fit, and the font at the size at which they fit."""

    lines: tuple[str, ...]
    font: Font

    @property
    def height(self) -> int:
        """Return the height of all lines in pixels."""
        return int(sum(above + below for above, below in self._rooms()) * self.font.size)

    def _rooms(self) -> Iterator[tuple[float, float]]:
        """Yield the room of each line above and below its middle, in font sizes."""
        for above, below in map(self.font.ink, self.lines):
            half = LINE_HEIGHT / 2
            yield half + max(0, above - ABOVE), half + max(0, below - BELOW)

    @property
    def direction(self) -> Direction:
        """Return the reading direction of the text."""
        return "rtl" if unicode_text.base_level(" ".join(self.lines)) else "ltr"

    @property
    def width(self) -> int:
        """Return the width of the longest line in pixels."""
        return ceil(max(map(self.font.length, self.lines)))

    def line_middles(self, top: int) -> Iterator[tuple[str, float]]:
        """Yield each line and the y of its middle; the first line begins at `top`."""
        middle = float(top)
        for line, (above, below) in zip(self.lines, self._rooms(), strict=True):
            yield line, middle + above * self.font.size
            middle += (above + below) * self.font.size

    def draw(
        self, image: Image.Image, at: tuple[float, int], fill: Fill, anchor: Anchor = "left"
    ) -> None:
        """Draw the lines; `at` is the point of the upper edge that `anchor` names."""
        for line, middle in self.line_middles(at[1]):
            self.font.draw(image, line, (at[0], middle), fill, anchor)


def normalize(text: str) -> str:
    """Return the text composed (NFC) and with single plain spaces, as it is drawn."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def drawable_text(text: str) -> str | None:
    """Return the drawable form of a text: normalized, without characters missing from every font.

    Only symbols, emoji and marks may be left out. Return None if a letter is missing, because the
    word would change, or if no letter, digit or emoji remains.
    """
    kept = (
        char
        for char in text
        if unicodedata.category(char) not in _INVISIBLE or char.isspace() or char in _MEANINGFUL
    )
    shown = normalize("".join(kept))
    unseen = {*_MEANINGFUL, unicode_text.TEXT_STYLE, unicode_text.EMOJI_STYLE}
    plain = normalize("".join(char for char in shown if char not in unseen))
    if not plain_font.is_plain(plain):
        parts = [_drawable_part(cluster) for cluster in sanitize.graphemes(shown)]
        if None in parts:
            return None
        plain = normalize("".join(filter(None, parts)))
    has_meaning = any(
        char.isalnum() or unicode_text.is_pictograph(char) or char == unicode_text.KEYCAP
        for char in plain
    )
    return plain if has_meaning else None


def _drawable_part(cluster: str) -> str | None:
    """Return the part of a cluster that the fonts can draw; None if they lack its letter."""
    if has_glyphs(cluster) and len(cluster) <= MOST_MARKS:
        return cluster
    first = cluster[0]
    if unicode_text.is_pictograph(first):
        return cluster if has_glyphs(cluster) else ""
    if unicodedata.category(first) in _SYMBOLS | _MARKS:
        return ""
    if not has_glyphs(first):
        return None
    marks = [char for char in cluster[1:] if has_glyphs(first + char)]
    return first + "".join(marks[:MOST_MARKS])


def font_for(text: str, size: int, weight: plain_font.Weight = "regular") -> Font:
    """Return the font in which every line of a text is set."""
    return Font(size, weight, "ja" if unicode_text.is_japanese(text) else "")


def fit(
    text: str,
    width: int,
    sizes: Sequence[int],
    *,
    max_lines: int = 1,
    weight: plain_font.Weight = "regular",
) -> FittedText:
    """Split a normalized text into lines of at most `width` pixels.

    The first of `sizes` in which the whole text fits is used; in the last size it is cut short.
    """
    text = text[: int(max_lines * width / (_MIN_LETTER_WIDTH * min(sizes)))]
    for size in sizes:
        font = font_for(text, size, weight)
        lines = _wrap(text, width, font)
        if len(lines) <= max_lines:
            return FittedText(with_direction([shown for shown, _ in lines], text), font)
    kept, rest = lines[: max_lines - 1], text
    for _, line in kept:
        rest = rest.removeprefix(line).lstrip()
    starts = [start.rstrip() + ELLIPSIS for start in accumulate(_parts(rest, width, font))]
    last = starts[max(1, _fitting(starts, width, font)) - 1]
    shown = [*(shown for shown, _ in kept), last]
    return FittedText(with_direction(shown, rest), font)


def fit_drawable(
    text: str,
    width: int,
    sizes: Sequence[int],
    *,
    max_lines: int = 1,
    weight: plain_font.Weight = "regular",
) -> FittedText | None:
    """Fit the drawable form of any text, as `fit` does; return None if it has no drawable form."""
    shown = drawable_text(text)
    return fit(shown, width, sizes, max_lines=max_lines, weight=weight) if shown else None


def _wrap(text: str, width: int, font: Font) -> list[tuple[str, str]]:
    """Wrap a text into lines; a word wider than a line is broken.

    Return each line as displayed, with its hyphen, and as it occurs in the text.
    """
    parts = [*pieces(text)]
    lines: list[tuple[str, str]] = []
    start = 0
    while start < len(parts):
        count = _fitting(list(accumulate(parts[start:])), width, font)
        if count:
            line = "".join(parts[start : start + count]).strip(" ")
            lines.append((line, line))
            start += count
            continue
        part = parts[start].strip(" ")
        lines.append(_longest_start(part, width, font))
        parts[start] = part.removeprefix(lines[-1][1])
        start += not parts[start]
    return lines


def pieces(text: str) -> Iterator[str]:
    """Yield the unbreakable pieces of a text; each word keeps the space before it."""
    for number, word in enumerate(text.split(" ")):
        before = " " if number else ""
        for piece in unicode_text.break_word(word):
            yield before + piece
            before = ""


def _fitting(starts: Sequence[str], width: int, font: Font) -> int:
    """Return how many of the increasingly long prefixes of a line fit, ignoring outer spaces."""
    return bisect_right(starts, width, key=lambda start: ceil(font.length(start.strip(" "))))


def _longest_start(word: str, width: int, font: Font) -> tuple[str, str]:
    """Return the longest prefix of a word that fits, with its hyphen and without.

    The prefix has at least one letter. It ends after a hyphen of the word if possible, and never
    leaves a single letter on a line.
    """
    starts = [*accumulate(_parts(word, width, font))]
    hyphen = HYPHEN if _is_hyphenated(word) else ""
    shown = [start + hyphen * _is_inside(word, len(start)) for start in starts]
    count = max(1, bisect_right(shown, width, key=lambda line: ceil(font.length(line))))
    if hyphen:
        count = max(1, min(count, len(starts) - KEPT))
        own = (number for number in range(count, 1, -1) if starts[number - 1][-1] == HYPHEN)
        count = next(own, count)
    return shown[count - 1], starts[count - 1]


def _is_hyphenated(word: str) -> bool:
    """True if a word consists of letters that are broken with a hyphen.

    Amounts, links and words of other scripts are broken without a hyphen.
    """
    around = [
        char for char in word if char in _AROUND_WORDS or unicodedata.category(char) in _QUOTES
    ]
    bare = word.strip("".join(around))
    return len(bare) > KEPT and all(
        char in _IN_WORDS
        or unicodedata.category(char) in _MARKS
        or (char.isalpha() and unicodedata.name(char, "").startswith(_HYPHENATED))
        for char in bare
    )


def _is_inside(word: str, place: int) -> bool:
    """True if a position is between two letters of a word."""
    return word[place - 1] not in _IN_WORDS and word[place : place + 1].isalpha()


def _parts(text: str, width: int, font: Font) -> Iterator[str]:
    """Yield the clusters of a text; split a cluster wider than a line into characters."""
    for cluster in sanitize.graphemes(text):
        if len(cluster) > 1 and ceil(font.length(cluster + ELLIPSIS)) > width:
            yield from cluster
        else:
            yield cluster


def with_direction(lines: Sequence[str], text: str) -> tuple[str, ...]:
    """Prefix a direction mark to each line whose own direction differs from the text's."""
    level = unicode_text.base_level(text)
    mark = unicode_text.RIGHT_MARK if level else unicode_text.LEFT_MARK
    return tuple(line if unicode_text.base_level(line) == level else mark + line for line in lines)
