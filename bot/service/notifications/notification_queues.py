"""The queues of webhooks and letters: filled by payments, settled by outcomes, resent, swept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any
from urllib.parse import urlsplit

import structlog

from bot.core.database import database
from bot.core.net import webhook_addresses
from bot.core.ops import audit
from bot.core.outbox import lanes, outbox, queue_policy
from bot.core.text import sanitize
from bot.interface import vocabulary
from bot.service.checkouts import checkout, checkout_rows
from bot.service.notifications import notification, notification_rows, payer_letters, recipients
from bot.service.payments import payment_reports
from bot.service.requests import request_commands
from bot.service.requests.request import Payment, PaymentRequest, PaymentState

log = structlog.get_logger()


def lane_of(url: str, request_id: str) -> str:
    """Return the lane of a webhook: its endpoint without the query, and its request."""
    endpoint = webhook_addresses.endpoint(url)
    if endpoint.host == request_commands.INTERNAL_HOST:
        return f"{request_commands.INTERNAL_HOST}/{request_id}"
    return f"{endpoint} {request_id}"


@lru_cache(maxsize=2048)
def groups_of(lane: str) -> tuple[str, ...]:
    """Return the groups of a lane of webhooks: its endpoint, and the endpoint's host if any."""
    endpoint = lane.rpartition(" ")[0]
    host = urlsplit(endpoint).hostname
    return (endpoint, host) if host else (endpoint,)


def queue_of(channel: notification.Channel, address: str) -> queue_policy.Queue:
    """Return the queue of notifications to this URL or email address."""
    if channel is notification.Channel.EMAIL:
        return recipients.MAILS
    if channel is notification.Channel.RECEIPT:
        return payer_letters.RECEIPTS
    is_own = webhook_addresses.endpoint(address).host == request_commands.INTERNAL_HOST
    return OWN_WEBHOOKS if is_own else WEBHOOKS


WEBHOOKS = queue_policy.Queue(
    "webhooks",
    lease=60_000,
    ordered=False,
    batch_size=64,
    keep=True,
    group=groups_of,
    payloads=notification_rows.WEBHOOK_PAYLOADS,
)
"""Webhooks to other servers.

Each pair of request and endpoint has a lane that sends one message at a time, so that a receiver
reads "3 left" after "4 left". A message that waits for its next attempt doesn't delay the others.
Endpoints and hosts are groups whose widths the sender sets (service/notifications/webhooks.py), so
that peers that hang don't use all the capacity. The lease outlasts an attempt.
"""

OWN_WEBHOOKS = replace(WEBHOOKS, name="own_webhooks", group=None)
"""Webhooks to the bot's own receiver, with a lane for each request.

Only processes with the receiver send them; otherwise they wait, and no attempt is counted.
"""

QUEUES = (WEBHOOKS, OWN_WEBHOOKS, recipients.MAILS, payer_letters.RECEIPTS)

MOST_SWEPT = 500
"""Notifications of a queue deleted in one transaction, for which other transactions wait."""


def queue_notifications(
    tx: database.Transaction, request: PaymentRequest, payment: Payment
) -> None:
    """Queue the webhook and the letter that the request asks for, if any.

    Receivers dedupe by the notification ids, which sort by the time of payment. `request` is the
    request after the payment.
    """
    terms, webhook = request.terms, request.terms.webhook
    underpaid = payment.state is PaymentState.UNDERPAID
    units = request.units if terms.kind is vocabulary.Kind.LIMIT else None
    facts = {
        **payment_reports.payment_facts(request.app_id, payment),
        "user_data": payment.user_data,
        "remaining_units": units.remaining if units else None,
        "reserved_units": units.reserved or None if units else None,
        "name": payment.words.name,
        "message": payment.words.message,
        "codes_waiting": request.codes_waiting if payment.took_unit else 0,
    }
    if webhook and (webhook.events is not None or not underpaid):
        real_money: dict[str, Any] = {}
        if webhook.events is not None:
            real_money = {
                "checkout_id": payment.checkout_id,
                "paid_by": payment_reports.PaidBy.of(payment),
                "underpaid": underpaid,
            }
        report = payment_reports.WebhookReport(
            url=webhook.url, custom_parameters=webhook.custom_parameters, **real_money, **facts
        )
        _queue_webhook(tx, report, payment.completed_at)
    if terms.email and request.recipient:
        letter = payment_reports.LetterReport(
            address=terms.email,
            recipient_id=request.recipient.id,
            product=terms.product.name,
            underpaid=underpaid,
            **payment_reports.converted_facts(payment.amount, payment.currency, payment.paid),
            **facts,
        )
        _queue_letter(tx, letter, payment.completed_at)


def queue_claim(
    tx: database.Transaction, request: PaymentRequest, checkout: checkout.Checkout
) -> None:
    """Queue the webhook and the letter about a claim, if the request asks for them.

    Every address that receives letters about payments gets it, because an unanswered claim lapses.
    """
    terms, webhook, at = request.terms, request.terms.webhook, checkout.claimed_at or 0
    facts = payment_reports.checkout_facts(request, checkout)
    if webhook is not None and vocabulary.WebhookEvent.CLAIMED in (webhook.events or ()):
        paid = {
            "amount": checkout.quote.amount,
            "currency": checkout.quote.currency,
            "reference": checkout.reference or checkout.external_id,
        }
        report = payment_reports.ClaimReport(
            rail=checkout.kind,
            claimed_at=at,
            url=webhook.url,
            custom_parameters=webhook.custom_parameters,
            unproven=checkout_rows.count_unproven(tx, checkout.id),
            **facts | paid,
        )
        _queue_webhook(tx, report, at)
    if terms.email and request.recipient:
        letter = payment_reports.ClaimLetter(
            address=terms.email,
            recipient_id=request.recipient.id,
            product=terms.product.name,
            claimed_at=at,
            lapses_at=checkout.ends_at,
            **facts,
            **payment_reports.converted_facts(facts["amount"], facts["currency"], checkout.quote),
        )
        _queue_letter(tx, letter, at)


def _queue_webhook(
    tx: database.Transaction,
    report: payment_reports.WebhookReport | payment_reports.ClaimReport,
    at: int,
) -> None:
    channel, url = notification.Channel.WEBHOOK, report.url
    key = notification_rows.insert(tx, channel, url, report, at)
    outbox.put(tx, queue_of(channel, url), lane_of(url, report.request_id), report, at, key=key)


def _queue_letter(
    tx: database.Transaction,
    letter: payment_reports.LetterReport | payment_reports.ClaimLetter,
    at: int,
) -> None:
    """Queue a letter. If the address is unconfirmed, the letter is due when the link expires."""
    recipient, due_at = recipients.find(tx, id=letter.recipient_id), None
    if recipient is None:
        return
    if recipient.state is notification.RecipientState.UNCONFIRMED:
        lanes.lock(tx, recipients.MAILS, recipient.address)
        recipient = recipients.find(tx, id=recipient.id) or recipient  # may be confirmed by then
    if recipient.state is notification.RecipientState.UNCONFIRMED:
        if not recipient.asks:
            recipients.ask_confirmation(tx, recipient, letter.address, letter.request_id, at)
        due_at = max(at, recipient.lapses_at())
    key = notification_rows.insert(tx, notification.Channel.EMAIL, letter.address, letter, at)
    outbox.put(tx, recipients.MAILS, recipient.address, letter, at, key=key, due_at=due_at)


def sweep(tx: database.Transaction, before: int) -> int:
    """Delete notifications settled before `before` (epoch ms) with their attempts; return how many.

    Payments wait for the transaction, so each call deletes a bounded number. Repeat until it
    returns 0.
    """
    return sum(notification_rows.sweep(tx, queue, before, MOST_SWEPT) for queue in QUEUES)


def retry(
    tx: database.Transaction, notification_id: str, now: int, app_id: str | None = None
) -> notification.Notification:
    """Resend a notification immediately, starting with a first attempt.

    It may be settled or waiting; a notification that is being sent stays unchanged. With `app_id`
    its application asks, otherwise the operator. Raises NotFound.
    """
    found = notification_rows.find(tx, notification_id, app_id)
    queue = queue_of(found.channel, found.address)
    if outbox.revive(tx, queue, found.id, now):
        recipients.leave_letter(tx, found.id)
        actor = audit.operator() if app_id is None else audit.app(app_id)
        details = {"request": found.request_id, "was": found.state.value}
        audit.record(tx, actor, "delivery.retried", found.id, now, details)
    return notification_rows.find(tx, notification_id)


# The outcome of an attempt and its consequence: delivered, retried, or dead.


SECOND, MINUTE, HOUR = 1000, 60_000, 3_600_000
RETRIES = queue_policy.RetryTable(
    (5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR),
    jitter=200,
    longest_asked=24 * HOUR,
)
"""Retry intervals of webhooks and letters. A longer delay that an endpoint asks for is capped, so
that it can't delay its webhooks forever.
"""

LONGEST_ANSWER = 1024  # bytes
LONGEST_PROBLEM = 200  # characters

SUCCESS = range(200, 300)
"""Statuses of both protocols: RFC 9110 section 15.3, RFC 5321 section 4.2.1."""


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """The result of an attempt: an answer, or the problem that prevented one."""

    status: int | None = None
    answer: bytes = b""
    problem: str | None = None
    final: bool = False
    """True if another attempt would be useless."""

    retry_after: int = 0
    """Seconds that the peer asks to wait, 0 if it names none."""

    @property
    def delivered(self) -> bool:
        """True if the peer accepted the notification."""
        return self.status in SUCCESS

    @property
    def note(self) -> str:
        """Describe the outcome to the operator."""
        if self.problem is None:
            return f"answered {self.status}"
        return sanitize.line(self.problem, LONGEST_PROBLEM)

    def attempt(self, began: int, ended: int) -> notification.Attempt:
        """Return the attempt to store; times in epoch ms.

        Characters that could be harmful to display are removed.
        """
        text = self.answer[:LONGEST_ANSWER].decode("utf-8", "replace")
        return notification.Attempt(
            at=began,
            took=max(0, ended - began),
            status=self.status,
            answer=sanitize.text(text) if self.status is not None else None,
            problem=self.note if self.problem is not None else None,
        )


class AttemptRecorder:
    """Stores the attempts of one queue, each in one transaction with its consequence."""

    def __init__(
        self,
        db: database.Database,
        channel: notification.Channel,
        queue: queue_policy.Queue,
        now: Callable[[], int],
    ) -> None:
        self.queue = queue
        self._db, self._channel, self._now = db, channel, now

    async def settle(
        self, message: outbox.Message, outcome: AttemptOutcome, began: int, host: str
    ) -> None:
        """Settle an attempt begun at `began` (epoch ms); `host` is for the log."""
        now = self._now()
        attempt = outcome.attempt(began, now)
        delay = None if outcome.final else RETRIES.delay(message.attempts, outcome.retry_after)
        end: Callable[[database.Transaction, queue_policy.Queue, outbox.Message], bool]
        if outcome.delivered:
            name, end = "delivered", partial(outbox.done, now=now)
        elif delay is None:
            name, end = "dead", partial(outbox.dead_letter, now=now, note=outcome.note)
        else:
            name, end = "failed", partial(outbox.retry, due_at=now + delay, note=outcome.note)

        def store(tx: database.Transaction) -> bool:
            """Settle the message and store the attempt; return whether the lease was still held.

            An attempt is stored even if its lease was lost, because the peer has seen it. It is not
            stored twice if only the response to an earlier commit was lost.
            """
            ours = end(tx, self.queue, message)
            if not ours and notification_rows.has_attempt(tx, message.id, attempt):
                return True
            # The lane's lock keeps attempt numbers unique.
            notification_rows.add_attempt(tx, message.id, attempt)
            self._settled(tx, message, name if ours else "late")
            return ours

        ours = await self._db.transaction_until_stored(store)
        facts: dict[str, Any] = {
            "delivery": message.id,
            "request": message.body.request_id,
            "host": host,
            "attempt": message.attempts,
            "took_ms": attempt.took,
        }
        if ours and outcome.delivered:
            log.info(f"{self._channel} delivered", status=outcome.status, **facts)  # noqa: G004 - structlog
            return
        facts["why"] = outcome.note
        if ours and name == "failed":
            facts["again_in_s"] = (delay or 0) // 1000
        log.warning(f"{self._channel} {name if ours else 'came too late'}", **facts)  # noqa: G004 - structlog

    def settle_dead_letter(self, tx: database.Transaction, message: outbox.Message) -> None:
        """Count a notification that became a dead letter, and settle the members of its letter."""
        self._settled(tx, message, "dead")

    def _settled(self, tx: database.Transaction, message: outbox.Message, name: str) -> None:
        if self._channel is notification.Channel.EMAIL:
            recipients.settle_letter(tx, message.id, self._now())
        tx.count("delivery_attempts", self._channel.value, name)
