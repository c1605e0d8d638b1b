"""Answers in JSON, including refusals, and compressed texts."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from starlette.responses import Response

from bot.core import errors, exact_json
from bot.service.wire import json_answers

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


STATUS: dict[type[errors.Refused], int] = {
    errors.InvalidBody: 400,
    errors.EmailUnavailable: 400,
    errors.Unauthorized: 401,
    errors.NotFound: 404,
    errors.NoSuchAddress: 404,
    errors.MethodNotAllowed: 405,
    errors.NotLimited: 409,
    errors.NotEnoughUnits: 409,
    errors.IdempotencyMismatch: 409,
    errors.NotPayable: 409,
    errors.WrongState: 409,
    errors.NoCodes: 409,
    errors.BuyersWait: 409,
    errors.TooManyFiles: 409,
    errors.BodyTooLarge: 413,
    errors.UnsupportedMediaType: 415,
    errors.RateLimited: 429,
    errors.TooManyHolds: 429,
}

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class Internal(errors.Refused):
    """The answer to a bug, without its details."""

    code = "internal"
    default = "Something went wrong here. It is in the operator's log."


class Unavailable(errors.Refused):
    """The answer while the database can't be used."""

    code = "unavailable"
    default = "Not just now: please try again."
    retry_after = 5
    """Seconds."""


STATUS_OF_OUR_ERRORS: dict[type[errors.Refused], int] = {Internal: 500, Unavailable: 503}


def status(refusal: errors.Refused) -> int:
    return (STATUS | STATUS_OF_OUR_ERRORS).get(type(refusal), 400)


def json(answer: json_answers.Json, code: int = 200) -> Response:
    """Answer with exact JSON."""
    return Response(exact_json.dumps(answer).encode(), code, HEADERS, "application/json")


def refused(refusal: errors.Refused, allow: str | None = None) -> Response:
    """Answer with a refusal; `allow` lists the methods that exist."""
    response = json(json_answers.error(refusal), status(refusal))
    response.headers.update(headers(refusal, allow))
    return response


def headers(refusal: errors.Refused, allow: str | None = None) -> dict[str, str]:
    """Return the headers of a refusal, which are the same for HTML and JSON."""
    if isinstance(refusal, errors.RateLimited | Unavailable):
        return {"Retry-After": str(refusal.retry_after)}
    if isinstance(refusal, errors.MethodNotAllowed) and allow:
        return {"Allow": allow}
    return {}


# Texts, compressed for clients that accept gzip (RFC 9110 section 12.5.3).


MIN_COMPRESSED = 1_024
"""Bytes of the shortest text that is compressed; a shorter text fits into one packet anyway."""

NO_WRAPPER = -zlib.MAX_WBITS
"""Compress without header and checksum, which are added around the whole answer."""

GZIP_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
"""Deflate, no time, unknown system (RFC 1952 section 2.3)."""

REFUSED_QUALITY = re.compile(r"0(?:\.0{0,3})?")

LENGTH = b"content-length"


class TextTemplate:
    """A text shared by many answers, compressed once.

    Each character of `slots` in it stands for bytes that differ between answers, such as a form's
    token. The values stay uncompressed between the compressed pieces (RFC 1951 section 3.2.4), so
    that the length of an answer reveals nothing about them.
    """

    def __init__(self, text: str, slots: str = "") -> None:
        parts = re.split(f"([{slots}])", text) if slots else [text]
        self._pieces = [piece.encode() for piece in parts[::2]]
        self._slots = parts[1::2]

    def fill(self, values: Mapping[str, bytes]) -> Text:
        return Text(self, [values[slot] for slot in self._slots])

    def plain(self, values: list[bytes]) -> bytes:
        """Return the text uncompressed."""
        return _alternate(self._pieces, values)

    def gzip(self, values: list[bytes], plain: bytes) -> bytes:
        """Return the text as gzip; `plain` is the same text uncompressed."""
        body = _alternate(self._packed, [_stored(value) for value in values])
        return GZIP_HEADER + body + struct.pack("<LL", zlib.crc32(plain), len(plain))

    @cached_property
    def _packed(self) -> list[bytes]:
        """Return the pieces compressed independently of each other."""
        *others, last = self._pieces
        deflate = zlib.compressobj(wbits=NO_WRAPPER)
        packed = [deflate.compress(piece) + deflate.flush(zlib.Z_FULL_FLUSH) for piece in others]
        return [*packed, deflate.compress(last) + deflate.flush()]


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
    """An answer whose text is compressed if the client accepts it.

    Answers to posted forms are never compressed, because they repeat the posted values.
    """

    def __init__(
        self, text: Text, status: int, headers: Mapping[str, str], media_type: str
    ) -> None:
        vary = ", ".join(filter(None, (headers.get("Vary"), "Accept-Encoding")))
        plain = text.template.plain(text.values)
        super().__init__(plain, status, {**headers, "Vary": vary}, media_type)
        self._text = text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        plain = bytes(self.body)
        if scope["method"] != "POST" and len(plain) >= MIN_COMPRESSED and _takes_gzip(scope):
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
    """Return an uncompressed block; the flush before it must have ended at a whole byte."""
    return struct.pack("<BHH", 0, len(value), len(value) ^ 0xFFFF) + value


def _takes_gzip(scope: Scope) -> bool:
    return any(
        name == b"accept-encoding" and _names_gzip(value) for name, value in scope["headers"]
    )


@lru_cache(maxsize=256)
def _names_gzip(accepted: bytes) -> bool:
    """True if an Accept-Encoding header accepts gzip; browsers list it without a quality."""
    for part in accepted.decode("latin-1").lower().split(","):
        coding, _, quality = part.partition(";")
        if coding.strip() == "gzip":
            return not REFUSED_QUALITY.fullmatch(quality.strip().removeprefix("q="))
    return False
