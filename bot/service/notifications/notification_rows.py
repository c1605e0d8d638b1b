"""SQL of notifications and their attempts.

The tables call a notification a delivery. Its state is stored in the outbox under the same id.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from bot.core import errors, stored_json
from bot.core.database import database
from bot.core.outbox import outbox, queries, queue_policy
from bot.interface import vocabulary
from bot.service.notifications import notification
from bot.service.payments import payment_reports
from bot.service.requests import request, request_rows

WEBHOOK_PAYLOADS = stored_json.PayloadKinds(
    webhook=payment_reports.WebhookReport, claim=payment_reports.ClaimReport
)
LETTER_PAYLOADS = stored_json.PayloadKinds(
    letter=payment_reports.LetterReport,
    claim=payment_reports.ClaimLetter,
    question=payment_reports.ConfirmationQuestion,
    erased=payment_reports.ErasedLetter,
)
RECEIPT_PAYLOADS = stored_json.PayloadKinds(
    receipt=payment_reports.ReceiptReport,
    rejection=payment_reports.RejectionNotice,
    notice=payment_reports.PaymentNotice,
    erased=payment_reports.ErasedLetter,
)

STATES = {
    "waiting": vocabulary.NotificationState.WAITING,
    "leased": vocabulary.NotificationState.SENDING,
    "done": vocabulary.NotificationState.DELIVERED,
    "dead": vocabulary.NotificationState.DEAD,
    "joined": vocabulary.NotificationState.JOINED,
    "ended": vocabulary.NotificationState.ENDED,
}
"""States of notifications by states of the outbox."""

OUTBOX_STATES = {state: name for name, state in STATES.items()}

COLUMNS = database.of_table(
    "d", "id, app_id, request_id, payment_id, channel, address, created_at, checkout_id"
)
WITH_STATE = f"SELECT {COLUMNS}, o.state, o.attempts, o.due_at, o.settled_at, o.note"
SELECT = f"{WITH_STATE} FROM deliveries d JOIN {queries.QUEUED} o ON o.id = d.id"
# Applications don't see payers' receipts, because they could resend a receipt forever.
OF_APP = "d.app_id = :app_id AND d.channel <> 'receipt'"
NEWEST = "ORDER BY d.created_at DESC, d.id DESC"
OWN = f"FROM deliveries d WHERE {OF_APP} {{narrowed}} {NEWEST}"
RECEIPT = (
    f"SELECT d.address, o.state FROM deliveries d JOIN {queries.QUEUED} o ON o.id = d.id"  # noqa: S608 - our own words
    " WHERE d.payment_id = :id AND d.channel = 'receipt' AND d.created_at = :at"
    " ORDER BY d.id LIMIT 1"
)
PAGE = (
    f"{WITH_STATE} FROM (SELECT {COLUMNS} {OWN} LIMIT :most_read) AS d"
    f" JOIN {queries.QUEUED} o ON o.id = d.id {{in_state}} {NEWEST} LIMIT :limit"
)
EDGE = f"SELECT d.created_at, d.id {OWN} LIMIT 1 OFFSET :passed"
MOST_READ = 5000
"""Maximum notifications that a search by state reads: reading more would delay other calls."""

SHOWN = 100
"""Notifications that the operator's list shows unless asked for more."""

INSERT = database.insert_into(
    "deliveries",
    "id, app_id, request_id, payment_id, channel, address, created_at, recipient_id, checkout_id",
)
# Inserts nothing if the notification was deleted during the attempt.
ADD_ATTEMPT = """
    INSERT INTO delivery_attempts (delivery_id, number, at, took, status, answer, trouble)
    SELECT d.id, (SELECT COALESCE(MAX(number), 0) + 1 FROM delivery_attempts
                  WHERE delivery_id = d.id), :at, :took, :status, :answer, :problem
    FROM deliveries d WHERE d.id = :id
"""
HAS_ATTEMPT = (
    "SELECT 1 AS one FROM delivery_attempts WHERE delivery_id = :id AND at = :at AND took = :took"
    " AND COALESCE(status, 0) = :status"
)
ATTEMPTS = (
    "SELECT at, took, status, answer, trouble AS problem FROM delivery_attempts"
    " WHERE delivery_id = :id ORDER BY number"
)
FORGET = (
    "DELETE FROM delivery_attempts WHERE delivery_id = :id",
    "DELETE FROM deliveries WHERE id = :id",
)


@dataclass(frozen=True, slots=True)
class NotificationFilter:
    """A filter of an application's notifications."""

    app_id: str
    request_id: str | None = None
    state: vocabulary.NotificationState | None = None
    after: request_rows.Place | None = None
    """Only notifications after this place in the list."""

    def sql(self, form: str) -> str:
        """Return the statement `form` with this filter."""
        narrowed = "AND d.request_id = :request_id " if self.request_id is not None else ""
        narrowed += "AND (d.created_at, d.id) < (:at, :after_id)" if self.after else ""
        return form.format(narrowed=narrowed, in_state="AND o.state = :state" if self.state else "")


def insert(
    tx: database.Transaction,
    channel: notification.Channel,
    address: str,
    report: payment_reports.PaymentReport | payment_reports.CheckoutReport,
    at: int,
) -> str:
    """Store a notification of an event at `at` (epoch ms); return its id."""
    notification_id = f"{channel.value}-{outbox.new_id(at)}"
    payment_id = checkout_id = None
    if isinstance(report, payment_reports.PaymentReport):
        payment_id = report.transaction_id
    else:
        checkout_id = report.checkout_id
    letters = payment_reports.LetterReport | payment_reports.ClaimLetter
    tx.execute(
        INSERT,
        id=notification_id,
        app_id=report.app_id,
        request_id=report.request_id,
        payment_id=payment_id,
        channel=channel.value,
        address=address,
        created_at=at,
        recipient_id=report.recipient_id if isinstance(report, letters) else None,
        checkout_id=checkout_id,
    )
    return notification_id


async def page(
    db: database.Database, wanted: NotificationFilter, limit: int
) -> tuple[list[notification.Notification], request_rows.Place | None]:
    """Return an application's notifications, newest first, and the start of the next page.

    A search by state reads at most MOST_READ notifications, so a page may be short or empty
    although there is a next page.
    """
    most_read = MOST_READ if wanted.state else limit + 1
    params: dict[str, object] = {
        "app_id": wanted.app_id,
        "request_id": wanted.request_id,
        "state": OUTBOX_STATES[wanted.state] if wanted.state else None,
        "at": wanted.after.at if wanted.after else None,
        "after_id": wanted.after.id if wanted.after else None,
    }
    rows = await db.query(wanted.sql(PAGE), **params, limit=limit + 1, most_read=most_read)
    found = [_read(row) for row in rows[:limit]]
    if len(rows) > limit:
        return found, request_rows.Place(found[-1].created_at, found[-1].id)
    edge = await db.query(wanted.sql(EDGE), **params, passed=most_read - 1)
    return found, request_rows.Place(edge[0]["created_at"], edge[0]["id"]) if edge else None


async def read_receipt(
    db: database.Database, payment: request.Payment
) -> notification.ReceiptLetter | None:
    """Return a payment's emailed receipt, None if there is none; later letters don't count."""
    row = await db.one(RECEIPT, id=payment.id, at=payment.completed_at)
    return notification.ReceiptLetter(row["address"], STATES[row["state"]]) if row else None


def list_all(
    tx: database.Transaction,
    limit: int = SHOWN,
    state: vocabulary.NotificationState | None = None,
) -> list[notification.Notification]:
    """Return the notifications of every application, newest first."""
    narrowed = "AND o.state = :state" if state else ""
    sql = f"{SELECT} {narrowed} {NEWEST} LIMIT :limit"
    rows = tx.query(sql, limit=limit, state=OUTBOX_STATES[state] if state else None)
    return [_read(row) for row in rows]


def find(
    tx: database.Transaction, notification_id: str, app_id: str | None = None
) -> notification.Notification:
    """Return a notification, with `app_id` only if it is the application's. Raises NotFound."""
    narrowed = "" if app_id is None else f" AND {OF_APP}"
    row = tx.one(f"{SELECT} WHERE d.id = :id{narrowed}", id=notification_id, app_id=app_id)
    if row is None:
        raise errors.NotFound(f"There is no delivery {notification_id}.")
    return _read(row)


def attempts(tx: database.Transaction, notification_id: str) -> list[notification.Attempt]:
    """Return the attempts of a notification, in their order."""
    return [notification.Attempt(**row) for row in tx.query(ATTEMPTS, id=notification_id)]


def add_attempt(
    tx: database.Transaction, notification_id: str, attempt: notification.Attempt
) -> None:
    """Store an attempt, numbered after all earlier attempts, including those before a retry."""
    tx.execute(ADD_ATTEMPT, id=notification_id, **asdict(attempt))


def has_attempt(
    tx: database.Transaction, notification_id: str, attempt: notification.Attempt
) -> bool:
    """True if this attempt is stored."""
    given = {"at": attempt.at, "took": attempt.took, "status": attempt.status or 0}
    return tx.one(HAS_ATTEMPT, id=notification_id, **given) is not None


def sweep(tx: database.Transaction, queue: queue_policy.Queue, before: int, most: int) -> int:
    """Delete up to `most` of a queue's notifications settled before `before`; return how many."""
    swept = outbox.sweep(tx, queue, before, most)
    for notification_id in swept:
        for statement in FORGET:
            tx.execute(statement, id=notification_id)
    return len(swept)


def _read(row: database.Row) -> notification.Notification:
    due_at, state = row.pop("due_at"), row["state"]
    return notification.Notification(
        transaction_id=row.pop("payment_id"),
        next_at=due_at if state == "waiting" else None,
        **row | {"state": STATES[state], "channel": notification.Channel(row["channel"])},
    )
