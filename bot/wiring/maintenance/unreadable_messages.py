"""Queued messages of a restored database that can't be read: they become dead letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.errors import MoneyError, Unreadable
from bot.core.money import amounts
from bot.core.outbox import bulk_changes, queries
from bot.core.outbox.payload_kinds import read_object
from bot.service.model.payment_reports import PaymentReport
from bot.service.rails.rail import SETTLEMENTS
from bot.service.usecases.delivery_queues import OWN_WEBHOOKS, WEBHOOKS
from bot.service.usecases.letter_limits import MAILS

if TYPE_CHECKING:
    from bot.core.database.database import Transaction

BATCH = 500
"""Messages read at a time."""

UNREADABLE = "its body could not be read"
"""The note of such a message."""

QUEUES = {queue.name: queue for queue in (WEBHOOKS, OWN_WEBHOOKS, MAILS, SETTLEMENTS)}
"""The service's queues, whose messages have known payloads."""


def bury_unreadable(tx: Transaction, now: int) -> int:
    """Make dead letters of the queued messages that can't be read; return their number."""
    found, after = 0, ""
    while messages := queries.unsettled_texts(tx, after, BATCH):
        broken = [one for one, queue, text in messages if not _is_readable(queue, text)]
        for message_id in broken:
            bulk_changes.bury_unsettled(tx, message_id, UNREADABLE, now)
        found, after = found + len(broken), messages[-1][0]
    return found


def _is_readable(name: str, text: str) -> bool:
    queue = QUEUES.get(name)
    try:
        body = read_object(text)
        payload = queue.decode(text) if queue else None
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
