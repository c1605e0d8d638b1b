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
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    generate_latest,
)

from bot.core.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bot.core.db import Database

HIDDEN = "[hidden]"
TOKEN_SHAPE = re.compile(r"\d{3,}:[A-Za-z0-9_-]{20,}|whsec_[A-Za-z0-9+/=]{8,}")
"""What looks like a bot token or a signing secret is hidden even where we don't know it."""

CHECK_SECONDS = 2.0
PROVEN_SECONDS = 1.0
"""How long something that was stored proves that more can be: who asks often costs nothing."""

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
LATER = {"Retry-After": "5", **HEADERS}
STOPPED = {"Connection": "close", **LATER}
UNAVAILABLE = {"code": "unavailable", "message": "Not just now: please try again.", "info": []}
QUIET = ("httpx", "httpcore", "telegram", "uvicorn.access", "asyncio")
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
    """The operator's routes; `checks` answer None when well, else what is wrong."""

    db: Database
    metrics_token: str | None = None
    checks: dict[str, Callable[[], Awaitable[str | None]]] = field(default_factory=dict)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    requests: Counter = field(init=False)
    depth: Gauge = field(init=False)
    _probing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.checks["database"] = self._database
        self.requests = Counter(
            "http_requests", "Answers given", ["method", "status"], registry=self.registry
        )
        self.depth = Gauge(
            "outbox_messages", "Messages by queue and state", ["queue", "state"],
            registry=self.registry,
        )  # fmt: skip

    def router(self) -> APIRouter:
        """Give /livez, /readyz and /metrics."""
        router = APIRouter(include_in_schema=False)
        router.add_api_route("/livez", self._livez)
        router.add_api_route("/readyz", self._readyz)
        router.add_api_route("/metrics", self._metrics)
        return router

    async def _livez(self) -> JSONResponse:
        return JSONResponse({"status": "ok"}, headers=HEADERS)

    async def _readyz(self) -> JSONResponse:
        results = await asyncio.gather(*(_checked(check) for check in self.checks.values()))
        told = {name: problem or "ok" for name, problem in zip(self.checks, results, strict=True)}
        ready = not any(results)
        return JSONResponse(
            {"status": "ok" if ready else "not ready", "checks": told},
            200 if ready else 503,
            HEADERS,
        )

    async def _metrics(self, request: Request) -> Response:
        if not self._may_read(request):
            return JSONResponse(
                {"code": "unauthorized", "message": "Not for you.", "info": []}, 401, HEADERS
            )
        self.depth.clear()
        rows = await self.db.query("SELECT queue, state, COUNT(*) AS n FROM outbox GROUP BY 1, 2")
        for row in rows:
            self.depth.labels(row["queue"], row["state"]).set(row["n"])
        return Response(generate_latest(self.registry), 200, HEADERS, CONTENT_TYPE_LATEST)

    def _may_read(self, request: Request) -> bool:
        if self.metrics_token is not None:
            told = request.headers.get("Authorization", "")
            return hmac.compare_digest(told.encode(), f"Bearer {self.metrics_token}".encode())
        host = request.client.host if request.client else ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    async def _database(self) -> str | None:
        """Read and write: a disk that is full can still be read."""
        try:
            await self.db.query("SELECT 1 AS one")
            async with self._probing:
                if not self.db.health.worked_within(PROVEN_SECONDS):
                    await self.db.probe()
        except StorageError as error:
            return str(error)
        return None


class CountRequests:
    """ASGI middleware that counts answers by method and status."""

    def __init__(self, app: ASGIApp, counter: Counter) -> None:
        self._app = app
        self._counter = counter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything through, counting the start of each answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._counter.labels(scope["method"], message["status"]).inc()
            await send(message)

        await self._app(scope, receive, counted)


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


async def _checked(check: Callable[[], Awaitable[str | None]]) -> str | None:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check()
    except Exception as error:  # noqa: BLE001 - whatever fails makes the service not ready
        return type(error).__name__
