"""What the holder of a payment is shown: the receipt's page, its API, its email and its download.

Nothing for money that took no unit or was paid back. Only who has the receipt's address may see it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.service.goods import codes, deliveries, files
from bot.service.model.goods.delivered import Received, progress, shares
from bot.service.model.request import DeliveryKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.core.database.database import Database, Transaction
    from bot.service.model.goods.delivered import DeliveryProgress
    from bot.service.model.request import Payment


async def read(db: Database, payment: Payment) -> Received | None:
    """Return what the holder of a payment is shown, None where nothing is delivered."""
    if payment.first_unit is None:
        return None
    return await db.read(lambda tx: find(tx, payment))


async def read_progress(
    db: Database, request_id: str, payments: Sequence[Payment]
) -> list[DeliveryProgress | None]:
    """Return for each of a request's payments whether its payer has what was bought."""
    if not payments:
        return []
    what, last = await db.read(
        lambda tx: (deliveries.find_all(tx, request_id), codes.last_unit(tx, request_id))
    )
    return [progress(payment, what, last) for payment in payments]


def find(tx: Transaction, payment: Payment) -> Received | None:
    """Return what `read` does, within a transaction."""
    found = shares(payment, deliveries.find_all(tx, payment.request_id))
    if not found:
        return None
    text, file, waiting = None, None, 0
    own: tuple[str, ...] = ()
    for units, one in found:
        if one.kind is DeliveryKind.CODES:
            assigned = codes.of_units(tx, payment.request_id, units)
            own += assigned
            waiting += len(units) - len(assigned)
        elif one.file_id is not None:
            file = files.find(tx, one.file_id)
        else:
            text = one.text
    return Received(text, file, own, waiting)
