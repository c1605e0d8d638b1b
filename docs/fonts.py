"""Makes the fonts of scripts in bot/core/images/fonts: `python docs/fonts.py FOLDER`.

FOLDER has the unpacked packages: `npm pack` of each `@fontsource-variable/noto-sans-SCRIPT` in
`SCRIPT`, of `twemoji-colr-font` in `twemoji`, and Debian's `fonts-noto-cjk-extra` in `cjk`. Needs
fontTools and brotli. A font keeps the letters of everyday texts, and no hints for screens.
"""

from __future__ import annotations

import io
import sys
from itertools import product
from pathlib import Path

from fontTools.subset import Options, Subsetter, save_font
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont

FONTS = Path(__file__).parents[1] / "bot" / "core" / "images" / "fonts"
SCRIPTS = [
    *("arabic", "armenian", "bengali", "devanagari", "georgian"),
    *("hebrew", "kannada", "tamil", "telugu", "thai"),
]
WEIGHTS = (400, 400, 700)  # least, default and most

CJK = "usr/share/fonts/opentype/noto/NotoSansCJK-Medium.ttc"
SYMBOLS = {*range(0x3000, 0x3100), *range(0x3105, 0x3130), *range(0x31F0, 0x3200)}
"""Punctuation, kana and bopomofo."""
WIDE = set(range(0xFF00, 0xFFF0))
HANGUL = {*range(0x3131, 0x318F), *range(0xAC00, 0xD7A4)}
LEVEL_1 = range(0xA4, 0xC7)  # of Big5: the characters in common use
ALL = range(0xA1, 0xFF)
FIRST_SYMBOL = 0x2000


def main(folder: Path) -> None:
    """Write every font."""
    for script in SCRIPTS:
        slices = folder / script / "package" / "files"
        font = TTFont(
            slices / f"noto-sans-{script}-{script}-wght-normal.woff2", recalcTimestamp=False
        )
        instantiateVariableFont(font, {"wght": WEIGHTS}, inplace=True)
        write(reopened(font), f"NotoSans{script.title()}.ttf")
    write(
        TTFont(folder / "twemoji" / "package" / "twemoji.woff2", recalcTimestamp=False),
        "Twemoji.ttf",
    )
    chinese = characters("gb2312", ALL) | characters("big5", LEVEL_1)
    for face, name, kept in (
        (0, "JP", characters("euc_jp", ALL) | SYMBOLS | WIDE),
        (1, "KR", HANGUL),
        (2, "SC", chinese | SYMBOLS | WIDE),
    ):
        font = TTFont(folder / "cjk" / CJK, fontNumber=face, recalcTimestamp=False)
        write(font, f"NotoSansCJK{name}.otf", kept)


def reopened(font: TTFont) -> TTFont:
    """Return the font as it is read from a file: subsetting needs that."""
    out = io.BytesIO()
    font.flavor = None
    font.save(out)
    return TTFont(io.BytesIO(out.getvalue()), recalcTimestamp=False)


def characters(codec: str, rows: range) -> set[int]:
    """Return the characters and symbols of two bytes in a codec of East Asia."""
    pairs = (bytes(pair).decode(codec, "ignore") for pair in product(rows, range(0x40, 0xFF)))
    return {ord(char) for pair in pairs for char in pair if ord(char) >= FIRST_SYMBOL}


def write(font: TTFont, name: str, kept: set[int] | None = None) -> None:
    """Write a font with the glyphs of some characters, or of all that it has."""
    options = Options(layout_features=["*"] if kept is None else ["ccmp"])
    options.set(hinting=False, glyph_names=False, notdef_outline=False, name_IDs=[0, 5, 13, 14])
    options.drop_tables += ["STAT", "meta", "FFTM", "BASE", "VORG", "vhea", "vmtx"]
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=font.getBestCmap() if kept is None else kept)
    subsetter.subset(font)
    font.flavor = None
    save_font(font, str(FONTS / name), options)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
