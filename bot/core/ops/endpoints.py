"""The addresses for operators: /livez, /readyz and /metrics."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST

from bot.core.ops.metrics import REQUESTS, Metrics, replica_gauges
from bot.core.ops.readiness import NOT_READY, Readiness
from bot.core.ops.replica_state import ALONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bot.core.database.database import Database
    from bot.core.ops.metrics import Family
    from bot.core.ops.replica_state import ReplicaState

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
LATER = {"Retry-After": "5", **HEADERS}
STOPPED = {"Connection": "close", **LATER}
NOT_ALLOWED = {"code": "unauthorized", "message": "Not for you.", "info": []}
UNAVAILABLE = {"code": "unavailable", "message": "Not just now: please try again.", "info": []}
DEPLOYMENT = "X-Deployment"
"""Header of /livez with the name of this installation, by which the doctor recognizes it."""

FORWARDING = (
    *("forwarded", "via", "x-real-ip", "x-client-ip"),
    *("cf-connecting-ip", "cf-ray", "true-client-ip"),
)
FORWARDED = ("x-forwarded", "x-original-forwarded")
"""Headers of proxies, and beginnings of others: the request was forwarded."""


@dataclass(slots=True)
class Ops:
    """The routes for operators.

    `now` returns epoch ms. `deployment` names this installation, to tell it from any other program
    that may answer at its address, and `replica` says what this process is in it.
    """

    db: Database
    now: Callable[[], int]
    metrics_token: str | None = None
    families: tuple[Family, ...] = ()
    deployment: str = ""
    replica: ReplicaState = ALONE
    readiness: Readiness = field(init=False)
    metrics: Metrics = field(init=False)

    def __post_init__(self) -> None:
        self.readiness = Readiness({"database": self.db.check}, leads=self.replica.leads)
        self.metrics = Metrics(
            self.db, self.now, (REQUESTS, *self.families), gauges=[*replica_gauges(self.replica)]
        )

    def router(self) -> APIRouter:
        router = APIRouter(include_in_schema=False)
        for path, answer in (("/livez", self._livez), ("/readyz", self._readyz)):
            router.add_api_route(path, answer, methods=["GET", "HEAD"])
        router.add_api_route("/metrics", self._metrics)
        return router

    async def _livez(self) -> JSONResponse:
        return JSONResponse({"status": "ok"}, headers=HEADERS | {DEPLOYMENT: self.deployment})

    async def _readyz(self) -> JSONResponse:
        status, checks = await self.readiness.ask()
        code = 503 if status == NOT_READY else 200
        told = {"role": self.replica.role, "lead": self.replica.leads()}
        return JSONResponse({"status": status, "checks": checks, **told}, code, HEADERS)

    async def _metrics(self, request: Request) -> Response:
        if not self._may_read(request):
            return JSONResponse(NOT_ALLOWED, 401, HEADERS)
        return Response(await self.metrics.render(), 200, HEADERS, CONTENT_TYPE_LATEST)

    def _may_read(self, request: Request) -> bool:
        """Return whether the request has the token or, without one, comes from this machine.

        A request that was forwarded by a proxy on this machine comes from a stranger.
        """
        if self.metrics_token is not None:
            given = request.headers.get("Authorization", "")
            return hmac.compare_digest(given.encode(), f"Bearer {self.metrics_token}".encode())
        if any(name in FORWARDING or name.startswith(FORWARDED) for name in request.headers):
            return False
        peer = request.client.host if request.client else ""
        return _is_loopback(peer) and _is_loopback(_host_of(request))


def _host_of(request: Request) -> str:
    """Return the host that a request names, "" if it is none."""
    host = request.headers.get("host", "")
    if not host or "@" in host:
        return ""
    try:
        return request.url.hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    """Return whether a host is a loopback address or `localhost`; other names don't count."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class EndCancelled:
    """ASGI middleware that answers 503 to requests that the server's stop has cancelled.

    The server would log their exception, or a missing answer, as a bug.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; a cancellation inside another task stays an error."""
        has_begun = False

        async def noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if scope["type"] != "http" or task is None or not task.cancelling():
                raise
            if not has_begun:
                await JSONResponse(UNAVAILABLE, 503, STOPPED)(scope, receive, send)


async def storage_unavailable(_request: Request, _error: Exception) -> Response:
    """Answer 503 while the database can't be used; its own line in the log says why."""
    return JSONResponse(UNAVAILABLE, 503, LATER)
