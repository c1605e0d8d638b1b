"""SQL of alerts that show words of payers, so that their messages can be written again.

They are kept for as long as somebody is likely to hide the words there.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from bot.chat.messages.payloads import MESSAGES, Alert
from bot.core.errors import Unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.messages.payloads import AlertPayment
    from bot.chat.store.posts import MessagePlace
    from bot.core.database.database import Transaction

KEPT_FOR = 90 * 24 * 3600 * 1000
"""Milliseconds that a sent alert is kept."""

SAVE = (
    "INSERT INTO sent_alerts (lane, message_id, body, sent_at)"
    " VALUES (:lane, :message_id, :body, :now) ON CONFLICT (lane, message_id)"
    " DO UPDATE SET body = excluded.body"
)
ALERTED_IN = (
    "UPDATE received_payments SET alerted_in = :message_id WHERE listing_id = :listing"
    " AND received_at = :at AND transaction_id = :transaction"
)
HIDDEN = (
    "SELECT 1 AS one FROM received_payments"
    " WHERE listing_id = :listing AND (received_at = :at OR short_at = :at)"
    " AND transaction_id = :transaction AND message_hidden = 1"
)
PLACE = (
    "SELECT alerted_in FROM received_payments"
    " WHERE request_id = :request AND transaction_id = :transaction"
)


def save(tx: Transaction, place: MessagePlace, alert: Alert, now: int) -> None:
    """Store an alert that was sent at `now` (epoch ms)."""
    tx.execute(SAVE, **asdict(place), body=MESSAGES.encode(alert), now=now)
    for payment in said(alert.payments):
        tx.execute(ALERTED_IN, **_key(payment), message_id=place.message_id)


def find(tx: Transaction, place: MessagePlace) -> Alert | None:
    """Return the alert that a message is, None where it isn't known."""
    sql = "SELECT body FROM sent_alerts WHERE lane = :lane AND message_id = :message_id"
    row = tx.one(sql, **asdict(place))
    if row is None:
        return None
    try:
        alert = MESSAGES.decode(row["body"])
    except Unreadable:
        return None
    return alert if isinstance(alert, Alert) else None


def message_of(tx: Transaction, request_id: str, transaction_id: str) -> int | None:
    """Return the message_id of the alert that shows a payment's words, None for none."""
    row = tx.one(PLACE, request=request_id, transaction=transaction_id)
    return row["alerted_in"] if row else None


def is_hidden(tx: Transaction, payment: AlertPayment) -> bool:
    """Check whether a seller has hidden a payment's words, once underpaid money is a sale too."""
    return tx.one(HIDDEN, **_key(payment)) is not None


def sweep(tx: Transaction, before: int) -> int:
    """Delete the alerts sent before a time (epoch ms); return their number."""
    return tx.execute("DELETE FROM sent_alerts WHERE sent_at < :before", before=before)


def said(payments: Sequence[AlertPayment]) -> list[AlertPayment]:
    """Return the payments whose payers wrote something."""
    return [payment for payment in payments if payment.words]


def _key(payment: AlertPayment) -> dict[str, object]:
    return {
        "listing": payment.listing_id,
        "at": payment.at,
        "transaction": payment.transaction_id,
    }
