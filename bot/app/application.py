"""Build, run and stop the whole product in one process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import structlog
from fastapi import FastAPI
from pydantic import SecretStr

from bot import __version__, config
from bot.app import (
    resources,
    running_parts,
    service_side,
    telegram_side,
    web_server,
)
from bot.chat.model import queues
from bot.chat.payments import webhook
from bot.chat.payments.client import Client
from bot.core import clock, errors
from bot.core.database import database, migrations, opening
from bot.core.net import http_client, request_body
from bot.core.ops import audit, metrics, readiness
from bot.core.outbox import worker
from bot.core.replicas import membership, replica
from bot.interface import vocabulary
from bot.service.requests import request_commands

if TYPE_CHECKING:
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp


log = structlog.get_logger()

WORKERS_PATIENCE = 5.0
SERVER_PATIENCE = 2.0
"""Seconds that a stop waits for unfinished work. The whole stop takes at most ten seconds."""

UNREADY_SECONDS = 1.5
"""Seconds that a stopping replica keeps serving, so that proxies notice that it isn't ready."""

STARTED_SECONDS = 3.0
"""Seconds until a start counts as complete; later objects rarely live as long as the process."""

SWEEP_SECONDS = 3600.0

DATABASE_COUNTERS = (
    metrics.Family(
        "database_connections",
        "Connections to the PostgreSQL server: opened, lost, and refused or not reached.",
        ("event",),
        (("opened", "lost", "refused"),),
    ),
    metrics.Family(
        "database_retries",
        "Transactions run again, by the SQLSTATE of what was in their way (40P01: a deadlock),"
        " because their connection was lost, or because another was faster (overtaken).",
        ("reason",),
    ),
    metrics.Family(
        "database_commits_unknown",
        "Commits whose answer was lost: found committed, found aborted and run again, or unknown"
        " for good.",
        ("outcome",),
        (("committed", "aborted", "unknown"),),
    ),
)
"""The counters of a PostgreSQL server."""


class Application:
    """The running product; without `chat`, only the payment service."""

    def __init__(
        self,
        settings: config.Settings,
        *,
        chat: bool = True,
        role: resources.Role = resources.Role.ALL,
        routes: Sequence[BaseRoute] = (),
        close: Callable[[], Awaitable[None]] | None = None,
        now: Callable[[], int] = clock.now,
        chat_page: str | None = None,
    ) -> None:
        """Open the database and build all parts; `routes` are served in addition to our own.

        `close` is awaited when the stop begins. `chat_page` is the page where people chat with the
        bot if they don't use Telegram. Raises ConfigError and ConfigProblem for settings that don't
        work.
        """
        self._settings = settings
        self._role = role
        self._now = now
        self._stopping = asyncio.Event()
        self._failed = False
        self._closers: list[Callable[[], Awaitable[None]]] = [close] if close else []
        resources.check_role(role, settings.database_url)
        resources.restrict_files(settings)
        web_server.return_freed_memory()
        self._db = opening.open_database(settings.database_url, writing=True)
        keys = resources.open_vault(settings, self._db)
        resources.warn_of_another_past(self._db)
        shared = resources.SharedResources(settings, self._db, keys, now, chat_page)
        digests = resources.digest_settings(settings)
        info = membership.ReplicaInfo(role, __version__, len(migrations.MIGRATIONS), digests)
        self._replica = replica.open_replica(self._db, info, now)
        web_server.raise_file_limit()
        web_server.shorten_switch_interval(self._db.engine)
        self._sockets = web_server.listen(settings.host, settings.port)
        resources.log_database(settings, self._db)
        self._inside = self._make_inside()
        self._ops = self._make_ops(shared)
        self._service = self._make_service(shared, has_receiver=chat)
        self._app = self._service.app if self._service else FastAPI(openapi_url=None)
        # Outermost, because Starlette answers unhandled errors outside the application's own
        # middleware.
        self._counted = metrics.CountRequests(self._app, self._db.count)
        self._public = self._app if role.serves else FastAPI(openapi_url=None)
        for app in {self._app, self._public}:
            app.router.routes.extend([*routes, *self._ops.router().routes])
            app.exception_handlers.setdefault(errors.StorageError, readiness.storage_unavailable)
            app.add_middleware(request_body.EscapeNul)
        self._chat = self._make_chat(shared) if chat else None
        self._parts = self._make_parts()
        lead = queues.WRITE_SCOPE if chat else resources.SERVICE
        # A role that can't lead has an election that it never wins.
        election = self._replica.join_election(lead) if role.may_lead else replica.LeaderElection()
        self._leadership = running_parts.Leadership(election, self._lead, self._make_parts)

    def wrap(self, middleware: Callable[[ASGIApp], ASGIApp]) -> None:
        """Put ASGI middleware around all routes, before `run`."""
        self._app.add_middleware(middleware)

    async def run(self) -> None:
        """Serve until SIGTERM, SIGINT or SIGHUP.

        Raises ConfigError if Telegram refuses the token, and BotError if a part of the process
        failed.
        """
        asyncio.get_running_loop().call_later(STARTED_SECONDS, web_server.spare_collections)
        with web_server.stop_signals(self.stop):
            await self.serve()

    async def serve(self) -> None:
        """Serve until `stop`, without handling signals; raises the errors of `run`."""
        await self._replica.start()
        turns = readiness.EndCancelled(web_server.FairTurns(self._public))
        public = metrics.CountRequests(turns, self._db.count)
        server = web_server.WebServer(public, self._settings.forwarded_allow_ips, SERVER_PATIENCE)
        serving = asyncio.create_task(server.serve(web_server.several(self._sockets)))
        try:
            if self._service is not None and self._role.serves:
                self._parts.work(self._db, self._service.queue_handlers)
            for loop in self._service.loops if self._service is not None else ():
                self._parts.start(loop())
            self._parts.start(self._leadership.run())
            await self._until_stopped()
        finally:
            await self._close(server, serving)
        if self._failed:
            raise errors.BotError("a part of the application failed: see the log")

    def stop(self) -> None:
        """Finish the work in progress, then end."""
        self._stopping.set()

    async def _begin(self) -> None:
        if self._chat is not None:
            await self._chat.reach()
        money = self._settings.payments_url or ",".join(self._settings.rails)
        log.info("ready", address=self._settings.url, money=money)

    async def _until_stopped(self) -> None:
        begun = asyncio.create_task(self._begin())
        stopped = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({begun, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if begun.done():
            begun.result()
            await stopped
        begun.cancel()

    def _lead(self, lead: database.WriteLease, parts: running_parts.RunningParts) -> None:
        """Start the work that one replica does for all of them."""
        holds = partial(self._leadership.holds, lead)
        chat = self._chat.lead(lead, holds) if self._chat is not None else None
        parts.start(self._sweep(chat))
        for loop in self._service.lead_loops if self._service is not None else ():
            parts.start(loop())
        if chat is not None:
            chat.begin(parts)

    def _make_parts(self) -> running_parts.RunningParts:
        return running_parts.RunningParts(self._make_worker, self._fail)

    def _make_worker(
        self, db: database.Database, queue_handler: worker.QueueHandler
    ) -> worker.Worker:
        self._ops.metrics.queues.add(queue_handler.queue.name)
        return worker.Worker(db, queue_handler, self._now, self._replica.owners)

    def _fail(self) -> None:
        """Stop the process because a part has failed: a restart beats running without that part."""
        self._failed = True
        self._stopping.set()

    async def _close(self, server: web_server.WebServer, serving: asyncio.Task[None]) -> None:
        log.info("stopping")
        self._ops.readiness.is_stopping = True
        await asyncio.gather(
            self._parts.stop(WORKERS_PATIENCE),
            self._leadership.stop(WORKERS_PATIENCE),
            asyncio.sleep(0 if self._db.engine == "sqlite" else UNREADY_SECONDS),
        )
        await self._replica.stop()
        server.should_exit = True
        await self._ops.readiness.close()
        await asyncio.gather(*(close() for close in self._closers), return_exceptions=True)
        await serving
        self._db.close()
        log.info("stopped")

    def _make_inside(self) -> http_client.HttpClient:
        """Return the client for our own calls, which need no socket and wait behind no stranger."""
        return http_client.app_client(
            # A lambda, because `self._counted` is set after the parts that get this client.
            lambda scope, receive, send: self._counted(scope, receive, send)  # noqa: PLW0108
        )

    def _make_ops(self, shared: resources.SharedResources) -> readiness.Ops:
        ops = readiness.Ops(
            self._db, self._now,
            metrics_token=_secret(self._settings.metrics_token),
            families=(
                *(*service_side.COUNTERS, *telegram_side.COUNTERS),
                *(DATABASE_COUNTERS if self._db.engine == "postgresql" else ()),
            ),
            deployment=resources.deployment(self._db, shared.vault),
            replica=metrics.ReplicaState(
                self._role, lambda: self._leadership.leads, lambda: 1 + len(self._replica.others())
            ),
        )  # fmt: skip

        async def ended_workers() -> str | None:
            ended = [*self._parts.ended(), *self._leadership.ended()]
            return f"ended: {', '.join(ended)}" if ended else None

        ops.readiness.needed["workers"] = ended_workers
        return ops

    def _make_service(
        self, shared: resources.SharedResources, *, has_receiver: bool
    ) -> service_side.ServiceSide | None:
        """Return the embedded service; None if PAYMENTS_URL names another server."""
        if self._settings.payments_url:
            return None
        inside = self._inside if has_receiver else None
        side = service_side.ServiceSide(shared, inside, self._bot_name)
        self._closers.extend(side.closers)
        self._ops.metrics.gauges.extend(side.gauges)
        for name, check in side.checks.items():
            self._ops.readiness.watch(name, check)
        return side

    def _bot_name(self) -> str | None:
        """Return the bot's username; None if there is no chat, or no answer from Telegram yet."""
        return self._chat.bot_name if self._chat is not None else None

    def _make_chat(self, shared: resources.SharedResources) -> telegram_side.TelegramSide:
        settings = self._settings
        if self._service is None:
            app_id, app_secret = settings.app_id or "", _secret(settings.app_secret) or ""
            client = Client(settings.payments_url or "", app_id, app_secret)
            proof = webhook.Proof(app_secret, _secret(settings.webhook_secret))
            receiver = settings.url
        else:
            own = self._service.own
            receiver = f"http://{request_commands.INTERNAL_HOST}"
            client = Client(receiver, own.app_id, own.app_secret, owners=True, http=self._inside)
            proof = webhook.Proof(own.app_secret, own.webhook_secret)
        side = telegram_side.TelegramSide(shared, client, proof, receiver)
        for router in side.routers():
            self._app.router.routes.extend(router.routes)
        side.watch(self._ops.readiness)
        self._closers.append(side.close)
        return side

    async def _sweep(self, chat: telegram_side.TelegramLead | None) -> None:
        while True:
            try:
                await sweep(self._db, (self._service, chat), self._now())
            except errors.StorageError as error:
                log.warning("sweep failed", reason=str(error))
            await asyncio.sleep(SWEEP_SECONDS)


async def sweep(
    db: database.Database,
    sides: Iterable[service_side.ServiceSide | telegram_side.TelegramLead | None],
    moment: int,
) -> None:
    """Delete expired data of each side and of the audit log at `moment` (epoch ms).

    Raises StorageError.
    """
    for side in sides:
        if side is not None:
            await side.sweep(moment)
    dropped = 0
    while more := await db.bulk(partial(audit.forget, before=moment - audit.KEPT)):
        dropped += more
    if dropped:
        log.info("audit log swept", lines=dropped)


def _secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value is not None else None


# The demo: a sandbox Telegram with people on it, in the product's own process.


DEMO_DATABASE = "sqlite:///data/demo.db"
DEMO_SENDER = "Payment Requests <payments@demo.example>"


def prepare_demo(
    settings: config.Settings,
) -> tuple[config.Settings, list[BaseRoute], Callable[[], Awaitable[None]]]:
    """Make a sandbox Telegram with people on it; return its settings, its routes and its end.

    The demo uses the operator's database and mail server only if the settings name them.
    """
    from bot.sandbox.web import server  # noqa: PLC0415 - only the demo needs it
    from bot.sandbox.world import people, world  # noqa: PLC0415 - as above

    telegram = world.World(inline_feedback=True)
    people.cast(telegram)
    chosen = "database_url" in settings.model_fields_set
    changes: dict[str, object] = {
        "bot_token": SecretStr(world.TOKEN),
        "telegram_api_url": settings.local_url,
        "telegram_mode": "polling",
        "rails": (vocabulary.SANDBOX,),
        "database_url": settings.database_url if chosen else DEMO_DATABASE,
    }
    closers = [telegram.close]
    if settings.smtp_url is None:
        mailbox = server.Mailbox(telegram)
        mailbox.open()
        closers.append(mailbox.close)
        changes |= {"smtp_url": SecretStr(mailbox.url), "smtp_from": DEMO_SENDER}

    async def close() -> None:
        await asyncio.gather(*(closer() for closer in closers))

    return settings.model_copy(update=changes), server.routes(telegram), close
