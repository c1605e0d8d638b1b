"""The kinds of requests on each link, by which what happens to them is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.faults.http_wire import Request


def method(request: Request) -> str:
    """A call of the Bot API: its method."""
    return request.path.rpartition("/")[2]


def call(request: Request) -> str:
    """A call of the interface: its method, and whether it is about one request or all."""
    tail = request.path.removeprefix("/v3/paymentRequests").strip("/").split("/")
    return f"{request.method} {'one' if tail[0] else 'all'}{''.join(tail[1:2])}"


def visit(request: Request) -> str:
    """A payer's: looking or paying."""
    return request.method


def hook(request: Request) -> str:
    """What comes to the bot: an update of Telegram's or a payment."""
    return "update" if request.path.startswith("/telegram") else "webhook"
