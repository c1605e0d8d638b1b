"""A page of a PDF to draw upon: code and cards are outlines, letters those of the font.

PDF 1.7 (ISO 32000-1). Coordinates are those of a picture, from the upper left corner.
"""

from __future__ import annotations

import io
import zlib
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from bot.chat.pictures.canvas import PAPER, fitting
from bot.chat.pictures.truetype import TrueType
from bot.core.images import qr

if TYPE_CHECKING:
    from PIL import Image

    from bot.chat.pictures.canvas import Box, Colour
    from bot.core.images.lettering import Fitted

A4 = (595.2756, 841.8898)  # points: 210 by 297 millimetres
ROUND = 0.5523  # how far a Bézier curve's points lie along the tangents of a quarter circle
QUALITY = 90
HEADER = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"  # bytes beyond ASCII say that it is not a text


class Page:
    """A canvas of A4, divided into so many pixels across and down."""

    def __init__(self, size: tuple[int, int]) -> None:
        self._size = size
        across, down = (whole / part for whole, part in zip(A4, size, strict=True))
        self._drawn = [f"{across:.6f} 0 0 {-down:.6f} 0 {A4[1]} cm"]
        self._images: list[tuple[tuple[int, int], bytes]] = []
        self._fonts: dict[str, dict[int, str]] = {}

    def ground(self, colour: Colour) -> None:
        """Fill everything."""
        self._drawn.append(f"{_fill(colour)} 0 0 {self._size[0]} {self._size[1]} re f")

    def picture(self, image: Image.Image, box: Box) -> None:
        """Paint an image into a box."""
        out = io.BytesIO()
        image.save(out, "JPEG", quality=QUALITY)
        left, top, right, bottom = box
        place = f"{right - left} 0 0 {top - bottom} {left} {bottom} cm"
        self._drawn.append(f"q {place} /I{len(self._images)} Do Q")
        self._images.append((image.size, out.getvalue()))

    def card(self, box: Box, corner: int) -> None:
        """Lay a white card with round corners."""
        left, top, right, bottom = box
        near, far = corner * (1 - ROUND), corner
        self._drawn.append(
            f"{_fill(PAPER)} {left + far} {top} m {right - far} {top} l"
            f" {right - near} {top} {right} {top + near} {right} {top + far} c"
            f" {right} {bottom - far} l"
            f" {right} {bottom - near} {right - near} {bottom} {right - far} {bottom} c"
            f" {left + far} {bottom} l"
            f" {left + near} {bottom} {left} {bottom - near} {left} {bottom - far} c"
            f" {left} {top + far} l"
            f" {left} {top + near} {left + near} {top} {left + far} {top} c f"
        )

    def code(self, link: str, box: Box) -> None:
        """Draw a code into the middle of a box, one rectangle a run of dark modules."""
        rows = qr.matrix(link)
        side, room = len(rows) + 2 * qr.BORDER, box[2] - box[0]
        scale, inset = fitting(side, room)
        place = f"{scale} 0 0 {scale} {box[0] + inset} {box[1] + inset} cm"
        steps = [f"q {place} {_fill((0, 0, 0))}"]
        for down, row in enumerate(rows, qr.BORDER):
            across = qr.BORDER
            for dark, run in groupby(row):
                width = len(list(run))
                if dark:
                    steps.append(f"{across} {down} {width} 1 re")
                across += width
        self._drawn.append("\n".join([*steps, "f Q"]))

    def line(self, text: str, at: tuple[int, float], block: Fitted, colour: Colour) -> None:
        """Write a line from its left end; `at` is the height of its middle."""
        path, size = str(block.font.path), block.font.size
        font, used = _font(path), self._fonts.setdefault(path, {})
        glyphs = [font.glyph(char) for char in text]
        used.update(zip(glyphs, text, strict=True))
        name = [*self._fonts].index(path)
        base = at[1] + size * (font.ascent + font.descent) / 2000
        shown = "".join(f"{glyph:04x}" for glyph in glyphs)
        self._drawn.append(
            f"BT {_fill(colour)} /F{name} {size} Tf 1 0 0 -1 {at[0]} {base:.2f} Tm <{shown}> Tj ET"
        )

    def document(self, title: str) -> bytes:
        """Give the PDF of this page alone."""
        file = _File()
        images = [
            file.add(
                f"/Type /XObject /Subtype /Image /Width {size[0]} /Height {size[1]}"
                " /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode",
                data,
            )
            for size, data in self._images
        ]
        fonts = [_add_font(file, path, used) for path, used in self._fonts.items()]
        drawn = file.packed("", "\n".join(self._drawn).encode())
        pages = file.count + 2
        page = file.add(
            f"/Type /Page /Parent {pages} 0 R /MediaBox [0 0 {A4[0]} {A4[1]}]"
            f" /Contents {drawn} 0 R /Resources << /XObject << {_named('I', images)} >>"
            f" /Font << {_named('F', fonts)} >> >>"
        )
        file.add(f"/Type /Pages /Kids [{page} 0 R] /Count 1")
        root = file.add(f"/Type /Catalog /Pages {pages} 0 R")
        about = file.add(f"/Title <feff{title.encode('utf-16-be', 'replace').hex()}>")
        return file.written(root, about)


class _File:
    """Objects of a PDF, numbered from 1 in the order in which they are added."""

    def __init__(self) -> None:
        self._objects: list[bytes] = []

    @property
    def count(self) -> int:
        return len(self._objects)

    def add(self, entries: str, stream: bytes | None = None) -> int:
        """Add a dictionary, with a stream behind it if there is one; its number."""
        if stream is None:
            made = f"<< {entries} >>".encode()
        else:
            made = b"<< %b /Length %d >>\nstream\n%b\nendstream" % (
                entries.encode(),
                len(stream),
                stream,
            )
        self._objects.append(made)
        return self.count

    def packed(self, entries: str, stream: bytes) -> int:
        """Add a stream that is compressed."""
        return self.add(f"{entries} /Filter /FlateDecode", zlib.compress(stream))

    def written(self, root: int, about: int) -> bytes:
        """Give the file: objects, where each begins, and which to begin with."""
        out, places = bytearray(HEADER), []
        for number, made in enumerate(self._objects, 1):
            places.append(len(out))
            out += b"%d 0 obj\n%b\nendobj\n" % (number, made)
        table = len(out)
        out += b"xref\n0 %d\n0000000000 65535 f \n" % (self.count + 1)
        out += b"".join(b"%010d 00000 n \n" % place for place in places)
        out += b"trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
            *(self.count + 1, root, about, table),
        )
        return bytes(out)


def _add_font(file: _File, path: str, used: dict[int, str]) -> int:
    """Add the letters that are used of a font, and what they mean to who copies or searches."""
    font, name = _font(path), f"{_tag(used)}+{Path(path).stem}"
    data = font.subset(used)
    letters = file.packed(f"/Length1 {len(data)}", data)
    box = " ".join(map(str, font.box))
    described = file.add(
        f"/Type /FontDescriptor /FontName /{name} /Flags 4 /FontBBox [{box}] /ItalicAngle 0"
        f" /Ascent {font.ascent} /Descent {font.descent} /CapHeight {font.ascent} /StemV 80"
        f" /FontFile2 {letters} 0 R"
    )
    widths = " ".join(f"{glyph} [{font.width(glyph)}]" for glyph in sorted(used))
    descendant = file.add(
        f"/Type /Font /Subtype /CIDFontType2 /BaseFont /{name} /CIDToGIDMap /Identity"
        " /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >>"
        f" /FontDescriptor {described} 0 R /W [{widths}]"
    )
    meaning = file.packed("", _meaning(used).encode())
    return file.add(
        f"/Type /Font /Subtype /Type0 /BaseFont /{name} /Encoding /Identity-H"
        f" /DescendantFonts [{descendant} 0 R] /ToUnicode {meaning} 0 R"
    )


def _tag(used: dict[int, str]) -> str:
    """Give the six letters by which one subset of a font is told from another."""
    number = zlib.crc32(repr(sorted(used)).encode())
    return "".join(chr(ord("A") + number // 26**place % 26) for place in range(6))


def _meaning(used: dict[int, str]) -> str:
    """Say which characters the letters stand for (section 9.10.3), a hundred at a time at most."""
    pairs = [
        f"<{glyph:04x}> <{char.encode('utf-16-be').hex()}>" for glyph, char in sorted(used.items())
    ]
    parts = [pairs[at : at + 100] for at in range(0, len(pairs), 100)]
    said = "\n".join(f"{len(part)} beginbfchar\n{chr(10).join(part)}\nendbfchar" for part in parts)
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"
        "/CMapName /Meaning def /CMapType 2 def\n"
        "1 begincodespacerange <0000> <ffff> endcodespacerange\n"
        f"{said}\nendcmap CMapName currentdict /CMap defineresource pop end end"
    )


def _named(kind: str, numbers: list[int]) -> str:
    return " ".join(f"/{kind}{at} {number} 0 R" for at, number in enumerate(numbers))


def _fill(colour: Colour) -> str:
    return " ".join(f"{part / 255:.4f}" for part in colour) + " rg"


@lru_cache(maxsize=2)
def _font(path: str) -> TrueType:
    return TrueType(Path(path).read_bytes())
