"""The kinds of requests on each link; the faults are drawn by kind."""

from __future__ import annotations

from tests.simulation.faults.http_wire import Request


def method(request: Request) -> str:
    """Return the method of a Bot API call."""
    return request.path.rpartition("/")[2]


def call(request: Request) -> str:
    """Return the HTTP method of an interface call, and whether it is about one request or all.

    A webhook where the service is in the bot's process.
    """
    if request.path.startswith("/webhooks"):
        return "webhook"
    tail = request.path.removeprefix("/v3/paymentRequests").strip("/").split("/")
    return f"{request.method} {'one' if tail[0] else 'all'}{''.join(tail[1:2])}"


def visit(request: Request) -> str:
    """Return whether a payer opens the page or pays, or an update of Telegram comes."""
    return "update" if request.path.startswith("/telegram") else request.method


def hook(request: Request) -> str:
    """Return whether the bot receives an update of Telegram or a payment."""
    return "update" if request.path.startswith("/telegram") else "webhook"
