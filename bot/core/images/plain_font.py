"""The font for Latin, Greek and Cyrillic, which need no shaping."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from PIL import ImageFont

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont


FONTS = Path(__file__).parent / "fonts"

Weight: TypeAlias = Literal["regular", "semibold", "bold"]

FACES: dict[Weight, str] = {
    "regular": "NotoSans-Regular",
    "semibold": "NotoSans-SemiBold",
    "bold": "NotoSans-Bold",
}
"""The names of the font files, by weight."""

_MISSING = "\U0010ffff"  # unassigned: drawn like every character that the font lacks
_NOT_LETTERS = frozenset("MCZ")  # categories: marks, controls, separators
_PROBE_SIZE = 24  # pixels; enough to tell any two letters apart


@lru_cache(maxsize=64)
def load_face(size: int, weight: Weight) -> FreeTypeFont:
    """Return the font in a size of `size` pixels."""
    path = FONTS / f"{FACES[weight]}.ttf"
    return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)


def is_plain(line: str) -> bool:
    """True if the font has every letter of a line and can place all of them correctly."""
    return all(map(_has_glyph, set(line)))


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
