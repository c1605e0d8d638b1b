"""The queues of webhooks and letters: filled by payments, resent on demand, swept."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from bot.core import errors
from bot.core.database import database
from bot.core.net import webhook_addresses
from bot.core.ops import audit
from bot.core.outbox import lanes, outbox, queue_policy
from bot.interface import vocabulary
from bot.service.checkouts import checkout, checkout_rows
from bot.service.notifications import notification, notification_rows, payer_letters, recipients
from bot.service.payments import payment_reports
from bot.service.requests import request_commands
from bot.service.requests.request import Payment, PaymentRequest, PaymentState, Webhook


def lane_of(url: str, request_id: str) -> str:
    """Return the lane of a webhook: its endpoint without the query, and its request."""
    endpoint = webhook_addresses.endpoint(url)
    if endpoint.host == request_commands.INTERNAL_HOST:
        return f"{request_commands.INTERNAL_HOST}/{request_id}"
    return f"{endpoint} {request_id}"


@lru_cache(maxsize=2048)
def groups_of(lane: str) -> tuple[str, ...]:
    """Return the groups of a lane of webhooks: its endpoint, and the endpoint's host if it has one.

    Lanes of earlier versions have no request.
    """
    endpoint = lane.rpartition(" ")[0] or lane
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


BATCH_SIZE = 64
"""Webhooks that a worker claims together."""

WEBHOOKS = queue_policy.Queue(
    "webhooks",
    lease=60_000,
    ordered=False,
    batch_size=BATCH_SIZE,
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

OWN_WEBHOOKS = queue_policy.Queue(
    "own_webhooks",
    lease=60_000,
    ordered=False,
    batch_size=BATCH_SIZE,
    keep=True,
    payloads=notification_rows.WEBHOOK_PAYLOADS,
)
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
    terms, at = request.terms, payment.completed_at
    underpaid = payment.state is PaymentState.UNDERPAID
    if terms.webhook and (terms.webhook.events is not None or not underpaid):
        _put_webhook(tx, _webhook_report(request, terms.webhook, payment), at)
    recipient = recipients.find(tx, request.recipient.id) if request.recipient else None
    if terms.email and recipient:
        letter = payment_reports.LetterReport(
            address=terms.email,
            recipient_id=recipient.id,
            product=terms.product.name,
            underpaid=underpaid,
            **payment_reports.converted_facts(payment.amount, payment.currency, payment.paid),
            **_facts(request, payment),
        )
        _queue_letter(tx, letter, recipient, at)


def queue_claim(
    tx: database.Transaction, request: PaymentRequest, checkout: checkout.Checkout
) -> None:
    """Queue the webhook and the letter about a claim, if the request asks for them.

    Every address that receives letters about payments gets it, because an unanswered claim lapses.
    """
    webhook = request.terms.webhook
    if webhook is not None and vocabulary.WebhookEvent.CLAIMED in (webhook.events or ()):
        _queue_claim_webhook(tx, request, checkout, webhook)
    recipient = recipients.find(tx, request.recipient.id) if request.recipient else None
    if request.terms.email and recipient:
        letter = _claim_letter(request, checkout, recipient, request.terms.email)
        _queue_letter(tx, letter, recipient, letter.claimed_at)


def _queue_claim_webhook(
    tx: database.Transaction, request: PaymentRequest, checkout: checkout.Checkout, webhook: Webhook
) -> None:
    at = checkout.claimed_at or 0
    report = payment_reports.ClaimReport(
        app_id=request.app_id,
        request_id=request.id,
        checkout_id=checkout.id,
        rail=checkout.kind,
        amount=checkout.quote.amount,
        currency=checkout.quote.currency,
        reference=checkout.reference or checkout.external_id,
        claimed_at=at,
        url=webhook.url,
        custom_parameters=webhook.custom_parameters,
        unproven=checkout_rows.count_unproven(tx, checkout.id),
    )
    _put_webhook(tx, report, at)


def _claim_letter(
    request: PaymentRequest,
    checkout: checkout.Checkout,
    recipient: notification.Recipient,
    address: str,
) -> payment_reports.ClaimLetter:
    terms = request.terms
    return payment_reports.ClaimLetter(
        address=address,
        recipient_id=recipient.id,
        product=terms.product.name,
        claimed_at=checkout.claimed_at or 0,
        lapses_at=checkout.ends_at,
        **payment_reports.checkout_facts(request, checkout),
        **payment_reports.converted_facts(
            checkout.order.amount(terms), terms.currency, checkout.quote
        ),
    )


def _webhook_report(
    request: PaymentRequest, webhook: Webhook, payment: Payment
) -> payment_reports.WebhookReport:
    real_money: dict[str, Any] = {}
    if webhook.events is not None:
        real_money = {
            "checkout_id": payment.checkout_id,
            "paid_by": payment_reports.PaidBy.of(payment),
            "underpaid": payment.state is PaymentState.UNDERPAID,
        }
    return payment_reports.WebhookReport(
        url=webhook.url,
        custom_parameters=webhook.custom_parameters,
        **real_money,
        **_facts(request, payment),
    )


def _put_webhook(
    tx: database.Transaction,
    report: payment_reports.WebhookReport | payment_reports.ClaimReport,
    at: int,
) -> None:
    notification_id = notification_rows.insert(tx, report, outbox.new_id(at))
    queue = queue_of(notification.Channel.WEBHOOK, report.url)
    lane = lane_of(report.url, report.request_id)
    outbox.put(tx, queue, lane, report, at, key=notification_id)


def _queue_letter(
    tx: database.Transaction,
    letter: payment_reports.LetterReport | payment_reports.ClaimLetter,
    recipient: notification.Recipient,
    at: int,
) -> None:
    """Queue a letter. If the address is unconfirmed, the letter is due when the link expires."""
    due_at = None
    if recipient.state is notification.RecipientState.UNCONFIRMED:
        lanes.lock(tx, recipients.MAILS, recipient.address)
        recipient = recipients.find(tx, recipient.id) or recipient  # may be confirmed by then
    if recipient.state is notification.RecipientState.UNCONFIRMED:
        if not recipient.asks:
            recipients.ask_confirmation(tx, recipient, letter.address, letter.request_id, at)
        due_at = max(at, recipient.lapses_at())
    notification_id = notification_rows.insert(tx, letter, outbox.new_id(at))
    outbox.put(
        tx, recipients.MAILS, recipient.address, letter, at, key=notification_id, due_at=due_at
    )


def _facts(request: PaymentRequest, payment: Payment) -> dict[str, Any]:
    """Return the fields that webhooks and letters share."""
    units = request.units if request.terms.kind is vocabulary.Kind.LIMIT else None
    return {
        **payment_reports.payment_facts(request.app_id, payment),
        "user_data": payment.user_data,
        "remaining_units": units.remaining if units else None,
        "reserved_units": units.reserved or None if units else None,
        "name": payment.words.name,
        "message": payment.words.message,
        "codes_waiting": request.codes_waiting if payment.took_unit else 0,
    }


def sweep(tx: database.Transaction, before: int) -> int:
    """Delete notifications settled before `before` (epoch ms) with their attempts; return how many.

    Payments wait for the transaction, so each call deletes a bounded number. Repeat until it
    returns 0.
    """
    return sum(notification_rows.sweep(tx, queue, before, MOST_SWEPT) for queue in QUEUES)


def find(tx: database.Transaction, notification_id: str) -> notification.Notification:
    """Return a notification of any application. Raises NotFound."""
    return _known(notification_rows.find(tx, notification_id), notification_id)


def retry(tx: database.Transaction, notification_id: str, now: int) -> notification.Notification:
    """Resend a notification immediately for the operator, starting with a first attempt.

    It may be settled or waiting; a notification that is being sent stays unchanged. Raises
    NotFound.
    """
    _revive(tx, find(tx, notification_id), now, audit.operator())
    return find(tx, notification_id)


def retry_own(
    tx: database.Transaction, app_id: str, notification_id: str, now: int
) -> notification.Notification:
    """Resend a notification for its application. Raises NotFound."""
    own = find_own(tx, app_id, notification_id)
    _revive(tx, own, now, audit.app(app_id))
    return find(tx, notification_id)


def find_own(
    tx: database.Transaction, app_id: str, notification_id: str
) -> notification.Notification:
    """Return a notification of the application. Raises NotFound."""
    return _known(notification_rows.find_of_app(tx, app_id, notification_id), notification_id)


def _revive(
    tx: database.Transaction, found: notification.Notification, now: int, actor: str
) -> None:
    queue = queue_of(found.channel, found.address)
    if outbox.revive(tx, queue, found.id, now):
        notification_rows.leave_letter(tx, found.id)
        details = {"request": found.request_id, "was": found.state.value}
        audit.record(tx, actor, "delivery.retried", found.id, now, details)


def _known(
    found: notification.Notification | None, notification_id: str
) -> notification.Notification:
    if found is None:
        raise errors.NotFound(f"There is no delivery {notification_id}.")
    return found
