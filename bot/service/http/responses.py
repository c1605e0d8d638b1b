"""Answers in JSON, including refusals, and the compression of public texts."""

from __future__ import annotations

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse, Response

from bot.core import errors
from bot.interface import answers, refusals

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
