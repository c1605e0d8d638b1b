"""As much of a TrueType font as a document needs: the letters that are in it.

OpenType specification 1.9: the tables head, hhea, hmtx, maxp, cmap (format 4), loca and glyf.
Letters keep their numbers, those left out become empty.
"""

from __future__ import annotations

import struct
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

UNITS = 1000
"""Of an em in a PDF, to which widths are brought."""

_KEPT = (b"cvt ", b"fpgm", b"glyf", b"head", b"hhea", b"hmtx", b"loca", b"maxp", b"prep")
_ARGUMENTS_ARE_WORDS, _SCALE, _MORE, _TWO_SCALES, _FOUR_SCALES = 0x1, 0x8, 0x20, 0x40, 0x80
_SEGMENTS = 4  # the format of cmap
_CHECKSUM_OF_ALL = 0xB1B0AFBA


class TrueType:
    """A font's file, read."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        (count,) = struct.unpack_from(">H", data, 4)
        entries = [struct.unpack_from(">4sLLL", data, 12 + 16 * at) for at in range(count)]
        self._tables = {tag: data[start : start + size] for tag, _, start, size in entries}
        (self._em,) = struct.unpack_from(">H", self._tables[b"head"], 18)
        self.box = tuple(map(self._scaled, struct.unpack_from(">4h", self._tables[b"head"], 36)))
        ascent, descent = struct.unpack_from(">2h", self._tables[b"hhea"], 4)
        self.ascent, self.descent = self._scaled(ascent), self._scaled(descent)

    def _scaled(self, length: int) -> int:
        return int(length * UNITS / self._em)

    def glyph(self, char: str) -> int:
        """Give the number of a letter; 0 for one that the font has not."""
        return self._numbers.get(ord(char), 0)

    def width(self, glyph: int) -> int:
        """Give how far a letter reaches, in thousandths of its size."""
        (count,) = struct.unpack_from(">H", self._tables[b"hhea"], 34)
        (width,) = struct.unpack_from(">H", self._tables[b"hmtx"], 4 * min(glyph, count - 1))
        return self._scaled(width)

    @cached_property
    def _numbers(self) -> dict[int, int]:
        """Numbers of letters by code point."""
        cmap = self._tables[b"cmap"]
        (count,) = struct.unpack_from(">H", cmap, 2)
        starts = [struct.unpack_from(">HHL", cmap, 4 + 8 * at)[2] for at in range(count)]
        start = next(at for at in starts if struct.unpack_from(">H", cmap, at)[0] == _SEGMENTS)
        (twice,) = struct.unpack_from(">H", cmap, start + 6)
        lists = [start + 14, start + 16 + twice, start + 16 + 2 * twice, start + 16 + 3 * twice]
        found: dict[int, int] = {}
        for step in range(0, twice, 2):
            last, first, delta, offset = (
                struct.unpack_from(">H", cmap, at + step)[0] for at in lists
            )
            for code in range(first, min(last, 0xFFFE) + 1):
                number = code
                if offset:
                    (number,) = struct.unpack_from(
                        ">H", cmap, lists[3] + step + offset + 2 * (code - first)
                    )
                if number:
                    found[code] = (number + delta) & 0xFFFF if number or not offset else 0
        return found

    @cached_property
    def _places(self) -> tuple[int, ...]:
        """Where each letter begins in glyf, and the last one ends."""
        (long,) = struct.unpack_from(">h", self._tables[b"head"], 50)
        loca = self._tables[b"loca"]
        if long:
            return struct.unpack(f">{len(loca) // 4}L", loca)
        return tuple(2 * place for place in struct.unpack(f">{len(loca) // 2}H", loca))

    def _outline(self, glyph: int) -> bytes:
        return self._tables[b"glyf"][self._places[glyph] : self._places[glyph + 1]]

    def _parts(self, glyph: int) -> Iterator[int]:
        """Give the letters that a composed one is made of."""
        outline = self._outline(glyph)
        if not outline or struct.unpack_from(">h", outline)[0] >= 0:
            return
        at, flags = 10, _MORE
        while flags & _MORE:
            flags, part = struct.unpack_from(">HH", outline, at)
            yield part
            at += 8 if flags & _ARGUMENTS_ARE_WORDS else 6
            scales = {_SCALE: 2, _TWO_SCALES: 4, _FOUR_SCALES: 8}
            at += sum(size for flag, size in scales.items() if flags & flag)

    def subset(self, glyphs: Iterable[int]) -> bytes:
        """Give a font file with these letters and what they are made of."""
        wanted, waiting = {0}, [*glyphs]
        while waiting:
            glyph = waiting.pop()
            if glyph not in wanted:
                wanted.add(glyph)
                waiting += self._parts(glyph)
        outlines, places = bytearray(), [0]
        for glyph in range(len(self._places) - 1):
            if glyph in wanted:
                outlines += self._outline(glyph)
                outlines += bytes(-len(outlines) % 4)
            places.append(len(outlines))
        head = bytearray(self._tables[b"head"])
        struct.pack_into(">L", head, 8, 0)
        struct.pack_into(">h", head, 50, 1)
        changed = {
            b"glyf": bytes(outlines),
            b"loca": struct.pack(f">{len(places)}L", *places),
            b"head": bytes(head),
        }
        return _file({tag: (self._tables | changed)[tag] for tag in _KEPT if tag in self._tables})


def _file(tables: dict[bytes, bytes]) -> bytes:
    """Put tables into a file, with the sums that prove them whole."""
    power = len(tables).bit_length() - 1
    reach = 16 << power
    directory = struct.pack(">LHHHH", 0x10000, len(tables), reach, power, 16 * len(tables) - reach)
    body, start = bytearray(), len(directory) + 16 * len(tables)
    for tag, table in sorted(tables.items()):
        place = start + len(body)
        directory += struct.pack(">4sLLL", tag, _sum(table), place, len(table))
        body += table + bytes(-len(table) % 4)
    made = bytearray(directory + body)
    at = made.index(tables[b"head"])
    struct.pack_into(">L", made, at + 8, (_CHECKSUM_OF_ALL - _sum(made)) & 0xFFFFFFFF)
    return bytes(made)


def _sum(data: bytes | bytearray) -> int:
    padded = bytes(data) + bytes(-len(data) % 4)
    words: tuple[int, ...] = struct.unpack(f">{len(padded) // 4}L", padded)
    return sum(words) & 0xFFFFFFFF
