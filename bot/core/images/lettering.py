"""Words in pictures: the font that travels with the project, what it can write, how it fits.

Letters are set one after the other, alike on every machine. Scripts that stack theirs are not
written, nor those that join them or run from right to left, which the font has not.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import ImageFont

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PIL.ImageFont import FreeTypeFont

FONTS = Path(__file__).parent / "fonts"
ELLIPSIS = "…"
LEADING = 1.3
"""From line to line, in sizes of the letters."""

_NARROWEST = 0.1
"""Less than any letter's width, in sizes: a text of thousands is not measured to its end."""

_UNASSIGNED = "\U0010ffff"  # what the font draws for it, it draws for all that it has not
_SET_APART = frozenset("MCZ")  # marks, controls, spaces: not letters that follow one another
_PROBE = 24  # pixels; enough to tell any two letters apart
_INVISIBLE = frozenset(["Cc", "Cf"])
_SYMBOLS = frozenset(["So", "Sm", "Sk"])  # not those of money, which say something
_PICTOGRAPHS = frozenset([*range(0x1F000, 0x1FB00), *range(0xFE00, 0xFE10), 0x20E3])
"""Emoji, those of later Unicode too, and what chooses or encloses them: variation, keycap."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Lines that fit, and the font at the size at which they do."""

    lines: tuple[str, ...]
    font: FreeTypeFont

    @property
    def height(self) -> int:
        """Pixels that they take."""
        return int(len(self.lines) * self.font.size * LEADING)

    @property
    def width(self) -> int:
        """Pixels of the longest."""
        return ceil(max(map(self.font.getlength, self.lines)))

    def rows(self, top: int) -> Iterator[tuple[str, float]]:
        """Give each line and the height of its middle, where the first one begins at `top`."""
        step = self.font.size * LEADING
        for number, line in enumerate(self.lines):
            yield line, top + (number + 0.5) * step


@lru_cache(maxsize=64)
def font(size: int, *, bold: bool = False) -> FreeTypeFont:
    """Give the font with letters of `size` pixels."""
    path = FONTS / f"NotoSans-{'Bold' if bold else 'Regular'}.ttf"
    return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)


def tidied(text: str) -> str:
    """Give the text composed and with plain spaces, which is how it is to be written."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def writable(text: str) -> bool:
    """Whether the font has all of a tidied text and can set it as it has to be set."""
    return all(map(_has, set(text)))


def legible(text: str) -> str | None:
    """Give a text as a picture can show it: tidied, without emoji and what can't be seen.

    None where the font can't write the rest, or where that says nothing.
    """
    said = tidied("".join(char for char in text if not _idle(char)))
    says = any(map(str.isalnum, said))
    return said if says and writable(said) else None


def _idle(char: str) -> bool:
    """Whether a text says the same without it."""
    if char.isspace():
        return False
    category = unicodedata.category(char)
    symbol = category in _SYMBOLS and not _has(char)
    return symbol or category in _INVISIBLE or ord(char) in _PICTOGRAPHS


@lru_cache(maxsize=4096)
def _has(char: str) -> bool:
    if char == " ":
        return True
    if unicodedata.category(char)[0] in _SET_APART or not font(_PROBE).getlength(char):
        return False
    return _drawn(char) != _drawn(_UNASSIGNED)


def _drawn(char: str) -> tuple[tuple[int, int], bytes]:
    mask = font(_PROBE).getmask(char)
    return mask.size, bytes(mask)


def fitted(
    text: str, width: int, sizes: Sequence[int], *, most: int = 1, bold: bool = False
) -> Fitted:
    """Break a tidied text into at most so many lines of `width` pixels.

    The first of `sizes` at which all of it fits is taken; at the last one it is cut short.
    """
    text = text[: int(most * width / (_NARROWEST * min(sizes)))]
    for size in sizes:
        letters = font(size, bold=bold)
        lines = _wrapped(text, width, letters)
        if len(lines) <= most:
            return Fitted(tuple(lines), letters)
    kept = lines[: most - 1]
    return Fitted((*kept, _cut(_rest(text, kept), width, letters)), letters)


def written(
    text: str, width: int, sizes: Sequence[int], *, most: int = 1, bold: bool = False
) -> Fitted | None:
    """Fit what of any text can be written, as `fitted` does; None where that is nothing."""
    said = legible(text)
    return fitted(said, width, sizes, most=most, bold=bold) if said else None


def _rest(text: str, lines: list[str]) -> str:
    """What of the text comes after these lines of it."""
    for line in lines:
        text = text.removeprefix(line).lstrip()
    return text


def _wrapped(text: str, width: int, letters: FreeTypeFont) -> list[str]:
    """Lines as full as they can be; a word wider than a line is broken where it must."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if letters.getlength(longer) <= width:
            line = longer
            continue
        if line:
            lines.append(line)
        line = word
        while letters.getlength(line) > width:
            head = _head(line, width, letters)
            lines.append(head)
            line = line.removeprefix(head)
    return [*lines, line]


def _head(word: str, width: int, letters: FreeTypeFont) -> str:
    """As much of a word as fits, one letter at least."""
    ends = range(1, len(word) + 1)
    fitting = bisect_right(ends, width, key=lambda end: ceil(letters.getlength(word[:end])))
    return word[: max(1, fitting)]


def _cut(text: str, width: int, letters: FreeTypeFont) -> str:
    """As much of the text as fits with an ellipsis after it."""

    def ended(end: int) -> str:
        return text[:end].rstrip() + ELLIPSIS

    ends = range(1, len(text) + 1)
    return ended(bisect_right(ends, width, key=lambda end: ceil(letters.getlength(ended(end)))))
