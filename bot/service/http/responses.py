"""Answers in JSON, refusals included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from bot.core import errors, exact_json
from bot.service.wire import json_answers

if TYPE_CHECKING:
    from bot.core.errors import Refused
    from bot.service.wire.json_answers import Json

STATUS: dict[type[Refused], int] = {
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


OURS: dict[type[Refused], int] = {Internal: 500, Unavailable: 503}
"""Status codes of errors that are not the caller's."""


def status(refusal: Refused) -> int:
    return (STATUS | OURS).get(type(refusal), 400)


def json(answer: Json, code: int = 200) -> Response:
    """Answer with exact JSON."""
    return Response(exact_json.dumps(answer).encode(), code, HEADERS, "application/json")


def refused(refusal: Refused, allow: str | None = None) -> Response:
    """Answer with a refusal; `allow` lists the methods that exist."""
    response = json(json_answers.error(refusal), status(refusal))
    response.headers.update(headers(refusal, allow))
    return response


def headers(refusal: Refused, allow: str | None = None) -> dict[str, str]:
    """Return the headers that belong to a refusal, in HTML as in JSON."""
    if isinstance(refusal, errors.RateLimited | Unavailable):
        return {"Retry-After": str(refusal.retry_after)}
    if isinstance(refusal, errors.MethodNotAllowed) and allow:
        return {"Allow": allow}
    return {}
