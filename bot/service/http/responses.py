"""Answers in JSON, refusals included."""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from fastapi import Path, Query
from pydantic import BeforeValidator, WithJsonSchema
from starlette.responses import Response

from bot.core import errors, exact_json
from bot.core.net import request_body
from bot.service.http import documented_failures, openapi
from bot.service.requests import idempotency, request, request_commands, request_rows
from bot.service.wire import body_parsing, json_answers

if TYPE_CHECKING:
    from starlette.requests import Request
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
    """The answer for a bug, without its details."""

    code = "internal"
    default = "Something went wrong here. It is in the operator's log."


class Unavailable(errors.Refused):
    """The answer while the database can't be used; `retry_after` in seconds."""

    code = "unavailable"
    default = "Not just now: please try again."
    retry_after = 5


OURS: dict[type[errors.Refused], int] = {Internal: 500, Unavailable: 503}
"""Status codes of errors that are not the caller's."""


def status(refusal: errors.Refused) -> int:
    return (STATUS | OURS).get(type(refusal), 400)


def json(answer: json_answers.Json, code: int = 200) -> Response:
    """Answer with exact JSON."""
    return Response(exact_json.dumps(answer).encode(), code, HEADERS, "application/json")


def refused(refusal: errors.Refused, allow: str | None = None) -> Response:
    """Answer with a refusal; `allow` lists the methods that exist."""
    response = json(json_answers.error(refusal), status(refusal))
    response.headers.update(headers(refusal, allow))
    return response


def headers(refusal: errors.Refused, allow: str | None = None) -> dict[str, str]:
    """Return the headers that belong to a refusal, in HTML as in JSON."""
    if isinstance(refusal, errors.RateLimited | Unavailable):
        return {"Retry-After": str(refusal.retry_after)}
    if isinstance(refusal, errors.MethodNotAllowed) and allow:
        return {"Allow": allow}
    return {}


# Text answers, compressed for clients that accept gzip (RFC 9110 section 12.5.3).
#
# A text that many answers share is compressed once. What differs between them, such as a form's
# token, stands uncompressed between the compressed pieces (RFC 1951 section 3.2.4), so that the
# length of an answer says nothing about it.


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


# Bodies of requests as text, and the Idempotency-Key of a call with its body.


FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


async def read_text(request: Request, media_type: str, most: int = request_body.MAX_BODY) -> str:
    """Read the body of up to `most` bytes, which must have this media type.

    Raises UnsupportedMediaType, InvalidBody for text that is not UTF-8, and the errors of
    `request_body.read`.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != media_type:
        raise errors.UnsupportedMediaType(f"Send the body as {media_type}.")
    try:
        return (await request_body.read(request, most)).decode()
    except UnicodeDecodeError:
        raise errors.InvalidBody("The body is not UTF-8.") from None


def call_key(
    request: Request, caller: request_commands.Caller, text: str | None = None
) -> idempotency.CallKey | None:
    """Return the Idempotency-Key of a call with this JSON body, however that is spaced.

    Raises InvalidBody for a key that is empty or too long.
    """
    if openapi.IDEMPOTENCY_KEY not in request.headers:
        return None
    body = None if text is None else body_parsing.read_json(text)
    return key_about(request, caller, body)


def key_about(
    request: Request, caller: request_commands.Caller, body: Any
) -> idempotency.CallKey | None:
    """Return what `call_key` does for a body that is a JSON value."""
    key = request.headers.get(openapi.IDEMPOTENCY_KEY)
    if key is None:
        return None
    if not 1 <= len(key) <= openapi.MAX_KEY:
        problem = errors.FieldProblem(
            openapi.IDEMPOTENCY_KEY, f"must have 1 to {openapi.MAX_KEY} characters"
        )
        raise errors.InvalidBody(info=[problem])
    path, owner = request.scope["path"].rstrip("/"), request.headers.get(openapi.OWNER)
    call = exact_json.canonical([request.method, path, owner, body])
    return idempotency.CallKey.of(caller.app_id, key, call, caller.now)


# Pages of lists: their size, and the cursor of the next one.


T = TypeVar("T")

MAX_PAGE = 100
ID_DIGITS = 24
TIME_LIMIT = 2**63
"""Limit of times, which are BIGINT columns."""

Limit: TypeAlias = Annotated[int, Query(ge=1, le=MAX_PAGE, description="How many to a page.")]
RowId: TypeAlias = Annotated[str, Path(alias="id")]
Cursor: TypeAlias = Annotated[
    str | None, Query(max_length=100, description="`nextCursor` of the page before.")
]


PENDING = "pending"
"""HandCash Cloud's name of the state `scheduled`."""


def _state(value: Any) -> Any:
    return request.Status.SCHEDULED if value == PENDING else value


InState: TypeAlias = Annotated[
    Annotated[
        request.Status,
        BeforeValidator(_state),
        WithJsonSchema({"type": "string", "enum": [*request.Status, PENDING]}),
    ]
    | None,
    Query(description="Only requests in this state; `pending` means `scheduled`."),
]


def cut_page(
    rows: list[T], limit: int, place: Callable[[T], request_rows.Place]
) -> tuple[list[T], request_rows.Place | None]:
    """Return the page, and its last place if `rows`, read with one more than `limit`, go on."""
    page = rows[:limit]
    return page, place(page[-1]) if len(rows) > limit else None


def page_answer(items: list[json_answers.Json], end: request_rows.Place | None) -> Response:
    """Answer with a page of a list, with the cursor of the next page if there is one."""
    page: json_answers.Json = {"items": items}
    return json(page if end is None else page | {"nextCursor": write_cursor(end)})


def read_cursor(
    cursor: str | None, lengths: Container[int] = (ID_DIGITS,)
) -> request_rows.Place | None:
    """Return the place of a cursor; `lengths` are those of the row's id.

    Raises InvalidBody for a cursor that is not ours.
    """
    if cursor is None:
        return None
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        at, _, row_id = base64.b64decode(padded, b"-_", validate=True).decode().partition(".")
    except (binascii.Error, ValueError):
        at, row_id = "", ""
    sound = at.isascii() and at.isdecimal() and len(at) < ID_DIGITS and len(row_id) in lengths
    if (
        not sound
        or int(at) >= TIME_LIMIT
        or write_cursor(request_rows.Place(int(at), row_id)) != cursor
    ):
        raise errors.InvalidBody(
            f"cursor: {documented_failures.NO_CURSOR}",
            [errors.FieldProblem("cursor", documented_failures.NO_CURSOR)],
        )
    return request_rows.Place(int(at), row_id)


def write_cursor(end: request_rows.Place) -> str:
    """Return the cursor of the page that begins after a place."""
    return base64.urlsafe_b64encode(f"{end.at}.{end.id}".encode()).decode().rstrip("=")
