"""Pages of lists: their size, and the cursor of the next one."""

import base64
import binascii
from collections.abc import Callable, Container
from typing import Annotated, Any, TypeAlias, TypeVar

from fastapi import Path, Query
from pydantic import BeforeValidator, WithJsonSchema
from starlette.responses import Response

from bot.core.errors import FieldProblem, InvalidBody
from bot.service.http import responses
from bot.service.http.documented_failures import NO_CURSOR
from bot.service.model.request import Status
from bot.service.store.requests import Place
from bot.service.wire.json_answers import Json

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
    return Status.SCHEDULED if value == PENDING else value


InState: TypeAlias = Annotated[
    Annotated[
        Status,
        BeforeValidator(_state),
        WithJsonSchema({"type": "string", "enum": [*Status, PENDING]}),
    ]
    | None,
    Query(description="Only requests in this state; `pending` means `scheduled`."),
]


def cut(rows: list[T], limit: int, place: Callable[[T], Place]) -> tuple[list[T], Place | None]:
    """Return the page, and its last place if `rows`, read with one more than `limit`, go on."""
    page = rows[:limit]
    return page, place(page[-1]) if len(rows) > limit else None


def answer(items: list[Json], end: Place | None) -> Response:
    """Answer with a page of a list, with the cursor of the next page if there is one."""
    page: Json = {"items": items}
    return responses.json(page if end is None else page | {"nextCursor": write_cursor(end)})


def read_cursor(cursor: str | None, lengths: Container[int] = (ID_DIGITS,)) -> Place | None:
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
    if not sound or int(at) >= TIME_LIMIT or write_cursor(Place(int(at), row_id)) != cursor:
        raise InvalidBody(f"cursor: {NO_CURSOR}", [FieldProblem("cursor", NO_CURSOR)])
    return Place(int(at), row_id)


def write_cursor(end: Place) -> str:
    """Return the cursor of the page that begins after a place."""
    return base64.urlsafe_b64encode(f"{end.at}.{end.id}".encode()).decode().rstrip("=")
