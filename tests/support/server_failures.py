"""Ways in which a call to a payment server fails."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.http_messages import http_response
from tests.support.scripted_server import CUT


@dataclass(frozen=True, slots=True)
class Trouble:
    """How a call fails: `answer` replaces the true one, None keeps it.

    `works`: the call is carried out all the same. `holds`: nothing more happens before `release`,
    neither the work nor the answer, though the caller may have left; `late` works before it holds.
    """

    answer: bytes | None = None
    works: bool = False
    holds: bool = False
    late: bool = False


LOST = Trouble(CUT, works=True)
"""Carried out, and the connection breaks before the answer."""
BROKEN = Trouble(CUT)
"""The connection breaks before anything is done."""
SLOW = Trouble(works=True, holds=True)
"""At work for as long as the test likes: neither done nor answered before `release`."""
SILENT = Trouble(works=True, holds=True, late=True)
"""Carried out at once, answered not before `release`."""
HTML = Trouble(http_response(200, b"<html><h1>Maintenance</h1></html>", Content_Type="text/html"))
EMPTY = Trouble(http_response(200))
WRONG = Trouble(http_response(200, {"ok": True}))
FAILING = Trouble(http_response(500, {"message": "Internal server error", "info": None}))


def busy(seconds: int) -> Trouble:
    """Answer 429 with a `Retry-After` of so many seconds."""
    body = {"message": "Too many requests", "info": None}
    return Trouble(http_response(429, body, Retry_After=str(seconds)))


def redirect(status: int, address: str) -> Trouble:
    """Redirect to an address."""
    return Trouble(http_response(status, Location=address))
