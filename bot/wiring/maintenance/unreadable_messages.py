"""Messages of a restored outbox that nobody can read: set aside, so that their queues go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.core import exact_json
from bot.core.errors import MoneyError
from bot.core.money import amounts
from bot.service.usecases.delivery_queues import OWN_WEBHOOKS, WEBHOOKS

if TYPE_CHECKING:
    from bot.core.database.database import Row, Transaction

AT_ONCE = 500
"""Messages read at a time."""

OWED = (
    "SELECT id, queue, body FROM outbox WHERE state IN ('waiting', 'leased') AND id > :after"
    " ORDER BY id LIMIT :most"
)
ASIDE = (
    "UPDATE outbox SET state = 'dead', settled_at = :now, note = 'its body could not be read',"
    " leased_until = NULL, lease = NULL WHERE id = :id"
)
PAYMENT = {
    "appId": str,
    "requestId": str,
    "transactionId": str,
    "url": str,
    "userData": dict,
    "currency": str,
    "amount": int,
    "completedAt": int,
    "remainingUnits": int | None,
    "reservedUnits": int | None,
    "oversold": bool | None,
}
"""Fields of a webhook that waits; a later version may have more."""


def bury_unreadable(tx: Transaction, now: int) -> int:
    """Settle as dead what is owed and can't be read; return how much that is."""
    found, after = 0, ""
    while rows := tx.query(OWED, after=after, most=AT_ONCE):
        broken = [row["id"] for row in rows if not _is_readable(row)]
        for message_id in broken:
            tx.execute(ASIDE, id=message_id, now=now)
        found, after = found + len(broken), rows[-1]["id"]
    return found


def _is_readable(row: Row) -> bool:
    try:
        body = exact_json.loads(row["body"])
    except (ValueError, TypeError):
        return False
    if not isinstance(body, dict):
        return False
    return row["queue"] not in {WEBHOOKS.name, OWN_WEBHOOKS.name} or _tells_payment(body)


def _tells_payment(body: dict[str, Any]) -> bool:
    if not all(isinstance(body.get(name), kind) for name, kind in PAYMENT.items()):
        return False
    numbers = [body["amount"], body["completedAt"], body["remainingUnits"] or 0]
    if not all(0 <= number <= amounts.MAX_MINOR for number in numbers):
        return False
    try:
        amounts.exponent(body["currency"])
    except MoneyError:
        return False
    return True
