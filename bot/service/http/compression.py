"""Text answers, compressed for clients that accept gzip (RFC 9110 section 12.5.3).

A text that many answers share is compressed once. What differs between them, such as a form's
token, stands uncompressed between the compressed pieces (RFC 1951 section 3.2.4), so that the
length of an answer says nothing about it.
"""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

SMALLEST = 1_024
"""Bytes of the shortest text that is compressed: others fit into one packet as they are."""

RAW = -zlib.MAX_WBITS
"""Compression without header and checksum, which the whole answer gets."""

HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
"""The header of gzip: deflate, no time, unknown system (RFC 1952 section 2.3)."""

REFUSED = re.compile(r"0(?:\.0{0,3})?")
"""The quality of a coding that a client does not take."""

LENGTH = b"content-length"


class TextTemplate:
    """A text in which each character of `slots` stands for bytes that differ between answers."""

    def __init__(self, text: str, slots: str = "") -> None:
        parts = re.split(f"([{slots}])", text) if slots else [text]
        self._pieces = [piece.encode() for piece in parts[::2]]
        self._slots = parts[1::2]

    def fill(self, values: Mapping[str, bytes]) -> Text:
        """Return the text with `values` in its slots."""
        return Text(self, [values[slot] for slot in self._slots])

    def plain(self, values: list[bytes]) -> bytes:
        """Return the text as it is."""
        return _alternate(self._pieces, values)

    def gzip(self, values: list[bytes], plain: bytes) -> bytes:
        """Return the text as gzip; `plain` is the same text as it is."""
        body = _alternate(self._packed, [_stored(value) for value in values])
        return HEADER + body + struct.pack("<LL", zlib.crc32(plain), len(plain))

    @cached_property
    def _packed(self) -> list[bytes]:
        """Return the pieces compressed; none refers to bytes of another."""
        *others, last = self._pieces
        press = zlib.compressobj(wbits=RAW)
        packed = [press.compress(piece) + press.flush(zlib.Z_FULL_FLUSH) for piece in others]
        return [*packed, press.compress(last) + press.flush()]


@dataclass(frozen=True, slots=True)
class Text:
    """The text of one answer: a template and the values of its slots."""

    template: TextTemplate
    values: list[bytes]

    @classmethod
    def of(cls, text: str) -> Text:
        """Return a text without slots."""
        return cls(TextTemplate(text), [])


class TextResponse(Response):
    """An answer whose text is compressed where the client accepts it.

    Answers to posted forms never are: they repeat what was posted.
    """

    def __init__(
        self, text: Text, status: int, headers: Mapping[str, str], media_type: str
    ) -> None:
        vary = ", ".join(filter(None, (headers.get("Vary"), "Accept-Encoding")))
        plain = text.template.plain(text.values)
        super().__init__(plain, status, {**headers, "Vary": vary}, media_type)
        self._text = text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer in the coding that suits the request."""
        plain = bytes(self.body)
        if scope["method"] != "POST" and len(plain) >= SMALLEST and _takes_gzip(scope):
            self.body = self._text.template.gzip(self._text.values, plain)
            others = [header for header in self.raw_headers if header[0] != LENGTH]
            length = str(len(self.body)).encode()
            self.raw_headers = [*others, (LENGTH, length), (b"content-encoding", b"gzip")]
        await super().__call__(scope, receive, send)


def _alternate(pieces: list[bytes], between: list[bytes]) -> bytes:
    parts = [b""] * (len(pieces) + len(between))
    parts[::2], parts[1::2] = pieces, between
    return b"".join(parts)


def _stored(value: bytes) -> bytes:
    """Return a block that is not compressed; a flush before it has ended at a whole byte."""
    return struct.pack("<BHH", 0, len(value), len(value) ^ 0xFFFF) + value


def _takes_gzip(scope: Scope) -> bool:
    return any(
        name == b"accept-encoding" and _names_gzip(value) for name, value in scope["headers"]
    )


@lru_cache(maxsize=256)
def _names_gzip(accepted: bytes) -> bool:
    """Return whether an Accept-Encoding header takes gzip; browsers name it without a quality."""
    for part in accepted.decode("latin-1").lower().split(","):
        coding, _, quality = part.partition(";")
        if coding.strip() == "gzip":
            return not REFUSED.fullmatch(quality.strip().removeprefix("q="))
    return False
