"""What is owed of payments: put in with them, looked at and sent again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bot.core.errors import NotFound
from bot.core.net import addresses
from bot.core.ops import audit
from bot.core.outbox import outbox
from bot.core.outbox.lanes import Queue
from bot.service.model.delivery import Channel
from bot.service.model.recipient import RecipientState
from bot.service.model.request import Kind
from bot.service.store import deliveries as store
from bot.service.store import joined_letters
from bot.service.store import recipients as recipient_store
from bot.service.usecases import recipient_consent
from bot.service.usecases.letter_limits import MAILS
from bot.service.usecases.request_commands import INTERNAL_HOST

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.service.model.delivery import Attempt, Delivery, DeliveryState
    from bot.service.model.request import Payment, PaymentRequest


def lane_of(url: str, request_id: str) -> str:
    """Give the lane of a webhook: its endpoint, without the query that may hold a secret.

    The bot's own receiver has a lane a request.
    """
    endpoint = addresses.endpoint(url)
    if endpoint.host == INTERNAL_HOST:
        return f"{INTERNAL_HOST}/{request_id}"
    return str(endpoint)


def queue_of(channel: Channel, address: str) -> Queue:
    """Return the queue that deliveries to this URL or mail address wait in."""
    if channel is Channel.EMAIL:
        return MAILS
    return OWN_WEBHOOKS if addresses.endpoint(address).host == INTERNAL_HOST else WEBHOOKS


def _host(lane: str) -> str | None:
    return urlsplit(lane).hostname


WEBHOOKS = Queue(
    "webhooks",
    lease=60_000,
    ordered=False,
    width=8,
    keep=True,
    group=_host,
    group_width=16,
)
"""A lane an endpoint, so that one that hangs holds up no other of its server either, and a bound
for its host, so that many that hang don't take all the room; the lease outlasts a delivery.
Endpoints have no lane a request: many requests of one that hangs would take all the room there is.
"""

OWN_WEBHOOKS = Queue("own_webhooks", lease=60_000, ordered=False, keep=True)
"""Webhooks to the bot's own receiver, worked only by processes that have one: where none runs they
wait, untried. A lane a request, one at a time, so that the seller reads "3 left" after "4 left".
One that waits for its next attempt is passed all the same.
"""

QUEUES = (WEBHOOKS, OWN_WEBHOOKS, MAILS)

ADDRESSES = {Channel.WEBHOOK: "url", Channel.EMAIL: "address"}
"""Under which name the outbox keeps where it goes."""

SHOWN = 100
"""How many deliveries a list shows unless asked for more."""

FORGOTTEN = 500
"""How many of a queue are dropped in one transaction, for others wait for it."""


def queue_deliveries(tx: Transaction, request: PaymentRequest, payment: Payment) -> None:
    """Owe what the request asks to be told of a payment: its webhook, its e-mail, or neither.

    Their ids, which receivers dedupe by, sort by time of payment. `request` is as the payment
    left it.
    """
    units = request.units if request.terms.kind is Kind.LIMIT else None
    webhook, email = request.terms.webhook, request.terms.email
    body: dict[str, Any] = {
        "appId": request.app_id,
        "requestId": request.id,
        "transactionId": payment.id,
        "userData": payment.user_data,
        "amount": payment.amount,
        "currency": payment.currency,
        "remainingUnits": units.remaining if units else None,
        "reservedUnits": units.reserved or None if units else None,
        "completedAt": payment.completed_at,
        "oversold": payment.oversold,
    }
    if webhook:
        sent = {"url": webhook.url, "customParameters": webhook.custom_parameters}
        lane = lane_of(webhook.url, request.id)
        _owe(tx, Channel.WEBHOOK, lane, body | sent)
    if email:
        sent = {"address": email, "product": request.terms.product.name, **_paid(payment)}
        _owe_letter(tx, request, body | sent)


def _owe_letter(tx: Transaction, request: PaymentRequest, body: dict[str, Any]) -> None:
    """Owe an e-mail; while nobody has confirmed the address, it waits until the link is over."""
    it = recipient_store.find(tx, request.recipient.id) if request.recipient else None
    if it is None:
        return  # erased
    at, due_at = body["completedAt"], None
    if it.state is RecipientState.ASKED:
        if not it.asks:
            recipient_consent.ask_confirmation(tx, it, body["address"], request.id, at)
        due_at = max(at, it.lapses_at())
    body |= {"recipientId": it.id}
    _owe(tx, Channel.EMAIL, it.address, body, due_at)


def _owe(
    tx: Transaction, channel: Channel, lane: str, body: dict[str, Any], due_at: int | None = None
) -> None:
    at, address = body["completedAt"], body[ADDRESSES[channel]]
    delivery_id = f"{channel.value}-{outbox.new_id(at)}"
    store.insert(tx, delivery_id, channel, address, body)
    queue = queue_of(channel, address)
    outbox.put(tx, queue, lane, body, at, key=delivery_id, due_at=due_at)


def _paid(payment: Payment) -> dict[str, Any]:
    """Give what the payer gave, where that is in another currency than the price."""
    paid = payment.paid
    if (paid.amount, paid.currency) == (payment.amount, payment.currency):
        return {}
    return {"paidAmount": paid.amount, "paidCurrency": paid.currency}


def every(
    tx: Transaction, limit: int = SHOWN, state: DeliveryState | None = None
) -> list[Delivery]:
    """Give the operator the deliveries of all applications, the newest first."""
    return store.every(tx, limit, state)


def show(tx: Transaction, delivery_id: str) -> Delivery:
    """Give the operator one delivery; NotFound where there is none of this id."""
    return _there(store.find(tx, delivery_id), delivery_id)


def attempts(tx: Transaction, delivery_id: str) -> list[Attempt]:
    """Give the operator the attempts of a delivery, in their order."""
    return store.attempts(tx, delivery_id)


def retry(tx: Transaction, delivery_id: str, now: int) -> Delivery:
    """Send a delivery at once and from its first attempt on, settled or waiting, for the operator.

    Raises NotFound; one that is under way stays as it is.
    """
    _revive(tx, show(tx, delivery_id), now, audit.operator())
    return show(tx, delivery_id)


def retry_own(tx: Transaction, app_id: str, delivery_id: str, now: int) -> Delivery:
    """Do the same for an application; NotFound where the delivery is another's."""
    _revive(tx, _own(tx, app_id, delivery_id), now, audit.app(app_id))
    return _own(tx, app_id, delivery_id)


def sweep(tx: Transaction, before: int) -> int:
    """Drop deliveries settled before `before` (epoch ms) with all that is known of them; how many.

    Some at a time, lest payments wait for it: call it again until it gives 0.
    """
    return sum(store.sweep(tx, queue.name, before, FORGOTTEN) for queue in QUEUES)


def _revive(tx: Transaction, delivery: Delivery, now: int, actor: str) -> None:
    queue = queue_of(delivery.channel, delivery.address)
    if outbox.revive(tx, queue, delivery.id, now):
        joined_letters.leave_letter(tx, delivery.id)
        details = {"request": delivery.request_id, "was": delivery.state.value}
        audit.record(tx, actor, "delivery.retried", delivery.id, now, details)


def _own(tx: Transaction, app_id: str, delivery_id: str) -> Delivery:
    return _there(store.find_of_app(tx, app_id, delivery_id), delivery_id)


def _there(delivery: Delivery | None, delivery_id: str) -> Delivery:
    if delivery is None:
        raise NotFound(f"There is no delivery {delivery_id}.")
    return delivery
