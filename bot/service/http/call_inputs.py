"""Inputs of API calls other than credentials: bodies, idempotency keys, pages of lists."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from fastapi import Path, Query
from pydantic import BeforeValidator, WithJsonSchema
from starlette.responses import Response

from bot.core import errors, exact_json
from bot.core.net import request_body
from bot.service.http import documented_failures, openapi, responses
from bot.service.requests import idempotency, request, request_commands, request_rows
from bot.service.wire import body_parsing, json_answers

if TYPE_CHECKING:
    from starlette.requests import Request

# Bodies and idempotency keys.


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
    """Return the Idempotency-Key of a call with this JSON body; white space doesn't matter.

    Raises InvalidBody for a key that is empty or too long.
    """
    if openapi.IDEMPOTENCY_KEY not in request.headers:
        return None
    body = None if text is None else body_parsing.read_json(text)
    return call_key_of_value(request, caller, body)


def call_key_of_value(
    request: Request, caller: request_commands.Caller, body: Any
) -> idempotency.CallKey | None:
    """Return the Idempotency-Key of a call with this parsed JSON body."""
    key = request.headers.get(openapi.IDEMPOTENCY_KEY)
    if key is None:
        return None
    if not 1 <= len(key) <= openapi.MAX_KEY_LENGTH:
        problem = errors.FieldProblem(
            openapi.IDEMPOTENCY_KEY, f"must have 1 to {openapi.MAX_KEY_LENGTH} characters"
        )
        raise errors.InvalidBody(info=[problem])
    path, owner = request.scope["path"].rstrip("/"), request.headers.get(openapi.OWNER)
    call = exact_json.canonical([request.method, path, owner, body])
    return idempotency.CallKey.of(caller.app_id, key, call, caller.now)


# Pages of lists.


T = TypeVar("T")

MAX_PAGE = 100
ID_DIGITS = 24
TIME_LIMIT = 2**63
"""Times must fit into BIGINT columns."""

PENDING = "pending"
"""HandCash Cloud's name of the state `scheduled`."""

Limit: TypeAlias = Annotated[int, Query(ge=1, le=MAX_PAGE, description="How many to a page.")]
RowId: TypeAlias = Annotated[str, Path(alias="id")]
Cursor: TypeAlias = Annotated[
    str | None, Query(max_length=100, description="`nextCursor` of the page before.")
]
StatusFilter: TypeAlias = Annotated[
    Annotated[
        request.Status,
        BeforeValidator(lambda value: request.Status.SCHEDULED if value == PENDING else value),
        WithJsonSchema({"type": "string", "enum": [*request.Status, PENDING]}),
    ]
    | None,
    Query(description="Only requests in this state; `pending` means `scheduled`."),
]


def cut_page(
    rows: list[T], limit: int, place: Callable[[T], request_rows.Place]
) -> tuple[list[T], request_rows.Place | None]:
    """Return the page, and the place of its last row if there is a next page.

    `rows` has up to `limit` + 1 rows.
    """
    page = rows[:limit]
    return page, place(page[-1]) if len(rows) > limit else None


def page_answer(items: list[json_answers.Json], end: request_rows.Place | None) -> Response:
    """Answer with a page of a list, and with the cursor of the next page if there is one."""
    page: json_answers.Json = {"items": items}
    return responses.json(page if end is None else page | {"nextCursor": write_cursor(end)})


def read_cursor(
    cursor: str | None, lengths: Container[int] = (ID_DIGITS,)
) -> request_rows.Place | None:
    """Return the place of a cursor; the length of its id must be in `lengths`.

    Raises InvalidBody for an invalid cursor.
    """
    if cursor is None:
        return None
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        at, _, row_id = base64.b64decode(padded, b"-_", validate=True).decode().partition(".")
    except (binascii.Error, ValueError):
        at, row_id = "", ""
    if at.isascii() and at.isdecimal() and len(at) < ID_DIGITS and len(row_id) in lengths:
        place = request_rows.Place(int(at), row_id)
        if place.at < TIME_LIMIT and write_cursor(place) == cursor:
            return place
    problem = documented_failures.NO_CURSOR
    raise errors.InvalidBody(f"cursor: {problem}", [errors.FieldProblem("cursor", problem)])


def write_cursor(end: request_rows.Place) -> str:
    """Return the cursor of the page that begins after a place."""
    return base64.urlsafe_b64encode(f"{end.at}.{end.id}".encode()).decode().rstrip("=")
