"""Answers in JSON, including refusals, and the compression of public texts."""

from __future__ import annotations

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response

from bot.core import errors, exact_json
from bot.service.wire import json_answers

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


COMPRESSED = [Middleware(GZipMiddleware, minimum_size=1_024, compresslevel=5)]
"""The middleware of routes whose texts are the same for everybody. Pages with a form or with what a
payer bought are never compressed. A shorter text fits into one packet anyway; a higher level takes
twice the time for a twentieth of the bytes.
"""
