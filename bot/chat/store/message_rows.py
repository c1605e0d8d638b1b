"""SQL of sent messages: the texts that they show, questions of forms, and words of payers.

Telegram refuses edits that change nothing, so the key of each text is stored for as long as
somebody may tap a button twice. Messages that are not stored are always edited. Alerts with payers'
words are kept for as long as a seller is likely to hide the words.

The buttons of a question are removed once it is answered; progress messages are deleted. Removals
have the lowest priority and wait until the chat has its whole burst again. If many are already
waiting in a chat, no more are added: a button that stays still works.
"""

from __future__ import annotations

from dataclasses import asdict

from bot.chat.model import payloads, queues
from bot.chat.store import post_rows
from bot.core import errors
from bot.core.database import database
from bot.core.outbox import lanes, queries, queue_policy

BARE = "-"
"""First character of the key of a message without buttons."""

PASSING = "~"
"""First character of the key of a message that is deleted once its form continues."""


def save_text(tx: database.Transaction, place: post_rows.MessagePlace, key: str, now: int) -> None:
    """Store the key of the text and buttons that a message shows from `now` (epoch ms)."""
    sql = (
        "INSERT INTO shown_texts (lane, message_id, text_key, shown_at)"
        " VALUES (:lane, :message_id, :key, :now) ON CONFLICT (lane, message_id)"
        " DO UPDATE SET text_key = excluded.text_key, shown_at = excluded.shown_at"
    )
    tx.execute(sql, **asdict(place), key=key, now=now)


def text_key_at(tx: database.Transaction, place: post_rows.MessagePlace) -> str | None:
    """Return the key of the text that a message shows, or None if unknown."""
    sql = "SELECT text_key FROM shown_texts WHERE lane = :lane AND message_id = :message_id"
    row = tx.one(sql, **asdict(place))
    return None if row is None else str(row["text_key"])


def forget_text(tx: database.Transaction, place: post_rows.MessagePlace) -> None:
    """Delete the stored key of a message that may be deleted, or changed by an uncertain edit."""
    tx.execute(
        "DELETE FROM shown_texts WHERE lane = :lane AND message_id = :message_id", **asdict(place)
    )


def sweep_texts(tx: database.Transaction, before: int) -> int:
    """Delete the keys stored before a time (epoch ms); return their number."""
    return tx.execute("DELETE FROM shown_texts WHERE shown_at < :before", before=before)


MOST_WAITING = 8
"""Waiting notices in a chat above which no removal is added: a form has no more questions.

The limit for deletions is twice as high: a button that stays does no harm, but a stale progress
message is wrong.
"""

ASKED = "SELECT question FROM drafts WHERE chat_id = :chat AND seller_id = :chat"
ASK = "UPDATE drafts SET question = :message_id WHERE chat_id = :chat AND seller_id = :chat"


def record_question(step: queues.ChatStep, place: post_rows.MessagePlace) -> None:
    """Store that a message asks the current question of the form in its private chat.

    The buttons of the previous question are removed. If the form has ended in the meantime, the
    buttons of this message are removed instead.
    """
    chat = int(place.lane)
    row = step.tx.one(ASKED, chat=chat)
    if row is None:
        remove_buttons(step, place)
    elif row["question"] != place.message_id:
        step.tx.execute(ASK, chat=chat, message_id=place.message_id)
        if row["question"] is not None:
            remove_buttons(step, post_rows.MessagePlace(place.lane, row["question"]))


def remove_buttons(step: queues.ChatStep, place: post_rows.MessagePlace) -> None:
    """Queue the removal of a message's buttons, unless it has none or its text changes first.

    A passing message is deleted.
    """
    queue, lane = step.queues.messages, place.lane
    shown = text_key_at(step.tx, place)
    if shown is None or shown.startswith(BARE):
        return
    most = MOST_WAITING * (2 if shown.startswith(PASSING) else 1)
    if queries.count_of_lane(step.tx, queue, lane, queue_policy.NOTICE, queries.WAITING) >= most:
        return
    rested_at = lanes.stored(step.tx, queue, lane, "arrival_at")
    body = payloads.ButtonRemoval(place.message_id, shown)
    queues.put_message(step, lane, body, due_at=rested_at)


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
    for payment in alert.payments:
        if payment.words:
            tx.execute(ALERTED_IN, **_key(payment), message_id=place.message_id)


def find_alert(tx: database.Transaction, place: post_rows.MessagePlace) -> payloads.Alert | None:
    """Return the alert shown in a message, or None if unknown."""
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
    """Return the message_id of the alert that shows a payment's words, or None."""
    row = tx.one(PLACE, request=request_id, transaction=transaction_id)
    return row["alerted_in"] if row else None


def is_hidden(tx: database.Transaction, payment: payloads.AlertPayment) -> bool:
    """True if the seller has hidden the payment's words, also if it was underpaid then."""
    return tx.one(HIDDEN, **_key(payment)) is not None


def sweep_alerts(tx: database.Transaction, before: int) -> int:
    """Delete the alerts sent before a time (epoch ms); return their number."""
    return tx.execute("DELETE FROM sent_alerts WHERE sent_at < :before", before=before)


def _key(payment: payloads.AlertPayment) -> dict[str, object]:
    transaction = payment.transaction_id
    return {"listing": payment.link_id, "at": payment.at, "transaction": transaction}
