"""The whole product in one process: built, run, stopped."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog
from fastapi import FastAPI

from bot.chat.payments.webhook import Proof
from bot.chat.provider.client import Client
from bot.core import clock
from bot.core.database.database import open_database
from bot.core.errors import BotError, StorageError
from bot.core.ops import audit
from bot.core.ops.endpoints import EndCancelled, Ops, storage_unavailable
from bot.core.ops.metrics import UNREAD, CountRequests, count_request
from bot.core.outbox.worker import Worker
from bot.service.usecases.request_commands import INTERNAL_HOST
from bot.wiring.app import metric_families
from bot.wiring.app.foundation import Foundation, deployment, open_vault, restrict_files
from bot.wiring.app.service_side import ServiceSide
from bot.wiring.app.telegram_side import TelegramSide
from bot.wiring.web.process import (
    freeze_memory,
    raise_file_limit,
    return_freed_memory,
    shorten_switch_interval,
    stop_signals,
)
from bot.wiring.web.server import WebServer, listen

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence

    from pydantic import SecretStr
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp

    from bot.config import Settings
    from bot.core.database.database import Database
    from bot.core.outbox.worker import Job

log = structlog.get_logger()

WORKERS_PATIENCE = 5.0
SERVER_PATIENCE = 2.0
"""Seconds that a stop waits for unfinished work: ten in all, with everything after it."""

STARTED_SECONDS = 3.0
"""After which hardly any object is made that lives as long as the process."""

SWEEP_SECONDS = 3600.0


class Application:
    """The product at work; without `chat`, the payment service alone.

    `routes` are served beside our own, `close` is awaited when the stop begins, and `now` returns
    UTC epoch ms. `chat_page` is where people chat with the bot if that isn't Telegram. Raises
    ConfigError and ConfigProblem for settings that don't work.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        chat: bool = True,
        routes: Sequence[BaseRoute] = (),
        close: Callable[[], Awaitable[None]] | None = None,
        now: Callable[[], int] = clock.now,
        chat_page: str | None = None,
    ) -> None:
        self._settings = settings
        self._chat_page = chat_page
        self._now = now
        self._stopping = asyncio.Event()
        self._failed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._closers: list[Callable[[], Awaitable[None]]] = [close] if close else []
        self._workers: list[Worker] = []
        self._working: dict[str, asyncio.Task[None]] = {}
        restrict_files(settings)
        return_freed_memory()
        self._db = open_database(settings.database_url, writing=True)
        keys = open_vault(settings, self._db)
        foundation = Foundation(settings, self._db, keys, now)
        raise_file_limit()
        shorten_switch_interval()
        self._socket = listen(settings.host, settings.port)
        self._own_socket = listen("127.0.0.1", 0)
        self._ops = self._make_ops(foundation)
        self._service = self._make_service(foundation, has_receiver=chat)
        self._app = self._service.app if self._service else FastAPI(openapi_url=None)
        self._app.router.routes.extend([*routes, *self._ops.router().routes])
        self._app.exception_handlers.setdefault(StorageError, storage_unavailable)
        self._app.add_middleware(EndCancelled)
        self._chat = self._make_chat(foundation) if chat else None

    def wrap(self, middleware: Callable[[ASGIApp], ASGIApp]) -> None:
        """Put ASGI middleware around all routes, before `run`."""
        self._app.add_middleware(middleware)

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT.

        Raises ConfigError if Telegram refuses the token, BotError if a part of the process failed.
        """
        asyncio.get_running_loop().call_later(STARTED_SECONDS, freeze_memory)
        with stop_signals(self.stop):
            await self.serve()

    async def serve(self) -> None:
        """Serve until `stop`, without handling signals; raises the errors of `run`."""
        refused = partial(count_request, self._db.count, UNREAD)
        proxies = self._settings.forwarded_allow_ips
        # Outermost: Starlette answers a bug outside of the middleware of the application.
        counted = CountRequests(self._app, self._db.count)
        server = WebServer(counted, proxies, SERVER_PATIENCE, refused, self._own_socket)
        serving = asyncio.create_task(server.serve(sockets=[self._socket]))
        try:
            if self._service is not None:
                self._work(self._service.jobs)
                for loop in self._service.loops:
                    self._start(loop())
            self._start(self._sweep())
            await self._until_stopped(self._begin())
        finally:
            await self._close(server, serving)
        if self._failed:
            raise BotError("a part of the application failed: see the log")

    def stop(self) -> None:
        """Finish what is under way, then end."""
        self._stopping.set()

    async def _begin(self) -> None:
        if self._chat is not None:
            await self._chat.introduce()
            self._work(self._chat.jobs)
            self._start(self._chat.listen())
        money = self._settings.payments_url or ",".join(self._settings.rails)
        log.info("ready", address=self._settings.url, money=money)

    async def _until_stopped(self, beginning: Coroutine[Any, Any, None]) -> None:
        begun = asyncio.create_task(beginning)
        stopped = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({begun, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if begun.done():
            begun.result()
            await stopped
        begun.cancel()

    def _work(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            worker = Worker(self._db, job, self._now)
            self._workers.append(worker)
            self._ops.metrics.queues.add(job.queue.name)
            self._working[job.queue.name] = self._start(worker.run())

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Stop the process if a task ended by an error: a restart beats running without it."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("a part of the application failed", exc_info=error)
            self._failed = True
            self._stopping.set()

    async def _close(self, server: WebServer, serving: asyncio.Task[None]) -> None:
        log.info("stopping")
        await asyncio.gather(*(worker.stop(WORKERS_PATIENCE) for worker in self._workers))
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        server.should_exit = True
        await self._ops.readiness.close()
        await asyncio.gather(*(close() for close in self._closers), return_exceptions=True)
        await serving
        self._db.close()
        log.info("stopped")

    def _make_ops(self, foundation: Foundation) -> Ops:
        ops = Ops(
            self._db, self._now,
            metrics_token=_secret(self._settings.metrics_token),
            families=(*metric_families.SERVICE, *metric_families.CHAT),
            deployment=deployment(self._db, foundation.vault),
        )  # fmt: skip
        ops.readiness.needed["workers"] = self._ended_workers
        return ops

    async def _ended_workers(self) -> str | None:
        ended = [name for name, task in self._working.items() if task.done()]
        return f"ended: {', '.join(ended)}" if ended else None

    def _make_service(self, foundation: Foundation, *, has_receiver: bool) -> ServiceSide | None:
        """Return the embedded service; None if PAYMENTS_URL names another server."""
        if self._settings.payments_url:
            return None
        receiver = self._own_address if has_receiver else None
        side = ServiceSide(foundation, receiver, self._bot_name, self._chat_page)
        self._closers.extend(side.closers)
        self._ops.metrics.gauges.extend(side.gauges)
        for name, check in side.checks.items():
            self._ops.readiness.watch(name, check)
        return side

    def _bot_name(self) -> str | None:
        """Return the bot's username, None without a chat and until Telegram has told it."""
        return self._chat.bot_name if self._chat is not None else None

    def _make_chat(self, foundation: Foundation) -> TelegramSide:
        side = TelegramSide(foundation, *self._provider_access())
        for router in side.routers():
            self._app.router.routes.extend(router.routes)
        self._ops.readiness.needed["telegram"] = side.problem
        for name, check in side.checks().items():
            self._ops.readiness.watch(name, check)
        self._closers.append(side.close)
        return side

    def _provider_access(self) -> tuple[Client, Proof, str]:
        """Return a client of the payment service, the proof of its webhooks and their address."""
        settings = self._settings
        if self._service is None:
            app_id, app_secret = settings.app_id or "", _secret(settings.app_secret) or ""
            client = Client(settings.payments_url or "", app_id, app_secret)
            proof = Proof(app_secret, _secret(settings.webhook_secret))
            return client, proof, settings.url
        host, port = self._own_address()
        own = self._service.own
        client = Client(f"http://{host}:{port}", own.app_id, own.app_secret, owners=True)
        proof = Proof(own.app_secret, own.webhook_secret)
        return client, proof, f"http://{INTERNAL_HOST}"

    def _own_address(self) -> tuple[str, int]:
        """Return the host and port for our own calls, where no stranger's requests queue."""
        host, port = self._own_socket.getsockname()
        return host, port

    async def _sweep(self) -> None:
        while True:
            try:
                await sweep(self._db, (self._service, self._chat), self._now())
            except StorageError as error:
                log.warning("sweep failed", reason=str(error))
            await asyncio.sleep(SWEEP_SECONDS)


async def sweep(
    db: Database, sides: Iterable[ServiceSide | TelegramSide | None], moment: int
) -> None:
    """Delete what is too old at `moment` (epoch ms), of each side and of the audit log.

    Raises StorageError.
    """
    for side in sides:
        if side is not None:
            await side.sweep(moment)
    dropped = 0
    while more := await db.transaction(partial(audit.forget, before=moment - audit.KEPT)):
        dropped += more
    if dropped:
        log.info("audit log swept", lines=dropped)


def _secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value is not None else None
