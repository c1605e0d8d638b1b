"""Deliveries sent again, for the operator and for applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.errors import NotFound
from bot.core.ops import audit
from bot.core.outbox import outbox
from bot.service.store import deliveries, joined_letters
from bot.service.usecases.delivery_queues import queue_of

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.service.model.delivery import Delivery


def find(tx: Transaction, delivery_id: str) -> Delivery:
    """Return a delivery of any application. Raises NotFound."""
    return _known(deliveries.find(tx, delivery_id), delivery_id)


def retry(tx: Transaction, delivery_id: str, now: int) -> Delivery:
    """Send a delivery at once and from its first attempt, settled or waiting, for the operator.

    Raises NotFound; a delivery under way stays as it is.
    """
    _revive(tx, find(tx, delivery_id), now, audit.operator())
    return find(tx, delivery_id)


def retry_own(tx: Transaction, app_id: str, delivery_id: str, now: int) -> Delivery:
    """Send a delivery again for its application. Raises NotFound for another's delivery."""
    _revive(tx, _find_own(tx, app_id, delivery_id), now, audit.app(app_id))
    return _find_own(tx, app_id, delivery_id)


def _revive(tx: Transaction, delivery: Delivery, now: int, actor: str) -> None:
    queue = queue_of(delivery.channel, delivery.address)
    if outbox.revive(tx, queue, delivery.id, now):
        joined_letters.leave_letter(tx, delivery.id)
        details = {"request": delivery.request_id, "was": delivery.state.value}
        audit.record(tx, actor, "delivery.retried", delivery.id, now, details)


def _find_own(tx: Transaction, app_id: str, delivery_id: str) -> Delivery:
    return _known(deliveries.find_of_app(tx, app_id, delivery_id), delivery_id)


def _known(delivery: Delivery | None, delivery_id: str) -> Delivery:
    if delivery is None:
        raise NotFound(f"There is no delivery {delivery_id}.")
    return delivery
