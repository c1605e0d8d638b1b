"""The embedded payment request service, with its deliveries of webhooks and letters."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from bot.core.database import vault
from bot.core.mail import smtp
from bot.core.net.webhook_addresses import AllowList
from bot.core.ops import audit
from bot.core.outbox import sweeps
from bot.core.outbox.budget_rows import HOSTS
from bot.core.outbox.host_budgets import HostBudget
from bot.core.text import links
from bot.service.app import create_app
from bot.service.goods import uploads
from bot.service.http import hint_addresses
from bot.service.http.service import Service
from bot.service.http.shared_counts import SharedCounts
from bot.service.notify.webhook_delivery import WebhookDelivery
from bot.service.rails.host_calls import HostCalls
from bot.service.store import (
    apps,
    checkouts,
    idempotency,
    payout_accounts,
    status_index,
    unit_moves,
)
from bot.service.usecases import (
    applications,
    delivery_queues,
    payouts,
)
from bot.service.usecases.letters import letter_limits, payer_receipts
from bot.service.usecases.letters.served_payers import SERVED, ServedPayers
from bot.service.usecases.looking import LOOKS, LookHandler
from bot.service.usecases.opening import OPENINGS, OpeningHandler
from bot.service.usecases.payment_context import PaymentContext
from bot.service.usecases.payouts import Payouts
from bot.service.usecases.request_commands import Policy
from bot.wiring.app.exchange import ExchangeSide
from bot.wiring.app.rails import build_rails

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from fastapi import FastAPI
    from starlette.types import ASGIApp

    from bot.config import Settings
    from bot.core.ops.readiness import Check
    from bot.core.outbox.worker import Job
    from bot.service.rates.rates_job import RatesJob
    from bot.wiring.app.foundation import Foundation

DELIVERIES_KEPT = 30 * 24 * 3600 * 1000
"""Milliseconds for which settled deliveries can be looked up."""

CHECKOUTS_KEPT = 30 * 24 * 3600 * 1000
"""Milliseconds within which test money may still be reported for a checkout that was given up."""

REAL_CHECKOUTS_KEPT = 180 * 24 * 3600 * 1000
"""Milliseconds within which a seller may still confirm a checkout of real money."""

BATCH = 500
"""Rows deleted in one transaction: on SQLite payments wait for it."""

REQUESTS = 20
"""Requests whose checkouts are closed or deleted in one transaction, which locks them all."""


class ServiceSide:
    """The service; `own` are the credentials with which the bot calls it.

    `receiver` is the application with the bot's own receiver of webhooks, None where this process
    has none; `bot_name` and `chat_page` are those of the service. `checks` ask the
    servers that the service depends on. `loops` run on every replica, `lead_loops` on the lead.
    """

    def __init__(
        self,
        foundation: Foundation,
        receiver: ASGIApp | None,
        bot_name: Callable[[], str | None] = lambda: None,
        chat_page: str | None = None,
    ) -> None:
        settings, db, now = foundation.settings, foundation.db, foundation.now
        keys = foundation.vault
        self._db = db
        self._now = now
        self.closers: list[Callable[[], Awaitable[None]]] = []
        self.checks: dict[str, Check] = {}
        self.own = db.run(lambda tx: applications.ensure_embedded_app(tx, keys, now()))
        payer_key = db.run(
            lambda tx: vault.load_or_create(tx, keys, "payers", vault.random_password)
        )
        allow = AllowList.parse(settings.webhook_allow)
        budget = HostBudget(settings.host_calls)
        rails = build_rails(settings, now, HostCalls(db, now, budget))
        rates = ExchangeSide(settings, db, now)
        self.gauges = rates.gauges
        offered = () if rails.test_money else rails.kinds
        db.run(lambda tx: payout_accounts.write_offered(tx, offered))
        accounts = Payouts(db, keys, rails, now)
        reservation = settings.reservation_seconds * 1000
        policy = Policy(
            allow,
            rates.exchange,
            embedded_app_id=self.own.app_id,
            mails=settings.smtp_url is not None,
            schemes=links.check_schemes(settings.redirect_schemes),
            test_money=rails.test_money,
        )
        claims = settings.claim_hours * 3600 * 1000
        context = PaymentContext(
            rails, rates.exchange, reservation, settings.payer_holds, claims, accounts.details_of,
            partial(hint_addresses.hint_url, settings.url, payer_key.encode()),
        )  # fmt: skip
        counts = SharedCounts(db, payer_key.encode()) if db.engine == "postgresql" else None
        self.lead_loops = [rates.job.run] if rates.job else []
        self.loops = _replica_loops(counts, rates.job)
        service = Service(
            db, now, settings.url, policy, context, accounts,
            settings.api_rate, settings.payer_rate, payer_key.encode(),
            settings.operator_contact, bot_name, chat_page, counts,
        )  # fmt: skip
        webhooks = WebhookDelivery(db, keys, now, allow, receiver, embedded_app_id=self.own.app_id)
        self.closers += [webhooks.close, rails.close]
        self.jobs = [
            *webhooks.jobs,
            OpeningHandler(db, context, now, budget).job,
            LookHandler(db, context, now, budget).job,
            *self._mail(settings, payer_key.encode()),
        ]
        self.app: FastAPI = create_app(service)

    async def sweep(self, moment: int) -> None:
        """Delete what is too old at `moment`, and store the states that time has changed."""
        close = partial(unit_moves.close_lapsed, now=moment, most=REQUESTS)
        while await self._db.bulk(close):
            pass
        before, long_before = moment - CHECKOUTS_KEPT, moment - REAL_CHECKOUTS_KEPT
        forget = partial(checkouts.sweep, before=before, long_before=long_before, most=REQUESTS)
        while await self._db.bulk(forget):
            pass
        while await self._db.bulk(partial(payouts.sweep, now=moment, most=BATCH)):
            pass
        before, dropped = moment - DELIVERIES_KEPT, 0
        while more := await self._db.bulk(partial(delivery_queues.sweep, before=before)):
            dropped += more
        if dropped:
            await self._db.transaction(
                lambda tx: audit.record(
                    tx,
                    audit.SYSTEM,
                    "deliveries.dropped",
                    "deliveries",
                    moment,
                    {"number": dropped},
                )
            )
        while await self._db.bulk(partial(idempotency.forget, now=moment, most=BATCH)):
            pass
        await uploads.sweep(self._db, moment)
        await self._db.transaction(partial(apps.forget_former, now=moment))
        await self._db.bulk(partial(letter_limits.sweep, now=moment))
        await self._db.bulk(partial(payer_receipts.end_late, now=moment))
        for queue in (*delivery_queues.QUEUES, SERVED, OPENINGS, LOOKS, HOSTS):
            await sweeps.sweep_lanes(self._db, queue, moment)
        for app in await self._db.read(apps.list_all):
            await status_index.refresh(self._db, app.id, self._now)

    def _mail(self, settings: Settings, payer_key: bytes) -> list[Job]:
        """Return the jobs that send emails; without them, nothing of it is imported."""
        if settings.smtp_url is None or settings.smtp_from is None:
            return []
        from bot.service.notify.letter_delivery import LetterDelivery  # noqa: PLC0415
        from bot.service.notify.letter_texts import LetterOrigin  # noqa: PLC0415
        from bot.service.notify.receipt_delivery import ReceiptDelivery  # noqa: PLC0415
        from bot.service.notify.smtp_sender import Mailer  # noqa: PLC0415

        mailer = Mailer(smtp.parse_server(settings.smtp_url.get_secret_value()))
        self.closers.append(mailer.close)
        self.checks["mail"] = mailer.check
        mails = LetterDelivery(
            self._db, mailer, self._now, sender=settings.smtp_from, public_url=settings.url
        )
        origin = LetterOrigin(settings.smtp_from, settings.url)
        receipts = ReceiptDelivery(self._db, mailer, self._now, origin=origin, key=payer_key)
        return [mails.job, receipts.job, ServedPayers(self._db, self._now).job]


def _replica_loops(
    counts: SharedCounts | None, job: RatesJob | None
) -> list[Callable[[], Coroutine[Any, Any, None]]]:
    """Return the loops that keep a replica's memory like the others'; a process alone has none."""
    if counts is None:
        return []
    return [counts.run, job.follow] if job else [counts.run]
