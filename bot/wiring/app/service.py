"""The embedded payment request service, with what tells of its payments."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bot.core.database import vault
from bot.core.net.addresses import AllowList
from bot.core.ops import audit
from bot.core.outbox import lanes
from bot.core.text import links
from bot.service.app import create_app
from bot.service.http.service import Service, Site
from bot.service.notify.webhook_delivery import WebhookDelivery
from bot.service.rails.exchange_rates import SandboxExchange
from bot.service.rails.rail import SETTLEMENTS, SandboxRail
from bot.service.store import checkouts, status_index
from bot.service.usecases import applications, delivery_queues, letter_limits
from bot.service.usecases.paying import PaymentContext
from bot.service.usecases.request_commands import INTERNAL_HOST, Policy
from bot.service.usecases.settlement_job import SettlementHandler

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fastapi import FastAPI

    from bot.config import Settings
    from bot.core.database.database import Database, Transaction
    from bot.core.database.vault import Vault
    from bot.core.ops.readiness import Check
    from bot.core.outbox.worker import Job

DELIVERIES_KEPT = 30 * 24 * 3600 * 1000
"""Milliseconds that settled deliveries can be looked at."""


CHECKOUTS_KEPT = 30 * 24 * 3600 * 1000
"""Milliseconds that a rail may take to tell of money for a checkout that was given up."""

FORGOTTEN = 500
"""Checkouts dropped, or requests looked at for lapsed ones, in one transaction, lest payments wait
for it."""


class ServiceSide:
    """The service put together; `own` is what the bot proves itself to it with.

    `checks` ask the servers that it leans on.

    `receiver` says where the bot's receiver of its own webhooks listens in this process; None where
    it has none.
    """

    def __init__(
        self,
        settings: Settings,
        db: Database,
        keys: Vault,
        now: Callable[[], int],
        receiver: Callable[[], tuple[str, int]] | None,
    ) -> None:
        self._db = db
        self._now = now
        self.closers: list[Callable[[], Awaitable[None]]] = []
        self.checks: dict[str, Check] = {}
        self.own = db.run(lambda tx: applications.ensure_embedded_app(tx, keys, now()))
        payer_key = db.run(
            lambda tx: vault.load_or_create(tx, keys, "payers", vault.random_password)
        )
        allow = AllowList.parse(settings.webhook_allow)
        rail, exchange = SandboxRail(), SandboxExchange()
        reservation = settings.reservation_seconds * 1000
        site = Site(settings.url, settings.api_rate, settings.payer_rate, payer_key.encode())
        policy = Policy(
            allow,
            exchange,
            embedded_app_id=self.own.app_id,
            mails=settings.smtp_url is not None,
            schemes=links.check_schemes(settings.redirect_schemes),
        )
        context = PaymentContext(rail, exchange, reservation, settings.payer_holds)
        service = Service(db, now, site, policy, context)
        internal = {INTERNAL_HOST: receiver} if receiver else None
        webhooks = WebhookDelivery(db, keys, now, allow, internal, embedded_app_id=self.own.app_id)
        self.closers.append(webhooks.close)
        self.jobs = [
            *webhooks.jobs,
            SettlementHandler(db, rail, now).job,
            *self._mail(settings),
        ]
        self.app: FastAPI = create_app(service)

    async def sweep(self, moment: int) -> None:
        """Drop what was settled long ago, and secrets that sign no more.

        The states of requests are written down, so that who asks for those of one finds them so.
        """
        close = partial(checkouts.close_lapsed, now=moment, most=FORGOTTEN)
        while await self._db.transaction(close):
            pass
        forget = partial(checkouts.sweep, before=moment - CHECKOUTS_KEPT, most=FORGOTTEN)
        while await self._db.transaction(forget):
            pass
        before, dropped = moment - DELIVERIES_KEPT, 0
        while more := await self._db.transaction(partial(delivery_queues.sweep, before=before)):
            dropped += more
        if dropped:
            await self._db.transaction(partial(_note, dropped=dropped, now=moment))
        await self._db.transaction(partial(applications.forget_former, now=moment))
        await self._db.transaction(partial(letter_limits.sweep, now=moment))
        for queue in (*delivery_queues.QUEUES, SETTLEMENTS):
            await self._db.transaction(partial(lanes.sweep, queue=queue, now=moment))
        for app in await self._db.read(applications.every):
            await status_index.refresh(self._db, app.id, self._now)

    def _mail(self, settings: Settings) -> list[Job]:
        """Give what sends e-mails; who sends none is spared the time and memory of it."""
        if settings.smtp_url is None or settings.smtp_from is None:
            return []
        from bot.service.notify.letter_delivery import LetterDelivery  # noqa: PLC0415
        from bot.service.notify.smtp_sender import Mailer, parse_server  # noqa: PLC0415

        mailer = Mailer(parse_server(settings.smtp_url.get_secret_value()))
        self.closers.append(mailer.close)
        self.checks["mail"] = mailer.check
        mails = LetterDelivery(
            self._db, mailer, self._now, sender=settings.smtp_from, public_url=settings.url
        )
        return [mails.job]


def _note(tx: Transaction, dropped: int, now: int) -> None:
    audit.record(tx, audit.SYSTEM, "deliveries.dropped", "deliveries", now, {"number": dropped})
