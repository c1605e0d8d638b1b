"""Webhooks on their way: put in with the payment, looked at and sent again by the operator."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bot.core import outbox
from bot.core.errors import NotFound
from bot.core.lanes import Queue
from bot.service.store import apps as store
from bot.service.usecases.requests import INTERNAL_HOST

if TYPE_CHECKING:
    from bot.core.db import Row, Transaction
    from bot.service.model.request import Payment, PaymentRequest


def _width(lane: str) -> int | None:
    return 1 if lane.startswith(f"{INTERNAL_HOST}/") else None


WEBHOOKS = Queue("webhooks", lease=60_000, ordered=False, width=8, keep=True, lane_width=_width)
"""A lane an endpoint, so that a slow one holds up no other; the lease outlasts a delivery.

The bot's own receiver has a lane a request, one at a time, so that the seller reads "3 left" after
"4 left". One that waits for its next attempt is passed all the same. Endpoints of others have no
such lanes: many requests of one that hangs would take all the room there is.
"""

SHOWN = 100
"""How many deliveries a list shows unless asked for more."""

STATES = {"waiting": "waiting", "leased": "sending", "done": "delivered", "dead": "dead"}


@dataclass(frozen=True, slots=True)
class Delivery:
    """A webhook as the operator sees it; times in UTC epoch ms, `next_at` while it waits."""

    id: str
    request_id: str
    transaction_id: str
    address: str
    state: str
    attempts: int
    created_at: int
    next_at: int | None
    settled_at: int | None
    note: str | None


def put(tx: Transaction, request: PaymentRequest, payment: Payment, remaining: int | None) -> None:
    """Owe the webhook of a payment; its id, which receivers dedupe by, sorts by time of payment."""
    webhook = request.terms.webhook
    if webhook is None:
        return
    body: dict[str, Any] = {
        "appId": request.app_id,
        "url": webhook.url,
        "requestId": request.id,
        "transactionId": payment.id,
        "customParameters": webhook.custom_parameters,
        "userData": payment.user_data,
        "amount": payment.amount,
        "currency": payment.currency,
        "remainingUnits": remaining,
        "completedAt": payment.completed_at,
    }
    host = (urlsplit(webhook.url).hostname or "").rstrip(".")
    lane = f"{host}/{request.id}" if host == INTERNAL_HOST else host
    at = payment.completed_at
    outbox.put(tx, WEBHOOKS, lane, body, at, key=f"webhook-{outbox.new_id(at)}")


def every(tx: Transaction, limit: int = SHOWN) -> list[Delivery]:
    """Give the newest deliveries first."""
    return [_delivery(row) for row in store.deliveries(tx, WEBHOOKS.name, limit)]


def show(tx: Transaction, delivery_id: str) -> Delivery:
    """Give one delivery; NotFound where there is none of this id."""
    row = store.delivery(tx, WEBHOOKS.name, delivery_id)
    if row is None:
        raise NotFound(f"There is no delivery {delivery_id}.")
    return _delivery(row)


def retry(tx: Transaction, delivery_id: str, now: int) -> Delivery:
    """Send a delivery that is settled once more, from its first attempt on.

    Raises NotFound; one that still waits or is under way stays as it is.
    """
    show(tx, delivery_id)
    outbox.revive(tx, WEBHOOKS, delivery_id, now)
    return show(tx, delivery_id)


def _delivery(row: Row) -> Delivery:
    body = json.loads(row["body"])
    return Delivery(
        id=row["id"],
        request_id=body["requestId"],
        transaction_id=body["transactionId"],
        address=body["url"],
        state=STATES[row["state"]],
        attempts=row["attempts"],
        created_at=row["created_at"],
        next_at=row["due_at"] if row["state"] == "waiting" else None,
        settled_at=row["settled_at"],
        note=row["note"],
    )
