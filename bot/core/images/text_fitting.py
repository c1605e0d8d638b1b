"""Text in pictures: the font of the project, the letters it has, and lines that fit a width.

Letters are placed one after the other, alike on every machine. Scripts that stack or join letters
or run from right to left can't be drawn so; the font has none of their letters.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING

from bot.core.images.font import Font, load_face

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PIL import Image
    from PIL.ImageFont import FreeTypeFont

    from bot.core.images.font import Anchor, Fill, Weight

ELLIPSIS = "…"
LINE_HEIGHT = 1.3  # in font sizes

_MIN_LETTER_WIDTH = 0.1
"""In font sizes, less than any letter's: no more of a text is measured than may fit."""

_MISSING = "\U0010ffff"  # unassigned: drawn as every character is that the font lacks
_NOT_LETTERS = frozenset("MCZ")  # categories: marks, controls, separators
_PROBE_SIZE = 24  # pixels; enough to tell any two letters apart
_INVISIBLE = frozenset(["Cc", "Cf"])
_SYMBOLS = frozenset(["So", "Sm", "Sk"])  # not Sc: a currency sign has a meaning
_PICTOGRAPHS = frozenset([*range(0x1F000, 0x1FB00), *range(0xFE00, 0xFE10), 0x20E3])
"""Emoji, also those of later Unicode versions, variation selectors and the enclosing keycap."""


@dataclass(frozen=True, slots=True)
class FittedText:
    """Lines that fit, and the font in the size in which they do."""

    lines: tuple[str, ...]
    font: Font

    @property
    def height(self) -> int:
        """Return the height of all lines in pixels."""
        return int(len(self.lines) * self.font.size * LINE_HEIGHT)

    @property
    def width(self) -> int:
        """Return the width of the longest line in pixels."""
        return ceil(max(map(self.font.length, self.lines)))

    def line_middles(self, top: int) -> Iterator[tuple[str, float]]:
        """Yield each line and the height of its middle, where the first line begins at `top`."""
        step = self.font.size * LINE_HEIGHT
        for number, line in enumerate(self.lines):
            yield line, top + (number + 0.5) * step

    def draw(
        self, image: Image.Image, at: tuple[float, int], fill: Fill, anchor: Anchor = "left"
    ) -> None:
        """Draw the lines; `at` is the left end, middle or right end of the upper edge."""
        for line, middle in self.line_middles(at[1]):
            self.font.draw(image, line, (at[0], middle), fill, anchor)


def normalize(text: str) -> str:
    """Return the text composed (NFC) and with single plain spaces, as it is drawn."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def can_draw(text: str) -> bool:
    """Return whether the font has every letter of a normalized text and can place it correctly."""
    return all(map(_has_glyph, set(text)))


def drawable_text(text: str) -> str | None:
    """Return a text as a picture can show it: normalized, without emoji and invisible characters.

    None where the font can't draw the rest, or where the rest has no letter or digit.
    """
    shown = normalize("".join(char for char in text if not _is_ignorable(char)))
    return shown if any(map(str.isalnum, shown)) and can_draw(shown) else None


def _is_ignorable(char: str) -> bool:
    if char.isspace():
        return False
    category = unicodedata.category(char)
    missing_symbol = category in _SYMBOLS and not _has_glyph(char)
    return missing_symbol or category in _INVISIBLE or ord(char) in _PICTOGRAPHS


@lru_cache(maxsize=4096)
def _has_glyph(char: str) -> bool:
    if char == " ":
        return True
    if unicodedata.category(char)[0] in _NOT_LETTERS or not _probe().getlength(char):
        return False
    return _glyph_mask(char) != _glyph_mask(_MISSING)


def _glyph_mask(char: str) -> tuple[tuple[int, int], bytes]:
    mask = _probe().getmask(char)
    return mask.size, bytes(mask)


def _probe() -> FreeTypeFont:
    return load_face(_PROBE_SIZE, "regular")


def fit(
    text: str, width: int, sizes: Sequence[int], *, max_lines: int = 1, weight: Weight = "regular"
) -> FittedText:
    """Split a normalized text into lines of at most `width` pixels.

    The first of `sizes` in which the whole text fits is used; in the last one it is cut short.
    """
    text = text[: int(max_lines * width / (_MIN_LETTER_WIDTH * min(sizes)))]
    for size in sizes:
        font = Font(size, weight)
        lines = _wrap(text, width, font)
        if len(lines) <= max_lines:
            return FittedText(tuple(lines), font)
    kept = lines[: max_lines - 1]
    for line in kept:
        text = text.removeprefix(line).lstrip()
    return FittedText((*kept, _cut_short(text, width, font)), font)


def fit_drawable(
    text: str, width: int, sizes: Sequence[int], *, max_lines: int = 1, weight: Weight = "regular"
) -> FittedText | None:
    """Fit the drawable part of any text, as `fit` does; None where there is none."""
    shown = drawable_text(text)
    return fit(shown, width, sizes, max_lines=max_lines, weight=weight) if shown else None


def _wrap(text: str, width: int, font: Font) -> list[str]:
    """Split a text between words; a word wider than a line is split too."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if font.length(longer) <= width:
            line = longer
            continue
        if line:
            lines.append(line)
        line = word
        while font.length(line) > width:
            start = _longest_start(line, width, font)
            lines.append(start)
            line = line.removeprefix(start)
    return [*lines, line]


def _longest_start(word: str, width: int, font: Font) -> str:
    """Return as much of a word as fits, at least one letter."""
    ends = range(1, len(word) + 1)
    fitting = bisect_right(ends, width, key=lambda end: ceil(font.length(word[:end])))
    return word[: max(1, fitting)]


def _cut_short(text: str, width: int, font: Font) -> str:
    """Return as much of the text as fits with an ellipsis after it."""

    def cut(end: int) -> str:
        return text[:end].rstrip() + ELLIPSIS

    ends = range(1, len(text) + 1)
    return cut(bisect_right(ends, width, key=lambda end: ceil(font.length(cut(end)))))
