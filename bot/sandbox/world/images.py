"""Kind and size of a picture, read from its first bytes (PNG, JPEG, WebP, GIF)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

_SIZELESS = frozenset({0xC4, 0xC8, 0xCC})  # huffman tables, reserved, arithmetic coding


@dataclass(frozen=True, slots=True)
class Picture:
    """MIME type, width and height in pixels."""

    mime: str
    width: int
    height: int


def measure(data: bytes) -> Picture | None:
    """Return format and size; None for bytes that Telegram takes for no photo."""
    for magic, reader in _READERS.items():
        if data.startswith(magic):
            try:
                return reader(data)
            except IndexError:
                return None
    return None


def _png(data: bytes) -> Picture | None:
    if data[12:16] != b"IHDR" or len(data) < 33:  # noqa: PLR2004 - signature and one whole IHDR
        return None
    return Picture("image/png", _big(data, 16, 4), _big(data, 20, 4))


def _gif(data: bytes) -> Picture:
    return Picture("image/gif", _little(data, 6, 2), _little(data, 8, 2))


def _jpeg(data: bytes) -> Picture | None:
    for marker, at in _segments(data):
        if 0xC0 <= marker <= 0xCF and marker not in _SIZELESS:  # noqa: PLR2004 - SOF0 to SOF15
            return Picture("image/jpeg", _big(data, at + 5, 2), _big(data, at + 3, 2))
    return None


def _segments(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield each JPEG segment before the scan: its marker and the offset of its length."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:  # noqa: PLR2004 - every marker starts so
        yield data[at + 1], at + 2
        at += 2 + _big(data, at + 2, 2)


def _webp(data: bytes) -> Picture | None:
    kind = data[12:16]
    if data[8:12] != b"WEBP":
        return None
    if kind == b"VP8X":
        return Picture("image/webp", _little(data, 24, 3) + 1, _little(data, 27, 3) + 1)
    if kind == b"VP8L":
        bits = _little(data, 21, 4)
        return Picture("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 ":
        return Picture("image/webp", _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF)
    return None


def _big(data: bytes, at: int, size: int) -> int:
    return _number(data, at, size, big=True)


def _little(data: bytes, at: int, size: int) -> int:
    return _number(data, at, size, big=False)


def _number(data: bytes, at: int, size: int, *, big: bool) -> int:
    part = data[at : at + size]
    if len(part) < size:
        raise IndexError
    return int.from_bytes(part, "big" if big else "little")


_READERS: dict[bytes, Callable[[bytes], Picture | None]] = {
    b"\x89PNG\r\n\x1a\n": _png,
    b"\xff\xd8\xff": _jpeg,
    b"RIFF": _webp,
    b"GIF8": _gif,
}
