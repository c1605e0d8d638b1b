"""Endpoints for operators: /livez, /readyz and /metrics.

Readiness checks everything that the process depends on. If something that payments need fails, the
process is not ready. If another server fails, readiness is only degraded, because its messages can
wait in the outbox: a mail server that is down must not take the pay pages out of service.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST

from bot.core.database import database
from bot.core.ops.metrics import ALONE, REQUESTS, Family, Metrics, ReplicaState, replica_gauges

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    Check: TypeAlias = Callable[[], Awaitable[str | None]]

CHECK_SECONDS = 2.0
"""Seconds that an answer waits for a check."""

SERVER_SECONDS = 10.0
"""Seconds that a check waits for another server; our own answer doesn't wait that long."""

FRESH_SECONDS = 30.0
"""Seconds for which the result of a check of another server is reused."""

OK, DEGRADED, NOT_READY = "ok", "degraded", "not ready"
STOPPING = {"process": "stopping"}
"""The checks of a stopping process: load balancers then send payers elsewhere."""


class CachedCheck:
    """A check of another server that runs only occasionally, however often it is called.

    `known` returns the problem if it is known without asking the server.
    """

    def __init__(
        self,
        check: Check,
        clock: Callable[[], float] = time.monotonic,
        *,
        known: Callable[[], str | None] | None = None,
    ) -> None:
        self._check = check
        self._clock = clock
        self._known = known
        self._task: asyncio.Task[None] | None = None
        # A server with `known` is assumed to answer, so that the first call need not wait.
        self._result: str | None = None if known else "no answer yet"
        self._is_ok = known is not None
        self._checked_at = float("-inf")

    async def __call__(self) -> str | None:
        """Return the last result; if it has expired, the first call waits for a new result."""
        if self._known and (problem := self._known()):
            return problem
        if self._task is None and self._clock() - self._checked_at >= FRESH_SECONDS:
            self._task = asyncio.create_task(self._run())
        if self._task is not None and not self._is_ok:
            await asyncio.wait({self._task}, timeout=CHECK_SECONDS)
        return self._result

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            self._result = await run_check(self._check, SERVER_SECONDS)
        finally:
            self._checked_at, self._task, self._is_ok = self._clock(), None, False


@dataclass(slots=True)
class Readiness:
    """Checks by name; each returns None or the problem, in words that are safe to publish."""

    needed: dict[str, Check] = field(default_factory=dict)
    """Run each time; if any fails, the process is not ready."""

    at_first: dict[str, Check] = field(default_factory=dict)
    """Required only while this process leads and has not yet been ready."""

    servers: dict[str, CachedCheck] = field(default_factory=dict)
    """Checks of other servers. Only the lead runs a check whose name is also in `at_first`."""

    leads: Callable[[], bool] = ALONE.leads
    is_stopping: bool = False
    _was_ready: bool = False

    def watch(self, name: str, check: Check, known: Callable[[], str | None] | None = None) -> None:
        """Add the check of another server; `known` is as for CachedCheck."""
        self.servers[name] = CachedCheck(check, known=known)

    async def ask(self) -> tuple[str, dict[str, str]]:
        """Return `OK`, `DEGRADED` or `NOT_READY`, and the result of each check; never raises.

        If a needed check fails, a server's check of the same name is not run.
        """
        if self.is_stopping:
            return NOT_READY, STOPPING
        is_starting = self.leads() and not self._was_ready
        checks = self.needed | self.at_first if is_starting else self.needed
        needed = await _gather(checks, (run_check(it, CHECK_SECONDS) for it in checks.values()))
        not_ours = self.at_first.keys() if not self.leads() else ()
        asked = {
            name: check
            for name, check in self.servers.items()
            if not needed.get(name) and name not in not_ours
        }
        servers = await _gather(asked, (check() for check in asked.values()))
        every = {**servers, **needed}
        results = {name: needed.get(name) or servers.get(name) or OK for name in every}
        if any(needed.values()):
            return NOT_READY, results
        self._was_ready = True
        return DEGRADED if any(servers.values()) else OK, results

    async def close(self) -> None:
        await asyncio.gather(*(check.close() for check in self.servers.values()))


async def _gather(
    names: Iterable[str], results: Iterable[Awaitable[str | None]]
) -> dict[str, str | None]:
    return dict(zip(names, await asyncio.gather(*results), strict=True))


async def run_check(check: Check, seconds: float) -> str | None:
    """Return the result of a check; only the name of an exception, because anyone may read it."""
    try:
        async with asyncio.timeout(seconds):
            return await check()
    except Exception as error:  # noqa: BLE001 - any failure is a result
        return type(error).__name__


HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
LATER = {"Retry-After": "5", **HEADERS}
STOPPED = {"Connection": "close", **LATER}
NOT_ALLOWED = {"code": "unauthorized", "message": "Not for you.", "info": []}
UNAVAILABLE = {"code": "unavailable", "message": "Not just now: please try again.", "info": []}
DEPLOYMENT = "X-Deployment"
"""Header of /livez with the name of this installation, so that `doctor` recognizes it."""

FORWARDING = (
    *("forwarded", "via", "x-real-ip", "x-client-ip"),
    *("cf-connecting-ip", "cf-ray", "true-client-ip"),
)
FORWARDED = ("x-forwarded", "x-original-forwarded")
"""Prefixes of headers that proxies add."""


@dataclass(slots=True)
class Ops:
    """The routes for operators; `now` returns epoch ms."""

    db: database.Database
    now: Callable[[], int]
    metrics_token: str | None = None
    families: tuple[Family, ...] = ()

    deployment: str = ""
    """Name of this installation, because another program may answer at its address."""

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
        replica = {"role": self.replica.role, "lead": self.replica.leads()}
        return JSONResponse({"status": status, "checks": checks, **replica}, code, HEADERS)

    async def _metrics(self, request: Request) -> Response:
        if not self._may_read(request):
            return JSONResponse(NOT_ALLOWED, 401, HEADERS)
        return Response(await self.metrics.render(), 200, HEADERS, CONTENT_TYPE_LATEST)

    def _may_read(self, request: Request) -> bool:
        """True if the request has the token, or comes from this machine if no token is set.

        A request that a local proxy forwards doesn't count as local.
        """
        if self.metrics_token is not None:
            given = request.headers.get("Authorization", "")
            return hmac.compare_digest(given.encode(), f"Bearer {self.metrics_token}".encode())
        if any(name in FORWARDING or name.startswith(FORWARDED) for name in request.headers):
            return False
        peer = request.client.host if request.client else ""
        return _is_loopback(peer) and _is_loopback(_host_of(request))


def _host_of(request: Request) -> str:
    """Return the host that a request names; "" if the host is invalid."""
    host = request.headers.get("host", "")
    if not host or "@" in host:
        return ""
    try:
        return request.url.hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    """True if a host is a loopback address or exactly `localhost`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class EndCancelled:
    """ASGI middleware that answers 503 to requests cancelled because the server stops.

    Otherwise the server would log the exception, or the missing answer, as a bug.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; a cancellation inside another task remains an error."""
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
    """Answer 503 while the database can't be used; the reason is logged elsewhere."""
    return JSONResponse(UNAVAILABLE, 503, LATER)
