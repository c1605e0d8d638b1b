"""The seller's marks on a payment (sent, paid back, message hidden), and letters about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bot.core import errors
from bot.core.database import database
from bot.core.ops import audit
from bot.service.notifications import payer_letters
from bot.service.payments import payment_reports, payment_rows
from bot.service.requests import changes, idempotency, request, request_commands, request_rows


@dataclass(frozen=True, slots=True)
class MarkEdit:
    """A mark to set, or a change to its note; KEEP leaves the note, None removes it."""

    note: str | changes.Keep | None = changes.KEEP


@dataclass(frozen=True, slots=True)
class MarksEdit:
    """A checked body: None removes a mark, KEEP leaves it."""

    sent: MarkEdit | changes.Keep | None = changes.KEEP
    paid_back: MarkEdit | changes.Keep | None = changes.KEEP
    message_hidden: bool | changes.Keep = changes.KEEP

    notify_payer: bool = True
    """True if the payer gets a letter about the news, provided that they left an address."""


def edit(marks: request.Marks, change: MarksEdit, now: int) -> request.Marks:
    """Return the marks after an edit; a mark that is already set keeps its time."""
    hidden = change.message_hidden
    return request.Marks(
        marks.message_hidden if isinstance(hidden, changes.Keep) else hidden,
        *_mark(marks.sent_at, marks.sent_note, change.sent, now),
        *_mark(marks.paid_back_at, marks.paid_back_note, change.paid_back, now),
    )


def _mark(
    at: int | None, note: str | None, change: MarkEdit | changes.Keep | None, now: int
) -> tuple[int | None, str | None]:
    if isinstance(change, changes.Keep):
        return at, note
    if change is None:
        return None, None
    kept = note if isinstance(change.note, changes.Keep) else change.note
    return now if at is None else at, kept


def mark_news(before: request.Marks, after: request.Marks) -> Iterator[payment_reports.News]:
    """Yield the news for the payer: new marks, and marks with a new note."""
    sent = (before.sent_at, after.sent_at, before.sent_note, after.sent_note)
    back = (before.paid_back_at, after.paid_back_at, before.paid_back_note, after.paid_back_note)
    news = {payment_reports.News.SENT: sent, payment_reports.News.PAID_BACK: back}
    for one, (was, at, old, note) in news.items():
        if at is not None and (was is None or (note is not None and note != old)):
            yield one


NOTIFIED = "notified"
"""The note stored with the Idempotency-Key of a call that sends the payer a letter."""

UNKNOWN = "The application has no such payment of such a request."


def mark(
    tx: database.Transaction,
    caller: request_commands.Caller,
    request_id: str,
    transaction_id: str,
    change: MarksEdit,
    key: idempotency.CallKey | None = None,
) -> tuple[request.Payment, bool]:
    """Change a payment's marks; return the payment and whether its payer gets a letter.

    A repeat with the same `key` returns the same answer. An edit without changes does nothing.
    Payments of a deleted request can be marked too. Raises NotFound.
    """
    request_rows.lock(tx, request_id)
    request = request_rows.find_ever(tx, request_id, caller.now)
    payment = find_own(tx, caller, request_id, transaction_id)
    if request is None:
        raise errors.NotFound(UNKNOWN)
    marks = edit(payment.marks, change, caller.now)
    if marks == payment.marks:
        return payment, False
    payment_rows.write_mark(tx, payment, marks)
    marked = replace(payment, marks=marks)
    queued = []
    if change.notify_payer and caller.policy.mails:
        news = mark_news(payment.marks, marks)
        queued = [payer_letters.queue_notice(tx, request, marked, one, caller.now) for one in news]
    # The log says which marks are set. Of notes only the change, because they may name the payer.
    was, details = payment.marks, {"request": payment.request_id}
    pairs = {
        "sent": (was.sent_at, marks.sent_at),
        "paid_back": (was.paid_back_at, marks.paid_back_at),
    }
    changed = {name: new is not None for name, (old, new) in pairs.items() if old != new}
    if was.message_hidden != marks.message_hidden:
        changed["message_hidden"] = marks.message_hidden
    if (was.sent_note, was.paid_back_note) != (marks.sent_note, marks.paid_back_note):
        changed["note"] = True
    actor = audit.app(caller.app_id)
    audit.record(tx, actor, "payment.marked", payment.id, caller.now, details | changed)
    if any(queued):
        idempotency.keep(tx, key, NOTIFIED)
    return marked, any(queued)


def find_own(
    tx: database.Transaction, caller: request_commands.Caller, request_id: str, transaction_id: str
) -> request.Payment:
    """Return a payment of the application. Raises NotFound."""
    payment = payment_rows.find_of_app(tx, caller.app_id, request_id, transaction_id)
    if payment is None:
        raise errors.NotFound(UNKNOWN)
    return payment
