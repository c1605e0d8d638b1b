"""The embedded payment request service, with its webhooks, emails, rails and exchange rates."""

# What isn't used is not imported: it would take memory and time.
# ruff: noqa: PLC0415

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from bot import config
from bot.app import resources
from bot.core.database import database, vault
from bot.core.net import http_client, mail, webhook_addresses
from bot.core.ops import audit, metrics, readiness
from bot.core.outbox import groups, host_budgets, worker
from bot.core.text import links
from bot.interface import vocabulary
from bot.service.api import callers, rate_limits
from bot.service.checkouts import checkout_rows, inventory, wallet_calls
from bot.service.goods import files
from bot.service.notifications import notification, notification_queues, payer_letters, recipients
from bot.service.notifications.webhooks import WebhookSender
from bot.service.pages import app
from bot.service.payments import account_rows, payout_accounts, settling
from bot.service.rails import exchange_rates, host_calls, rail
from bot.service.requests import (
    applications,
    idempotency,
    request,
    request_commands,
    request_rows,
)

if TYPE_CHECKING:
    from fastapi import FastAPI


NOTIFICATIONS_KEPT = 30 * 24 * 3600 * 1000
"""Milliseconds for which settled notifications are kept."""

CHECKOUTS_KEPT = 30 * 24 * 3600 * 1000
"""Milliseconds for which test money may still be reported for an abandoned checkout."""

REAL_CHECKOUTS_KEPT = 180 * 24 * 3600 * 1000
"""Milliseconds for which a seller may still confirm a checkout of real money."""

BATCH = 500
"""Rows deleted in one transaction; on SQLite, payments wait meanwhile."""

REQUESTS = 20
"""Requests whose checkouts are closed or deleted in one transaction, which locks them all."""

COUNTERS = (
    metrics.Family(
        "payment_requests",
        "Payment requests that applications created, edited and deleted, by kind.",
        ("change", "kind"),
        (("created", "edited", "deleted"), tuple(vocabulary.Kind)),
    ),
    metrics.Family(
        "checkouts",
        "Checkouts by kind of money and the state that they came into; lapses aren't counted.",
        ("kind", "state"),
        (
            (vocabulary.SANDBOX, *vocabulary.PAYOUT_KINDS),
            tuple(
                one for one in vocabulary.CheckoutState if one != vocabulary.CheckoutState.LAPSED
            ),
        ),
    ),
    metrics.Family(
        "host_calls",
        "Calls of wallets and providers by purpose: taken from the budget of their host"
        " (HOST_CALLS), or delayed until it has room.",
        ("purpose", "outcome"),
        (tuple(host_budgets.SHARES), ("taken", "delayed")),
    ),
    metrics.Family("host_closings", "Times that a host asked for no calls for a while (429).", ()),
    metrics.Family(
        "payments",
        "Payments booked: with their unit, after its reservation had lapsed, with no unit left,"
        " with less than the price.",
        ("settlement",),
        (tuple(request.PaymentState),),
    ),
    metrics.Family(
        "delivery_attempts",
        "Attempts to deliver webhooks and emails: delivered, failed and retried, failed for the"
        " last time, or answered after another attempt had begun.",
        ("channel", "outcome"),
        (tuple(notification.Channel), ("delivered", "failed", "dead", "late")),
    ),
)
"""By the names in the code; a test compares names and numbers of labels."""


class ServiceSide:
    """The service; `own` are the credentials with which the bot calls it.

    `inside` calls the application that receives the bot's own webhooks, None if this process has no
    receiver. `bot_name` is passed to the service. `checks` ask the servers that the service depends
    on. `loops` run on every replica, `lead_loops` on the lead.
    """

    def __init__(
        self,
        shared: resources.SharedResources,
        inside: http_client.HttpClient | None,
        bot_name: Callable[[], str | None] = lambda: None,
    ) -> None:
        settings, db, now = shared.settings, shared.db, shared.now
        keys = shared.vault
        self._db = db
        self._now = now
        self.closers: list[Callable[[], Awaitable[None]]] = []
        self.checks: dict[str, readiness.Check] = {}
        self.own = db.run(lambda tx: applications.ensure_embedded_app(tx, keys, now()))
        payer_key = db.run(
            lambda tx: vault.load_or_create(tx, keys, "payers", vault.random_password)
        )
        allow = webhook_addresses.AllowList.parse(settings.webhook_allow)
        budget = host_budgets.HostBudget(settings.host_calls)
        rails = build_rails(settings, now, host_calls.HostCalls(db, now, budget))
        rates = ExchangeSide(settings, db, now)
        self.gauges = rates.gauges
        offered = () if rails.test_money else rails.kinds
        db.run(lambda tx: account_rows.write_offered(tx, offered))
        accounts = payout_accounts.Payouts(db, keys, rails, now)
        reservation = settings.reservation_seconds * 1000
        policy = request_commands.Policy(
            allow,
            rates.exchange,
            embedded_app_id=self.own.app_id,
            mails=settings.smtp_url is not None,
            schemes=links.check_schemes(settings.redirect_schemes),
            test_money=rails.test_money,
        )
        claims = settings.claim_hours * 3600 * 1000
        context = settling.PaymentContext(
            rails, rates.exchange, reservation, settings.payer_holds, claims, accounts.details_of,
            partial(callers.hint_url, settings.url, payer_key.encode()),
        )  # fmt: skip
        counts = (
            rate_limits.SharedCounts(db, payer_key.encode()) if db.engine == "postgresql" else None
        )
        self.lead_loops = [rates.job.run] if rates.job else []
        self.loops: list[Callable[[], Coroutine[Any, Any, None]]] = []
        if counts is not None:  # replicas synchronize what each has in memory
            self.loops = [counts.run, rates.job.follow] if rates.job else [counts.run]
        service = callers.Service(
            db, now, settings.url, policy, context, accounts,
            settings.api_rate, settings.payer_rate, payer_key.encode(),
            settings.operator_contact, bot_name, shared.chat_page, counts,
        )  # fmt: skip
        webhooks = WebhookSender(db, keys, now, allow, inside, embedded_app_id=self.own.app_id)
        self.closers += [webhooks.close, rails.close]
        self.queue_handlers = [
            *webhooks.queue_handlers,
            wallet_calls.OpeningHandler(db, context, now, budget).queue_handler,
            wallet_calls.PaymentPoller(db, context, now, budget).queue_handler,
            *self._mail(settings, payer_key.encode()),
        ]
        # Email may have been configured before, so its queues are swept without it too.
        mailed = (*notification_queues.QUEUES, payer_letters.SERVED)
        handled = [handler.queue for handler in self.queue_handlers]
        self._swept = [*handled, *(one for one in mailed if one not in handled), groups.HOSTS]
        self.app: FastAPI = app.create_app(service)

    async def sweep(self, moment: int) -> None:
        """Delete expired data at `moment`, and store the states that have changed with time."""
        close = partial(inventory.close_lapsed, now=moment, most=REQUESTS)
        while await self._db.bulk(close):
            pass
        before, long_before = moment - CHECKOUTS_KEPT, moment - REAL_CHECKOUTS_KEPT
        forget = partial(checkout_rows.sweep, before=before, long_before=long_before, most=REQUESTS)
        while await self._db.bulk(forget):
            pass
        while await self._db.bulk(partial(payout_accounts.sweep, now=moment, most=BATCH)):
            pass
        before, dropped = moment - NOTIFICATIONS_KEPT, 0
        while more := await self._db.bulk(partial(notification_queues.sweep, before=before)):
            dropped += more
        if dropped:
            noted = audit.SYSTEM, "deliveries.dropped", "deliveries", moment, {"number": dropped}
            await self._db.transaction(lambda tx: audit.record(tx, *noted))
        while await self._db.bulk(partial(idempotency.forget, now=moment, most=BATCH)):
            pass
        await files.sweep_files(self._db, moment)
        await self._db.transaction(partial(applications.forget_former, now=moment))
        await self._db.bulk(partial(recipients.settle_stranded, now=moment))
        await self._db.bulk(partial(payer_letters.end_late, now=moment))
        for queue in self._swept:
            await worker.sweep(self._db, queue, moment)
        for each in await self._db.read(applications.list_all):
            await request_rows.refresh_status(self._db, each.id, self._now)

    def _mail(self, settings: config.Settings, payer_key: bytes) -> list[worker.QueueHandler]:
        """Return the queue handlers that send emails; without them, nothing of it is imported."""
        if settings.smtp_url is None or settings.smtp_from is None:
            return []
        from bot.service.notifications import emails, letter_texts

        mailer = emails.Mailer(mail.parse_server(settings.smtp_url.get_secret_value()))
        self.closers.append(mailer.close)
        self.checks["mail"] = mailer.check
        origin = letter_texts.LetterOrigin(settings.smtp_from, settings.url)
        return [
            emails.to_sellers(self._db, mailer, self._now, origin).queue_handler,
            emails.to_payers(self._db, mailer, self._now, origin, payer_key).queue_handler,
            payer_letters.served_handler(self._db, self._now),
        ]


# Rails that RAILS names, and the rates at which they convert prices.


def build_rails(
    settings: config.Settings, now: Callable[[], int], calls: host_calls.HostCalls | None = None
) -> rail.Rails:
    """Build the rails of all kinds that the settings name; without `calls`, for reading only."""
    return rail.Rails(*(_build(kind, settings, now, calls) for kind in settings.rails))


def _build(
    kind: str,
    settings: config.Settings,
    now: Callable[[], int],
    calls: host_calls.HostCalls | None,
) -> rail.Rail:
    """Import and build a rail."""
    allow = webhook_addresses.AllowList.parse(settings.rail_allow)
    match kind:
        case vocabulary.SANDBOX:
            return rail.SandboxRail()
        case vocabulary.BANK:
            from bot.service.rails import bank

            return bank.BankRail()
        case vocabulary.LIGHTNING:
            from bot.service.rails import lightning

            return lightning.LightningAddressRail(allow, now, calls)
        case vocabulary.LNBITS:
            from bot.service.rails import lnbits

            return lnbits.LNbitsRail(allow, now, calls)
        case vocabulary.NWC:
            from bot.service.rails import nwc

            return nwc.NwcRail(allow, now, calls)
    raise KeyError(kind)


class ExchangeSide:
    """The exchange of this installation; `job` asks public sources, None if no rates are needed.

    Test money and RATES_URLS=table use the packaged table. With bank accounts only, nothing is
    converted.
    """

    def __init__(
        self, settings: config.Settings, db: database.Database, now: Callable[[], int]
    ) -> None:
        self.job: exchange_rates.RatesJob | None = None
        self.gauges: tuple[metrics.Gauge, ...] = ()
        if settings.test_money or settings.rates_urls == (config.RATES_TABLE,):
            self.exchange: exchange_rates.Exchange = exchange_rates.SandboxExchange()
            return
        urls = settings.rates_urls if settings.asks_rates else ()
        stored = exchange_rates.StoredRates([exchange_rates.name_of(url) for url in urls], now)
        self.exchange = stored
        if urls:
            self.job = exchange_rates.RatesJob(db, stored, urls, now)
            self.gauges = _gauges(stored, now)


def _gauges(
    stored: exchange_rates.StoredRates, now: Callable[[], int]
) -> tuple[metrics.Gauge, ...]:
    def ages() -> Mapping[tuple[str, ...], float]:
        return {
            (source,): math.inf if at is None else (now() - at) / 1000
            for source, at in stored.answered().items()
        }

    return (
        metrics.Gauge(
            "exchange_rates_age_seconds",
            "Age of a source's newest exchange rates; infinite if it has never answered.",
            ("source",),
            ages,
        ),
        metrics.Gauge(
            "exchange_rates_usable_currencies",
            "Currencies whose prices can be converted now: fresh sources agree. 0: none can.",
            (),
            lambda: {(): stored.count_usable()},
        ),
        metrics.Gauge(
            "exchange_rates_outlying_currencies",
            "Currencies in which a source is too far from the others, and is not used.",
            ("source",),
            lambda: {(source,): len(codes) for source, codes in stored.outlying().items()},
        ),
    )
