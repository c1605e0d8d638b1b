"""What a seller marks on a payment, and the letters that its payer gets about it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.core.errors import NotFound
from bot.core.ops import audit
from bot.service.model import payment_marks
from bot.service.store import idempotency, payments, requests
from bot.service.store import payment_marks as store
from bot.service.usecases.letters import payer_notices

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.service.model.payment_marks import MarksEdit
    from bot.service.model.request import Marks, Payment, PaymentRequest
    from bot.service.store.idempotency import CallKey
    from bot.service.usecases.request_commands import Caller

NOTIFIED = "notified"
"""What a marking call notes under its Idempotency-Key if the payer gets a letter."""

UNKNOWN = "The application has no such payment of such a request."


def mark(
    tx: Transaction,
    caller: Caller,
    request_id: str,
    transaction_id: str,
    change: MarksEdit,
    key: CallKey | None = None,
) -> tuple[Payment, bool]:
    """Change the marks of a payment; return it, and whether its payer gets a letter.

    The call's `key` keeps the latter for repeats. An edit that changes nothing does nothing. The
    receipts of a deleted request stay, and so do the marks on them. Raises NotFound.
    """
    requests.lock(tx, request_id)
    request = requests.find_ever(tx, request_id, caller.now)
    payment = find_own(tx, caller, request_id, transaction_id)
    if request is None:
        raise NotFound(UNKNOWN)
    marks = payment_marks.edit(payment.marks, change, caller.now)
    if marks == payment.marks:
        return payment, False
    store.write(tx, payment, marks)
    marked = replace(payment, marks=marks)
    notifies = change.notify_payer and caller.policy.mails
    notified = notifies and _notify(tx, request, payment, marked, caller.now)
    _audit(tx, caller, payment, marks)
    if notified:
        idempotency.keep(tx, key, NOTIFIED)
    return marked, notified


def find_own(tx: Transaction, caller: Caller, request_id: str, transaction_id: str) -> Payment:
    """Return a payment of the application. Raises NotFound."""
    payment = payments.find_of_app(tx, caller.app_id, request_id, transaction_id)
    if payment is None:
        raise NotFound(UNKNOWN)
    return payment


def _notify(
    tx: Transaction, request: PaymentRequest, before: Payment, after: Payment, now: int
) -> bool:
    """Queue the letters about what is new; return whether there is one."""
    news = payment_marks.news(before.marks, after.marks)
    queued = [payer_notices.queue(tx, request, after, one, now) for one in news]
    return any(queued)


def _audit(tx: Transaction, caller: Caller, payment: Payment, marks: Marks) -> None:
    """Record which marks are set; notes may name the payer, so only that they changed."""
    before, details = payment.marks, {"request": payment.request_id}
    told = {
        "sent": (before.sent_at, marks.sent_at),
        "paid_back": (before.paid_back_at, marks.paid_back_at),
    }
    changed = {name: new is not None for name, (old, new) in told.items() if old != new}
    if before.message_hidden != marks.message_hidden:
        changed["message_hidden"] = marks.message_hidden
    if (before.sent_note, before.paid_back_note) != (marks.sent_note, marks.paid_back_note):
        changed["note"] = True
    actor = audit.app(caller.app_id)
    audit.record(tx, actor, "payment.marked", payment.id, caller.now, details | changed)
