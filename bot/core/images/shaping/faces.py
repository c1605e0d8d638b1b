"""The fonts of scripts and emoji: which of them has a character, and loading one.

Files are mapped into memory and not read, and a font is loaded with the first text that needs it.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from functools import lru_cache

import uharfbuzz

from bot.core.images import clusters
from bot.core.images.plain_font import FACES, FONTS, Weight

PLAIN, EMOJI = "NotoSans", "Twemoji"
JAPANESE, CHINESE, KOREAN = "NotoSansCJKJP", "NotoSansCJKSC", "NotoSansCJKKR"
EAST_ASIAN = frozenset([JAPANESE, CHINESE, KOREAN])

RANGES = (
    (0x0530, "NotoSansArmenian"),
    (0x0590, "NotoSansHebrew"),
    (0x0600, "NotoSansArabic"),
    (0x0700, ""),
    (0x0750, "NotoSansArabic"),
    (0x0780, ""),
    (0x0870, "NotoSansArabic"),
    (0x0900, "NotoSansDevanagari"),
    (0x0980, "NotoSansBengali"),
    (0x0A00, ""),
    (0x0B80, "NotoSansTamil"),
    (0x0C00, "NotoSansTelugu"),
    (0x0C80, "NotoSansKannada"),
    (0x0D00, ""),
    (0x0E00, "NotoSansThai"),
    (0x0E80, ""),
    (0x10A0, "NotoSansGeorgian"),
    (0x1100, ""),
    (0x1C90, "NotoSansGeorgian"),
    (0x1CC0, ""),
    (0x2D00, "NotoSansGeorgian"),
    (0x2D30, ""),
    (0x3000, CHINESE),
    (0x3131, KOREAN),
    (0x318F, CHINESE),
    (0xAC00, KOREAN),
    (0xD7A4, ""),
    (0xFB13, "NotoSansArmenian"),
    (0xFB18, ""),
    (0xFB1D, "NotoSansHebrew"),
    (0xFB50, "NotoSansArabic"),
    (0xFE00, ""),
    (0xFE70, "NotoSansArabic"),
    (0xFF00, CHINESE),
    (0xFFF0, ""),
)
"""The first character of each block, and the font of its letters; the plain one has no name."""

AXIS = {"regular": 400, "semibold": 600, "bold": 700}
"""Weights of the fonts that have every one of them in one file."""

EMBOLDENING = {"regular": -0.012, "semibold": 0.01, "bold": 0.03}
"""In em, how much bolder the East Asian fonts are made: their files have a medium weight."""

_IGNORABLE = frozenset(["Cf", "Cc", "Zs"])


@lru_cache(maxsize=4096)
def choose(cluster: str, language: str = "") -> str | None:
    """Return the name of the first font that has a whole cluster, None where there is none."""
    names = _candidates(cluster, language)
    return next((name for name in names if has(name, cluster)), None)


def _candidates(cluster: str, language: str) -> tuple[str, ...]:
    first = cluster[0]
    if (
        clusters.EMOJI_STYLE in cluster
        or clusters.KEYCAP in cluster
        or (ord(first) >= RANGES[-1][0] and clusters.is_pictograph(first))
    ):
        return EMOJI, PLAIN
    own = RANGES[max(0, bisect_right(RANGES, ord(first), key=lambda entry: entry[0]) - 1)]
    if own[1] == CHINESE:
        order = (JAPANESE, CHINESE) if language == "ja" else (CHINESE, JAPANESE)
        return *order, EMOJI
    script = (own[1],) if own[1] and ord(first) >= own[0] else ()
    symbols = (JAPANESE, EMOJI) if clusters.TEXT_STYLE in cluster else (EMOJI, JAPANESE)
    return *script, PLAIN, *(symbols if unicodedata.category(first)[0] in "SPN" else ())


def has(name: str, cluster: str) -> bool:
    """Return whether a font has every visible character of a cluster."""
    font = load(name, "regular")
    return all(is_invisible(char) or font.get_nominal_glyph(ord(char)) for char in cluster)


def is_invisible(char: str) -> bool:
    """Return whether a character only changes how others look."""
    return unicodedata.category(char) in _IGNORABLE or "\ufe00" <= char <= clusters.EMOJI_STYLE


@lru_cache(maxsize=64)
def load(name: str, weight: Weight) -> uharfbuzz.Font:
    """Return a font in a weight, in the units of its em."""
    font = uharfbuzz.Font(_face(FACES[weight] if name == PLAIN else name))
    if name in EAST_ASIAN:
        font.synthetic_bold = (EMBOLDENING[weight], EMBOLDENING[weight], True)
    elif name not in (PLAIN, EMOJI):
        font.set_variations({"wght": AXIS[weight]})
    return font


@lru_cache(maxsize=64)
def _face(file: str) -> uharfbuzz.Face:
    suffix = "otf" if file in EAST_ASIAN else "ttf"
    return uharfbuzz.Face(uharfbuzz.Blob.from_file_path(str(FONTS / f"{file}.{suffix}")))
