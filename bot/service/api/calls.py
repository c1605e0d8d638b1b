"""Inputs and answers of calls: bodies, idempotency keys, ids, pages of lists, JSON, refusals."""

import base64
import binascii
from collections.abc import Callable, Container, Coroutine
from dataclasses import replace
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

from fastapi import Path, Query
from fastapi.routing import APIRoute
from pydantic import BeforeValidator, WithJsonSchema
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from bot.core import errors, exact_json
from bot.core.net import request_body
from bot.interface import answers, fields, refusals, vocabulary
from bot.service.api import callers, openapi
from bot.service.requests import idempotency, request_commands, request_rows

# Bodies.


FORM = "application/x-www-form-urlencoded"
JSON = "application/json"

MAX_DEPTH = 32
"""Levels of nesting of a body: a webhook repeats customParameters deeper within its own."""


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


def read_object(text: str) -> dict[str, Any]:
    """Read a JSON object, numbers as int and Decimal. Raises InvalidBody."""
    try:
        value = exact_json.loads(text, depth=MAX_DEPTH, strict=True)
    except exact_json.JsonError as error:
        raise errors.InvalidBody(str(error)) from None
    if not isinstance(value, dict):
        raise errors.InvalidBody("The body must be a JSON object.")
    return value


class JsonRequest(Request):
    """A request whose body was read already: FastAPI checks it against the route's model."""

    def __init__(self, request: Request, value: dict[str, Any]) -> None:
        super().__init__(request.scope, request.receive)
        self.value = value

    async def body(self) -> bytes:
        """Return anything but an empty body."""
        return b"{}"

    async def json(self) -> dict[str, Any]:
        """Return the object."""
        return self.value


class ApplicationRoute(APIRoute):
    """A route of applications, which checks the credentials before it reads the body.

    FastAPI itself reads a body of any size from anybody, and its numbers as floats.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request."""
        answer, body = super().get_route_handler(), self.body_field
        kind: Any = body and body.field_info.annotation

        async def handle(request: Request) -> Response:
            await callers.caller_of(request)
            if kind is not None:
                text = await read_text(request, JSON, kind.most_bytes)
                request = JsonRequest(request, read_object(text))
            return await answer(request)

        return handle


# Calls that change something.


class Call(NamedTuple):
    """A call that changes something."""

    service: callers.Service
    caller: request_commands.Caller
    key: idempotency.CallKey | None


def call_of(request: Request) -> Call:
    """Return an authenticated call, and its Idempotency-Key with its JSON body.

    White space doesn't matter. Routes call this themselves: as a parameter that the framework fills
    in, it would cost a create 3 % more.
    """
    service, caller = callers.state_of(request).service, request.scope[callers.CALLER]
    body = request.value if isinstance(request, JsonRequest) else None
    return Call(service, caller, call_key(request, caller, body))


def owned_call_of(request: Request) -> Call:
    """Return a call that may name the seller for whom it is made."""
    call, owner = call_of(request), openapi.OWNER.read(request)
    return call._replace(caller=replace(call.caller, owner=owner)) if owner else call


def call_key(
    request: Request, caller: request_commands.Caller, body: Any
) -> idempotency.CallKey | None:
    """Return the Idempotency-Key of a call with this body. Raises InvalidBody."""
    key = openapi.KEY.read(request)
    if key is None:
        return None
    path, owner = request.scope["path"].rstrip("/"), request.headers.get(openapi.OWNER.name)
    call = exact_json.canonical([request.method, path, owner, body])
    return idempotency.CallKey.of(caller.app_id, key, call, caller.now)


# Ids in paths. Their patterns are only documented: any other id is unknown, not malformed.


RowId: TypeAlias = Annotated[
    str, Path(alias="id", json_schema_extra={"pattern": fields.ID_PATTERN})
]
TransactionId: TypeAlias = Annotated[
    str, Path(alias="transactionId", json_schema_extra={"pattern": fields.ID_PATTERN})
]
DeliveryId: TypeAlias = Annotated[
    str, Path(alias="id", json_schema_extra={"pattern": fields.DELIVERY_ID_PATTERN})
]

# Answers.


HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def json(answer: answers.Answer, code: int = 200) -> Response:
    """Answer with exact JSON."""
    return Response(answer.json_text().encode(), code, HEADERS, "application/json")


def gone() -> Response:
    """Answer that something was deleted, with an empty body of a type that may be empty."""
    return PlainTextResponse(headers=HEADERS)


def refused(refusal: errors.Refused, allow: str | None = None) -> Response:
    """Answer with a refusal; `allow` lists the methods that exist."""
    response = json(refusals.answer(refusal), refusals.status(refusal))
    response.headers.update(headers(refusal, allow))
    return response


def headers(refusal: errors.Refused, allow: str | None = None) -> dict[str, str]:
    """Return the headers of a refusal, which are the same for HTML and JSON."""
    if isinstance(refusal, errors.RateLimited | errors.Unavailable):
        return {"Retry-After": str(refusal.retry_after)}
    if isinstance(refusal, errors.MethodNotAllowed) and allow:
        return {"Allow": allow}
    return {}


COMPRESSED = [Middleware(GZipMiddleware, minimum_size=1_024, compresslevel=5)]
"""The middleware of routes whose texts are the same for everybody. Pages with a form or with what a
payer bought are never compressed. A shorter text fits into one packet anyway; a higher level takes
twice the time for a twentieth of the bytes.
"""

# Pages of lists.


T = TypeVar("T")

MAX_PAGE = 100
ID_DIGITS = 24
TIME_LIMIT = 2**63
"""Times must fit into BIGINT columns."""

Limit: TypeAlias = Annotated[int, Query(ge=1, le=MAX_PAGE, description="How many to a page.")]
Cursor: TypeAlias = Annotated[
    str | None, Query(max_length=100, description="`nextCursor` of the page before.")
]
StatusFilter: TypeAlias = Annotated[
    Annotated[
        vocabulary.Status,
        BeforeValidator(
            lambda value: vocabulary.Status.SCHEDULED if value == vocabulary.PENDING else value
        ),
        WithJsonSchema({"type": "string", "enum": [*vocabulary.Status, vocabulary.PENDING]}),
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


def page_answer(
    kind: type[answers.RequestList | answers.PaymentList | answers.DeliveryList],
    items: list[Any],
    end: request_rows.Place | None,
) -> Response:
    """Answer with a page of a list, and with the cursor of the next page if there is one."""
    return json(kind(items=items, next_cursor=end and write_cursor(end)))


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
    raise errors.InvalidBody.of_field("cursor", refusals.NO_CURSOR)


def write_cursor(end: request_rows.Place) -> str:
    """Return the cursor of the page that begins after a place."""
    return base64.urlsafe_b64encode(f"{end.at}.{end.id}".encode()).decode().rstrip("=")
