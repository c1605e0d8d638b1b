"""Messages of a restored outbox that nobody can read: set aside, so that their queues go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.errors import MoneyError, Unreadable
from bot.core.money import amounts
from bot.core.outbox.payload_kinds import read_object
from bot.service.model.payment_reports import PaymentReport
from bot.service.rails.rail import SETTLEMENTS
from bot.service.usecases.delivery_queues import OWN_WEBHOOKS, WEBHOOKS
from bot.service.usecases.letter_limits import MAILS

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
QUEUES = {queue.name: queue for queue in (WEBHOOKS, OWN_WEBHOOKS, MAILS, SETTLEMENTS)}
"""The service's queues, whose messages have known payloads."""


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
    queue = QUEUES.get(row["queue"])
    try:
        body = read_object(row["body"])
        payload = queue.decode(row["body"]) if queue else None
    except Unreadable:
        return False
    if queue is None:
        return True
    fields = read_object(queue.encode(payload))  # differs where a value was of another type
    is_exact = all(body[name] == value for name, value in fields.items())
    return is_exact and (not isinstance(payload, PaymentReport) or _is_possible(payload))


def _is_possible(report: PaymentReport) -> bool:
    numbers = [report.amount, report.completed_at, report.remaining_units or 0]
    if not all(0 <= number <= amounts.MAX_MINOR for number in numbers):
        return False
    try:
        amounts.exponent(report.currency)
    except MoneyError:
        return False
    return True
