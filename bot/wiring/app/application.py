"""The whole product in one process: put together, run, stopped."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import structlog
from fastapi import FastAPI

from bot.chat.payments.webhook import Proof
from bot.chat.provider.client import Client
from bot.core.database import private_files, vault
from bot.core.database.database import open_database, sqlite_path
from bot.core.database.vault import Vault
from bot.core.errors import BotError, StorageError
from bot.core.ops.endpoints import EndQuietly, Ops, storage_trouble
from bot.core.ops.metrics import UNREAD, CountRequests, count_request
from bot.core.outbox.clock_changes import Jumps
from bot.core.outbox.worker import Worker
from bot.service.usecases.request_commands import INTERNAL_HOST
from bot.wiring.app import metric_families
from bot.wiring.app.cleanup import sweep
from bot.wiring.app.service import ServiceSide
from bot.wiring.app.telegram import TelegramSide
from bot.wiring.web.process import (
    WebServer,
    listen,
    open_many_files,
    return_memory,
    settle_memory,
    stop_signals,
    switch_often,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from pydantic import SecretStr
    from starlette.routing import BaseRoute

    from bot.config import Settings
    from bot.core.database.database import Database
    from bot.core.outbox.worker import Job

log = structlog.get_logger()

WORKERS_PATIENCE = 5.0
SERVER_PATIENCE = 2.0
"""Seconds that a stop lets what is under way finish: ten in all with what comes after."""

STARTED_SECONDS = 3.0
"""After which nothing more is made that stays as long as the process."""

WATCH_SECONDS = 5.0
"""Between two looks at the clock."""

SWEEP_SECONDS = 3600.0


def now() -> int:
    """Give the time in UTC epoch milliseconds."""
    return time.time_ns() // 1_000_000


def steady() -> int:
    """Give the milliseconds of a clock that goes on whatever is done to the other one."""
    return time.monotonic_ns() // 1_000_000


def open_vault(settings: Settings, database: Database) -> Vault:
    """Give the vault of SECRET_KEY, or of the key that is kept beside the database.

    Raises ConfigProblem where the database was sealed with another key.
    """
    keys = Vault(_key(settings))
    database.run(lambda tx: vault.check_key(tx, keys))
    return keys


def deployment(database: Database, keys: Vault) -> str:
    """Give the name of this installation, which its replicas share; no secret, but unguessable."""
    return database.run(
        lambda tx: vault.load_or_create(tx, keys, "deployment", lambda: token_hex(8))
    )


def key_path(settings: Settings) -> Path:
    """Give where the key is kept that is used without a SECRET_KEY."""
    return Path(sqlite_path(settings.database_url)).with_suffix(".key")


def _close_files(settings: Settings) -> None:
    """Close to others what an earlier version, or a copy by hand, left open to them."""
    files = private_files.database_files(sqlite_path(settings.database_url))
    for path in private_files.make_private([*files, key_path(settings)]):
        log.warning("others on this machine could read a file: no longer", file=str(path))


def _key(settings: Settings) -> str:
    if settings.secret_key is not None:
        return settings.secret_key.get_secret_value()
    return vault.load_or_create_key(key_path(settings))


class Application:
    """The product at work; `chat` False leaves the Telegram side out.

    `routes` are served beside our own, `closers` are awaited when the stop begins, `now` gives
    UTC epoch ms, `steady` ms of a clock that nobody sets, to see when the other one is set.
    Raises ConfigError and ConfigProblem where a setting can't be worked with.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        chat: bool = True,
        routes: Sequence[BaseRoute] = (),
        closers: Sequence[Callable[[], Awaitable[None]]] = (),
        now: Callable[[], int] = now,
        steady: Callable[[], int] | None = None,
    ) -> None:
        self._settings = settings
        self._now = now
        self._steady = steady
        self._stopping = asyncio.Event()
        self._failed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._closers = list(closers)
        self._workers: list[Worker] = []
        self._working: dict[str, asyncio.Task[None]] = {}
        _close_files(settings)
        return_memory()
        self._db = open_database(settings.database_url, writing=True)
        self._vault = open_vault(settings, self._db)
        open_many_files()
        switch_often()
        self._socket = listen(settings.host, settings.port)
        self._own_socket = listen("127.0.0.1", 0)
        self._ops = self._make_ops()
        self._service = self._serve(has_receiver=chat)
        self._app = self._service.app if self._service else FastAPI(openapi_url=None)
        self._app.router.routes.extend(routes)
        self._app.router.routes.extend(self._ops.router().routes)
        self._app.exception_handlers.setdefault(StorageError, storage_trouble)
        self._app.add_middleware(EndQuietly)
        self._chat = self._talk() if chat else None

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT.

        Raises ConfigError where Telegram refuses the token, BotError where a part of us failed.
        """
        asyncio.get_running_loop().call_later(STARTED_SECONDS, settle_memory)
        with stop_signals(self.stop):
            await self.serve()

    async def serve(self) -> None:
        """Serve until `stop`, leaving the process's signals alone; raises what `run` does."""
        await self._run()
        if self._failed:
            raise BotError("a part of the application failed: see the log")

    def stop(self) -> None:
        """Let what is under way finish, and end."""
        self._stopping.set()

    async def _run(self) -> None:
        refused = partial(count_request, self._db.count, UNREAD)
        proxies = self._settings.forwarded_allow_ips
        # Around everything: a bug is answered outside of whatever an application adds to itself.
        counted = CountRequests(self._app, self._db.count)
        server = WebServer(counted, proxies, SERVER_PATIENCE, refused, self._own_socket)
        serving = asyncio.create_task(server.serve(sockets=[self._socket]))
        try:
            if self._service is not None:
                self._work(self._service.jobs)
            self._start(self._sweep())
            if self._steady is not None:
                self._start(self._watch_clock(Jumps(self._steady)))
            await self._until_stopped(self._begin())
        finally:
            await self._close(server, serving)

    async def _begin(self) -> None:
        if self._chat is not None:
            await self._chat.hello()
            self._work(self._chat.jobs)
            self._start(self._chat.listen())
        log.info("ready", address=self._settings.url)

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
            worker = Worker(self._db, job, self._now, self._steady)
            self._workers.append(worker)
            self._ops.metrics.queues.add(job.queue.name)
            self._working[job.queue.name] = self._start(worker.run())

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A part that ends by an error is a bug: rather stop and be restarted than limp."""
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
        await self._ops.close()
        await asyncio.gather(*(close() for close in self._closers), return_exceptions=True)
        await serving
        self._db.close()
        log.info("stopped")

    def _make_ops(self) -> Ops:
        ops = Ops(
            self._db, self._now,
            metrics_token=_secret(self._settings.metrics_token),
            families=(*metric_families.SERVICE, *metric_families.CHAT),
            deployment=deployment(self._db, self._vault),
        )  # fmt: skip
        ops.readiness.needed["workers"] = self._unworked
        return ops

    async def _unworked(self) -> str | None:
        """Name the queues that nobody works any more."""
        ended = [name for name, task in self._working.items() if task.done()]
        return f"ended: {', '.join(ended)}" if ended else None

    def _serve(self, *, has_receiver: bool) -> ServiceSide | None:
        """Put the embedded service together, unless another server takes its place."""
        if self._settings.payments_url:
            return None
        receiver = self._here if has_receiver else None
        side = ServiceSide(self._settings, self._db, self._vault, self._now, receiver)
        self._closers.extend(side.closers)
        for name, check in side.checks.items():
            self._ops.readiness.watch(name, check)
        return side

    def _talk(self) -> TelegramSide:
        """Put the Telegram side together, with the service it is to use."""
        settings = self._settings
        if self._service is None:
            app_id, app_secret = settings.app_id or "", _secret(settings.app_secret) or ""
            base, receiver = settings.payments_url or "", settings.url
            proof = Proof(app_secret, _secret(settings.webhook_secret))
        else:
            host, port = self._here()
            own = self._service.own
            app_id, app_secret = own.app_id, own.app_secret
            base, receiver = f"http://{host}:{port}", f"http://{INTERNAL_HOST}"
            proof = Proof(app_secret, own.webhook_secret)
        side = TelegramSide(
            settings, self._db, self._vault, self._now,
            client=Client(base, app_id, app_secret, owners=self._service is not None),
            proof=proof, receiver=receiver,
        )  # fmt: skip
        for router in side.routers():
            self._app.router.routes.extend(router.routes)
        self._ops.readiness.needed["telegram"] = side.trouble
        for name, check in side.checks().items():
            self._ops.readiness.watch(name, check)
        self._closers.append(side.close)
        return side

    def _here(self) -> tuple[str, int]:
        """Return where this process reaches itself, with no stranger before it."""
        host, port = self._own_socket.getsockname()
        return host, port

    async def _watch_clock(self, jumps: Jumps) -> None:
        """Tell the operator when the clock was set, once for all who follow it."""
        while True:
            now = self._now()
            if jump := jumps.since(now):
                log.warning("the clock was set", by_seconds=jump / 1000)
            jumps.seen(now)
            await asyncio.sleep(WATCH_SECONDS)

    async def _sweep(self) -> None:
        """Once an hour, drop what was settled long ago."""
        while True:
            try:
                await sweep(self._db, (self._service, self._chat), self._now())
            except StorageError as error:
                log.warning("nothing swept", reason=str(error))
            await asyncio.sleep(SWEEP_SECONDS)


def _secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value is not None else None
