"""What the operator sees: the log, /livez, /readyz and /metrics."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import structlog
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST

from bot.core.database.write_check import StorageCheck
from bot.core.ops.metrics import REQUESTS, Metrics
from bot.core.ops.readiness import NOT_READY, Readiness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bot.core.database.database import Database
    from bot.core.ops.metrics import Family

HIDDEN = "[hidden]"
TOKEN_SHAPE = re.compile(r"\d{3,}:[A-Za-z0-9_-]{20,}|whsec_[A-Za-z0-9+/=]{8,}")
"""What looks like a bot token or a signing secret is hidden even where we don't know it."""

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
LATER = {"Retry-After": "5", **HEADERS}
STOPPED = {"Connection": "close", **LATER}
CLOSED = {"code": "unauthorized", "message": "Not for you.", "info": []}
UNAVAILABLE = {"code": "unavailable", "message": "Not just now: please try again.", "info": []}
DEPLOYMENT = "X-Deployment"
"""The header of /livez by which the doctor knows that an address leads here and nowhere else."""

FORWARDING = (
    *("forwarded", "via", "x-real-ip", "x-client-ip"),
    *("cf-connecting-ip", "cf-ray", "true-client-ip"),
)
FORWARDED = ("x-forwarded", "x-original-forwarded")
"""Headers, and what others begin with, that say that somebody else has sent the request on."""

QUIET = ("httpx", "httpcore", "telegram", "uvicorn.access", "asyncio", "PIL")
"""Loggers that print addresses with the token in them, or every call.

telegram.request prints a traceback for each answer that is no JSON: what came of a call is for
its caller to say.
"""


def configure_logging(level: str, form: str, secrets: Iterable[str]) -> None:
    """Log to standard error as `text` or `json`, with `secrets` hidden wherever they stand."""
    hide = Hide(secrets)
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0)
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer, hide],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("telegram.request").setLevel(logging.CRITICAL)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


class Hide:
    """The last step of a log line: takes every secret out of the finished text."""

    def __init__(self, secrets: Iterable[str]) -> None:
        written = {form for secret in secrets if secret for form in _written(secret)}
        self._secrets = sorted(written, key=len, reverse=True)

    def __call__(self, _logger: Any, _method: str, line: Any) -> Any:
        for secret in self._secrets:
            line = line.replace(secret, HIDDEN)
        return TOKEN_SHAPE.sub(HIDDEN, line)


def _written(secret: str) -> tuple[str, ...]:
    """Give a secret in every form in which a log line may have it: as JSON, quoted, in a URL."""
    return secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], quote(secret, safe="")


@dataclass(slots=True)
class Ops:
    """The operator's routes; `checks` are what has to be well for this process to be ready.

    `now` gives epoch ms. `deployment` tells this installation from every other program that may
    answer at its address.
    """

    db: Database
    now: Callable[[], int]
    metrics_token: str | None = None
    families: tuple[Family, ...] = ()
    deployment: str = ""
    readiness: Readiness = field(default_factory=Readiness)
    metrics: Metrics = field(init=False)

    def __post_init__(self) -> None:
        self.readiness.needed["database"] = StorageCheck(self.db)
        self.metrics = Metrics(self.db, self.now, (REQUESTS, *self.families))

    def router(self) -> APIRouter:
        """Give /livez, /readyz and /metrics."""
        router = APIRouter(include_in_schema=False)
        router.add_api_route("/livez", self._livez)
        router.add_api_route("/readyz", self._readyz)
        router.add_api_route("/metrics", self._metrics)
        return router

    async def close(self) -> None:
        """End what is being asked of others."""
        await self.readiness.close()

    async def _livez(self) -> JSONResponse:
        return JSONResponse({"status": "ok"}, headers=HEADERS | {DEPLOYMENT: self.deployment})

    async def _readyz(self) -> JSONResponse:
        status, told = await self.readiness.ask()
        code = 503 if status == NOT_READY else 200
        return JSONResponse({"status": status, "checks": told}, code, HEADERS)

    async def _metrics(self, request: Request) -> Response:
        if not self._may_read(request):
            return JSONResponse(CLOSED, 401, HEADERS)
        return Response(await self.metrics.render(), 200, HEADERS, CONTENT_TYPE_LATEST)

    def _may_read(self, request: Request) -> bool:
        """Whether who asks shows the token; without one, whether they are on this machine.

        A proxy on this machine is no proof of that: who comes through one is a stranger.
        """
        if self.metrics_token is not None:
            told = request.headers.get("Authorization", "")
            return hmac.compare_digest(told.encode(), f"Bearer {self.metrics_token}".encode())
        if any(name in FORWARDING or name.startswith(FORWARDED) for name in request.headers):
            return False
        peer = request.client.host if request.client else ""
        return _is_near(peer) and _is_near(_asked_for(request))


def _asked_for(request: Request) -> str:
    """Give the host that a request names; none for one that is no plain host."""
    told = request.headers.get("host", "")
    if not told or "@" in told:
        return ""
    try:
        return request.url.hostname or ""
    except ValueError:  # no address at all
        return ""


def _is_near(host: str) -> bool:
    """Whether a host is this machine by its very name, which no name server can promise."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class EndQuietly:
    """ASGI middleware that lets a request end that the server's stop has cancelled.

    The server takes an exception for a bug, and an answer that never began, too: it is a 503.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything through; a cancellation that is not of this task stays an error."""
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if scope["type"] != "http" or task is None or not task.cancelling():
                raise
            if not begun:
                await JSONResponse(UNAVAILABLE, 503, STOPPED)(scope, receive, send)


async def storage_trouble(_request: Request, _error: Exception) -> Response:
    """Answer 503, to try again, while the database is locked or full; it tells the log itself."""
    return JSONResponse(UNAVAILABLE, 503, LATER)
