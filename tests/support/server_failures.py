"""Ways in which a call to a payment server fails."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.http_messages import http_response
from tests.support.scripted_server import CUT


@dataclass(frozen=True, slots=True)
class ServerFailure:
    """How a call fails."""

    answer: bytes | None = None
    """Replaces the true answer; None keeps it."""

    works: bool = False
    """The call is carried out all the same."""

    holds: bool = False
    """Neither the work nor the answer happens before `release`, though the caller may have left."""

    late: bool = False
    """The work is done before it holds."""


LOST = ServerFailure(CUT, works=True)
"""Carried out, and the connection breaks before the answer."""
BROKEN = ServerFailure(CUT)
"""The connection breaks before anything is done."""
SLOW = ServerFailure(works=True, holds=True)
"""At work for as long as the test likes: neither done nor answered before `release`."""
SILENT = ServerFailure(works=True, holds=True, late=True)
"""Carried out at once, answered not before `release`."""
HTML = ServerFailure(
    http_response(200, b"<html><h1>Maintenance</h1></html>", Content_Type="text/html")
)
EMPTY = ServerFailure(http_response(200))
WRONG = ServerFailure(http_response(200, {"ok": True}))
FAILING = ServerFailure(http_response(500, {"message": "Internal server error", "info": None}))


def busy(seconds: int) -> ServerFailure:
    """Answer 429 with a `Retry-After` of so many seconds."""
    body = {"message": "Too many requests", "info": None}
    return ServerFailure(http_response(429, body, Retry_After=str(seconds)))


def redirect(status: int, address: str) -> ServerFailure:
    """Redirect to an address."""
    return ServerFailure(http_response(status, Location=address))
