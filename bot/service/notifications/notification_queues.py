"""The queues of webhooks and letters: filled by payments, sent again on demand, swept."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from bot.core import errors
from bot.core.database import database
from bot.core.net import webhook_addresses
from bot.core.ops import audit
from bot.core.outbox import lanes, outbox, queue_policy
from bot.service.checkouts import checkout, checkout_rows
from bot.service.notifications import notification, notification_rows, payer_letters, recipients
from bot.service.payments import payment_reports
from bot.service.requests import request_commands
from bot.service.requests.request import (
    Kind,
    Payment,
    PaymentRequest,
    PaymentState,
    Webhook,
    WebhookEvent,
)


def lane_of(url: str, request_id: str) -> str:
    """Return the lane of a webhook: its endpoint, without secrets of the query, and its request."""
    endpoint = webhook_addresses.endpoint(url)
    if endpoint.host == request_commands.INTERNAL_HOST:
        return f"{request_commands.INTERNAL_HOST}/{request_id}"
    return f"{endpoint} {request_id}"


@lru_cache(maxsize=2048)
def groups_of(lane: str) -> tuple[str, ...]:
    """Return the groups of a lane of webhooks: its endpoint, and the host of that, if it has one.

    A lane that an earlier version put has no request.
    """
    endpoint = lane.rpartition(" ")[0] or lane
    host = urlsplit(endpoint).hostname
    return (endpoint, host) if host else (endpoint,)


def queue_of(channel: notification.Channel, address: str) -> queue_policy.Queue:
    """Return the queue of deliveries to this URL or email address."""
    if channel is notification.Channel.EMAIL:
        return recipients.MAILS
    if channel is notification.Channel.RECEIPT:
        return payer_letters.RECEIPTS
    return (
        OWN_WEBHOOKS
        if webhook_addresses.endpoint(address).host == request_commands.INTERNAL_HOST
        else WEBHOOKS
    )


BATCH_SIZE = 64
"""Webhooks of a request that are claimed together."""

WEBHOOKS = queue_policy.Queue(
    "webhooks",
    lease=60_000,
    ordered=False,
    batch_size=BATCH_SIZE,
    keep=True,
    group=groups_of,
    payloads=notification_rows.WEBHOOK_PAYLOADS,
)
"""A lane a request and endpoint, one message at a time, so that its receiver reads "3 left" after
"4 left". A message that waits for its next attempt does not hold up the others. An endpoint and a
host are groups whose widths the sender sets (service/notifications/webhooks.py), so that those
that hang don't take every place; the lease outlasts a delivery.
"""

OWN_WEBHOOKS = queue_policy.Queue(
    "own_webhooks",
    lease=60_000,
    ordered=False,
    batch_size=BATCH_SIZE,
    keep=True,
    payloads=notification_rows.WEBHOOK_PAYLOADS,
)
"""Webhooks to the bot's own receiver, performed only by processes that have one; where none runs,
they wait without an attempt. A lane a request, as above.
"""

QUEUES = (WEBHOOKS, OWN_WEBHOOKS, recipients.MAILS, payer_letters.RECEIPTS)

SWEPT = 500
"""Deliveries of a queue that are deleted in one transaction: other transactions wait for it."""


def queue_notifications(
    tx: database.Transaction, request: PaymentRequest, payment: Payment
) -> None:
    """Queue the webhook and the letter that the request asks for, if any.

    Their ids, by which receivers dedupe, sort by time of payment. `request` is as the payment
    left it.
    """
    terms, at = request.terms, payment.completed_at
    underpaid = payment.state is PaymentState.UNDERPAID
    if terms.webhook and (terms.webhook.events is not None or not underpaid):
        webhook = _webhook_report(request, terms.webhook, payment)
        _put_webhook(tx, webhook, notification_rows.insert(tx, webhook, outbox.new_id(at)), at)
    recipient = recipients.find(tx, request.recipient.id) if request.recipient else None
    if terms.email and recipient:
        letter = _payment_letter(request, payment, recipient, terms.email)
        _queue_letter(tx, letter, recipient, at)


def queue_claim(
    tx: database.Transaction, request: PaymentRequest, checkout: checkout.Checkout
) -> None:
    """Queue the webhook of a checkout just claimed, and the letter, if the request asks for them.

    The letter goes to every address that payments are reported to: a claim lapses without an
    answer.
    """
    webhook = request.terms.webhook
    if webhook is not None and WebhookEvent.CLAIMED in (webhook.events or ()):
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
    _put_webhook(tx, report, notification_rows.insert(tx, report, outbox.new_id(at)), at)


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
    notification_id: str,
    at: int,
) -> None:
    lane, queue = (
        lane_of(report.url, report.request_id),
        queue_of(notification.Channel.WEBHOOK, report.url),
    )
    outbox.put(tx, queue, lane, report, at, key=notification_id)


def _payment_letter(
    request: PaymentRequest, payment: Payment, recipient: notification.Recipient, address: str
) -> payment_reports.LetterReport:
    return payment_reports.LetterReport(
        address=address,
        recipient_id=recipient.id,
        product=request.terms.product.name,
        underpaid=payment.state is PaymentState.UNDERPAID,
        **payment_reports.converted_facts(payment.amount, payment.currency, payment.paid),
        **_facts(request, payment),
    )


def _queue_letter(
    tx: database.Transaction,
    letter: payment_reports.LetterReport | payment_reports.ClaimLetter,
    recipient: notification.Recipient,
    at: int,
) -> None:
    """Queue a letter, due when the confirmation link expires while the address is unconfirmed."""
    due_at = None
    if recipient.state is notification.RecipientState.UNCONFIRMED:
        lanes.lock(tx, recipients.MAILS, recipient.address)
        recipient = recipients.find(tx, recipient.id) or recipient  # confirmed meanwhile, perhaps
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
    units = request.units if request.terms.kind is Kind.LIMIT else None
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
    """Delete deliveries settled before `before` (epoch ms) with their attempts; return how many.

    Deletes a bounded number, because payments wait for the transaction: repeat it until it is 0.
    """
    return sum(notification_rows.sweep(tx, queue, before, SWEPT) for queue in QUEUES)


def find(tx: database.Transaction, notification_id: str) -> notification.Notification:
    """Return a delivery of any application. Raises NotFound."""
    return _known(notification_rows.find(tx, notification_id), notification_id)


def retry(tx: database.Transaction, notification_id: str, now: int) -> notification.Notification:
    """Send a delivery at once and from its first attempt, settled or waiting, for the operator.

    Raises NotFound; a delivery under way stays as it is.
    """
    _revive(tx, find(tx, notification_id), now, audit.operator())
    return find(tx, notification_id)


def retry_own(
    tx: database.Transaction, app_id: str, notification_id: str, now: int
) -> notification.Notification:
    """Send a delivery again for its application. Raises NotFound for another's delivery."""
    own = find_own(tx, app_id, notification_id)
    _revive(tx, own, now, audit.app(app_id))
    return find(tx, notification_id)


def find_own(
    tx: database.Transaction, app_id: str, notification_id: str
) -> notification.Notification:
    """Return a delivery of the application. Raises NotFound."""
    return _known(notification_rows.find_of_app(tx, app_id, notification_id), notification_id)


def _revive(
    tx: database.Transaction, delivery: notification.Notification, now: int, actor: str
) -> None:
    queue = queue_of(delivery.channel, delivery.address)
    if outbox.revive(tx, queue, delivery.id, now):
        notification_rows.leave_letter(tx, delivery.id)
        details = {"request": delivery.request_id, "was": delivery.state.value}
        audit.record(tx, actor, "delivery.retried", delivery.id, now, details)


def _known(
    delivery: notification.Notification | None, notification_id: str
) -> notification.Notification:
    if delivery is None:
        raise errors.NotFound(f"There is no delivery {notification_id}.")
    return delivery
