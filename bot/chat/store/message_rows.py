"""SQL of sent messages: the texts that they show, questions of forms, and words of payers.

Of a text only its key is stored, for as long as somebody may tap a button twice: Telegram refuses
an edit that changes nothing. A message that is not known here is edited in any case. Alerts with
words of payers are kept for as long as somebody is likely to hide the words there.

A question loses its buttons once it is answered. A message that only says that something is under
way is deleted instead. Nothing waits for a removal: it comes in the lowest class, once the chat has
its whole burst again, and a chat that still has many waiting gets no more of them. A button that
stays is answered anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from bot.chat.model import payloads, queues
from bot.chat.store import post_rows
from bot.core import errors
from bot.core.database import database
from bot.core.outbox import lanes, outbox, queries, queue_policy

BARE = "-"
"""The first character of a key whose message has no buttons."""

PASSING = "~"
"""The first character of a key whose message is deleted once its form goes on."""


def save_text(tx: database.Transaction, place: post_rows.MessagePlace, key: str, now: int) -> None:
    """Store the key of the text and buttons that a message shows from `now` (epoch ms)."""
    sql = (
        "INSERT INTO shown_texts (lane, message_id, text_key, shown_at)"
        " VALUES (:lane, :message_id, :key, :now) ON CONFLICT (lane, message_id)"
        " DO UPDATE SET text_key = excluded.text_key, shown_at = excluded.shown_at"
    )
    tx.execute(sql, **asdict(place), key=key, now=now)


def text_key_at(tx: database.Transaction, place: post_rows.MessagePlace) -> str | None:
    """Return the key of the text that a message shows, None if it is not known."""
    sql = "SELECT text_key FROM shown_texts WHERE lane = :lane AND message_id = :message_id"
    row = tx.one(sql, **asdict(place))
    return None if row is None else str(row["text_key"])


def forget_text(tx: database.Transaction, place: post_rows.MessagePlace) -> None:
    """Forget the text of a message: it may be deleted, or an uncertain edit may have changed it."""
    tx.execute(
        "DELETE FROM shown_texts WHERE lane = :lane AND message_id = :message_id", **asdict(place)
    )


def sweep_texts(tx: database.Transaction, before: int) -> int:
    """Delete the keys stored before a time (epoch ms); return their number."""
    return tx.execute("DELETE FROM shown_texts WHERE shown_at < :before", before=before)


MOST_WAITING = 8
"""Notices that wait in a chat, beyond which no removal is added: a form has no more questions.

Twice as many for a deletion: a button that stays does no harm, but a message that says for ever
that something is under way is wrong.
"""

ASKED = "SELECT question FROM drafts WHERE chat_id = :chat AND seller_id = :chat"
ASK = "UPDATE drafts SET question = :message_id WHERE chat_id = :chat AND seller_id = :chat"


def record_question(
    tx: database.Transaction, queues: queues.Queues, place: post_rows.MessagePlace, now: int
) -> None:
    """Store that a message asks the question of the form in its private chat.

    The message that asked before loses its buttons; this one does if the form has ended meanwhile.
    """
    chat = int(place.lane)
    row = tx.one(ASKED, chat=chat)
    if row is None:
        remove_buttons(tx, queues, place, now)
    elif row["question"] != place.message_id:
        tx.execute(ASK, chat=chat, message_id=place.message_id)
        if row["question"] is not None:
            remove_buttons(tx, queues, post_rows.MessagePlace(place.lane, row["question"]), now)


def remove_buttons(
    tx: database.Transaction, queues: queues.Queues, place: post_rows.MessagePlace, now: int
) -> None:
    """Queue the removal of a message's buttons, unless it has none or shows something else then.

    A passing message is removed as a whole.
    """
    queue, lane = queues.messages, place.lane
    shown = text_key_at(tx, place)
    if shown is None or shown.startswith(BARE):
        return
    most = MOST_WAITING * (2 if shown.startswith(PASSING) else 1)
    if queries.count_of_lane(tx, queue, lane, queue_policy.NOTICE, queries.WAITING) >= most:
        return
    rested_at = lanes.stored(tx, queue, lane, "arrival_at")
    body = payloads.ButtonRemoval(place.message_id, shown)
    outbox.put(tx, queue, lane, body, now, priority=queue_policy.NOTICE, due_at=rested_at)


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


def save_alert(
    tx: database.Transaction, place: post_rows.MessagePlace, alert: payloads.Alert, now: int
) -> None:
    """Store an alert that was sent at `now` (epoch ms)."""
    tx.execute(SAVE, **asdict(place), body=payloads.MESSAGES.encode(alert), now=now)
    for payment in said(alert.payments):
        tx.execute(ALERTED_IN, **_key(payment), message_id=place.message_id)


def find_alert(tx: database.Transaction, place: post_rows.MessagePlace) -> payloads.Alert | None:
    """Return the alert that a message is, None if it isn't known."""
    sql = "SELECT body FROM sent_alerts WHERE lane = :lane AND message_id = :message_id"
    row = tx.one(sql, **asdict(place))
    if row is None:
        return None
    try:
        alert = payloads.MESSAGES.decode(row["body"])
    except errors.Unreadable:
        return None
    return alert if isinstance(alert, payloads.Alert) else None


def message_of(tx: database.Transaction, request_id: str, transaction_id: str) -> int | None:
    """Return the message_id of the alert that shows a payment's words, None for none."""
    row = tx.one(PLACE, request=request_id, transaction=transaction_id)
    return row["alerted_in"] if row else None


def is_hidden(tx: database.Transaction, payment: payloads.AlertPayment) -> bool:
    """True if a seller has hidden a payment's words, once underpaid money is a sale too."""
    return tx.one(HIDDEN, **_key(payment)) is not None


def sweep_alerts(tx: database.Transaction, before: int) -> int:
    """Delete the alerts sent before a time (epoch ms); return their number."""
    return tx.execute("DELETE FROM sent_alerts WHERE sent_at < :before", before=before)


def said(payments: Sequence[payloads.AlertPayment]) -> list[payloads.AlertPayment]:
    """Return the payments whose payers wrote something."""
    return [payment for payment in payments if payment.words]


def _key(payment: payloads.AlertPayment) -> dict[str, object]:
    return {
        "listing": payment.link_id,
        "at": payment.at,
        "transaction": payment.transaction_id,
    }
