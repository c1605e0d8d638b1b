"""QR codes: text to PNG or SVG, level M, with a white border of four modules.

The library `qrcode` makes codewords and modules. It spends most of its time scoring the eight masks
(ISO/IEC 18004 section 7.8.3) and painting, so both are done here. A symbol is one integer with one
bit per module, so each rule is a few shifts over all modules. The picture is an enlargement of
these bits (docs/decisions/pictures.md#0013).
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import chain, groupby

from PIL import Image
from qrcode import QRCode
from qrcode.constants import ERROR_CORRECT_M
from qrcode.exceptions import DataOverflowError

BORDER = 4  # modules; ISO/IEC 18004 section 5.3.8
MAX_BYTES = 2331  # version 40, level M; more if the text is mostly digits
MIN_PIXELS = 512  # a phone's camera reads it from another screen

_MASKS = range(8)
_TO_BINARY = bytes.maketrans(b"\0\1", b"01")
_TO_GREY = bytes.maketrans(b"01", b"\xff\0")
_RUN, _BLOCK, _FINDER, _BALANCE = 2, 3, 40, 10  # penalty points: N1 (less 1), N2, N3, N4
_FINDER_LIKE = (0b00001011101, 0b10111010000)


@dataclass(frozen=True, slots=True)
class _Symbol:
    """The modules of a code (1 is dark), by rows and by columns; the first is the highest bit."""

    size: int
    rows: int
    columns: int

    def __xor__(self, other: _Symbol) -> _Symbol:
        return _Symbol(self.size, self.rows ^ other.rows, self.columns ^ other.columns)


def matrix(text: str) -> list[list[bool]]:
    """Return the modules of the code by row, without border; True is dark.

    Raises ValueError if the text is empty or too long for a QR code: callers limit its length.
    """
    symbol = _best_symbol(text)
    return [[module == "1" for module in row] for row in _lines(symbol)]


def png(text: str) -> bytes:
    """Return a PNG with one bit per pixel, at least 512 pixels wide.

    Raises ValueError like `matrix`.
    """
    picture = module_image(text)
    out = io.BytesIO()
    enlarge(picture, -(-MIN_PIXELS // picture.width)).save(out, "PNG")
    return out.getvalue()


def module_image(text: str, *, border: int = BORDER, least_version: int = 1) -> Image.Image:
    """Return the code with its border as an image: one pixel per module, one bit per pixel.

    Raises ValueError like `matrix`.
    """
    symbol = _best_symbol(text, least_version)
    side = symbol.size + 2 * border
    picture = Image.new("1", (side, side), 1)
    greys = f"{symbol.rows:0{symbol.size**2}b}".encode().translate(_TO_GREY)
    modules = Image.frombytes("L", (symbol.size, symbol.size), greys).convert("1")
    picture.paste(modules, (border, border))
    return picture


def enlarge(picture: Image.Image, scale: int) -> Image.Image:
    """Return a module image with `scale` pixels per module."""
    side = picture.width * scale
    return picture.resize((side, side), Image.Resampling.NEAREST)


def svg(text: str) -> str:
    """Return the code as an SVG, one unit per module. Raises ValueError like `matrix`."""
    symbol = _best_symbol(text)
    side = symbol.size + 2 * BORDER
    outline: list[str] = []  # a rectangle for each run of dark modules
    for row, line in enumerate(_lines(symbol), BORDER):
        column = BORDER
        for module, run in groupby(line):
            width = len(list(run))
            if module == "1":
                outline.append(f"M{column} {row}h{width}v1h-{width}z")
            column += width
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side} {side}" role="img"'
        ' shape-rendering="crispEdges">'
        f'<rect width="{side}" height="{side}" fill="#fff"/>'
        f'<path d="{"".join(outline)}" fill="#000"/></svg>'
    )


def _lines(symbol: _Symbol) -> list[str]:
    size = symbol.size
    bits = f"{symbol.rows:0{size * size}b}"
    return [bits[start : start + size] for start in range(0, size * size, size)]


def _best_symbol(text: str, least_version: int = 1) -> _Symbol:
    """Return the code of the text under the mask with the fewest penalty points."""
    if not text:
        raise ValueError("an empty text has no QR code")
    code = QRCode(least_version, error_correction=ERROR_CORRECT_M, border=0, mask_pattern=0)
    code.add_data(text)
    try:
        code.make()
    except (DataOverflowError, ValueError) as error:
        raise ValueError(f"no QR code holds this text of {len(text)} characters") from error
    plain = _read(code)
    return min((plain ^ mask for mask in _mask_differences(code.version)), key=_penalty)


def _read(code: QRCode) -> _Symbol:
    rows = code.modules
    return _Symbol(len(rows), _pack(rows), _pack(list(zip(*rows, strict=True))))


def _pack(lines: Iterable[Iterable[bool]]) -> int:
    return int(bytes(chain.from_iterable(lines)).translate(_TO_BINARY), 2)


@cache
def _mask_differences(version: int) -> tuple[_Symbol, ...]:
    """Return the differences between a symbol under mask 0 and under each mask.

    The differences include the format information and depend only on the version.
    """
    symbols = []
    for mask in _MASKS:
        code = QRCode(version, ERROR_CORRECT_M, border=0, mask_pattern=mask)
        code.add_data("0")
        code.make(fit=False)
        symbols.append(_read(code))
    return tuple(symbol ^ symbols[0] for symbol in symbols)


@cache
def _grid(size: int, columns: int, rows: int) -> int:
    """Return a bit mask of the last `columns` modules of each of the last `rows` rows."""
    line = (1 << columns) - 1
    return sum(line << (size * row) for row in range(rows))


def _penalty(symbol: _Symbol) -> int:
    """Score a symbol by ISO/IEC 18004 table 11; the result equals `qrcode.util.lost_point`."""
    size, total = symbol.size, symbol.size**2
    dark = symbol.rows.bit_count()
    unbalance = abs(20 * dark - 10 * total) // total
    lines = sum(_runs(bits, size) + _finders(bits, size) for bits in (symbol.rows, symbol.columns))
    return lines + _blocks(symbol.rows, size) + _BALANCE * unbalance


def _runs(bits: int, size: int) -> int:
    """Score N1: 3 points for five modules of one colour in a line, 1 for each additional module."""
    same = ~(bits ^ (bits >> 1)) & _grid(size, size - 1, size)
    five = same & same >> 1 & same >> 2 & same >> 3
    return five.bit_count() + _RUN * (five & ~(five << 1)).bit_count()


def _blocks(bits: int, size: int) -> int:
    """Score N2: each square of two by two modules of one colour."""
    beside = ~(bits ^ (bits >> 1))
    below = ~(bits ^ (bits >> size))
    both = beside & below & (beside >> size) & _grid(size, size - 1, size - 1)
    return _BLOCK * both.bit_count()


def _finders(bits: int, size: int) -> int:
    """Score N3: each 1:1:3:1:1 as in a finder pattern, with four light modules on one side."""
    inside = _grid(size, size - 10, size)
    found = 0
    for pattern in _FINDER_LIKE:
        here = inside
        for offset in range(11):
            here &= bits >> offset if pattern >> offset & 1 else ~(bits >> offset)
        found += here.bit_count()
    return _FINDER * found
