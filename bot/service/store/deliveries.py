"""SQL of deliveries and their attempts; a delivery's state is in the outbox, under its id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from bot.core.database.columns import of_table
from bot.core.outbox import outbox
from bot.core.outbox.payload_kinds import PayloadKinds
from bot.core.outbox.queries import QUEUED
from bot.service.model.delivery import (
    Attempt,
    Channel,
    Delivery,
    DeliveryState,
    ReceiptLetter,
)
from bot.service.model.payment_reports import (
    ClaimLetter,
    ClaimReport,
    ConfirmationQuestion,
    ErasedLetter,
    LetterReport,
    PaymentNotice,
    PaymentReport,
    ReceiptReport,
    RejectionNotice,
    WebhookReport,
)
from bot.service.store.requests import Place

if TYPE_CHECKING:
    from bot.core.database.database import Database, Row, Transaction
    from bot.core.outbox.queue_policy import Queue
    from bot.service.model.request import Payment

Report: TypeAlias = (
    WebhookReport
    | ClaimReport
    | LetterReport
    | ClaimLetter
    | ReceiptReport
    | RejectionNotice
    | PaymentNotice
)
"""What is delivered: a payment's report, or one of a checkout without a payment."""

WEBHOOK_PAYLOADS = PayloadKinds(webhook=WebhookReport, claim=ClaimReport)
LETTER_PAYLOADS = PayloadKinds(
    letter=LetterReport, claim=ClaimLetter, question=ConfirmationQuestion, erased=ErasedLetter
)
RECEIPT_PAYLOADS = PayloadKinds(
    receipt=ReceiptReport, rejection=RejectionNotice, notice=PaymentNotice, erased=ErasedLetter
)

STATES = {
    "waiting": DeliveryState.WAITING,
    "leased": DeliveryState.SENDING,
    "done": DeliveryState.DELIVERED,
    "dead": DeliveryState.DEAD,
    "joined": DeliveryState.JOINED,
    "ended": DeliveryState.ENDED,
}
"""States of deliveries by states of the outbox."""

NAMES = {state: name for name, state in STATES.items()}

COLUMNS = of_table(
    "d", "id, app_id, request_id, payment_id, channel, address, created_at, checkout_id"
)
WITH_STATE = f"SELECT {COLUMNS}, o.state, o.attempts, o.due_at, o.settled_at, o.note"
SELECT = f"{WITH_STATE} FROM deliveries d JOIN {QUEUED} o ON o.id = d.id"
ANY = f"{SELECT} WHERE d.id = :id"
# Payers' receipts are between them and the operator: an application could send them for ever.
OF_APP = f"{ANY} AND d.app_id = :app_id AND d.channel <> 'receipt'"
NEWEST = "ORDER BY d.created_at DESC, d.id DESC"
OWN = f"FROM deliveries d WHERE d.app_id = :app_id AND d.channel <> 'receipt' {{narrowed}} {NEWEST}"
RECEIPT = (
    f"SELECT d.address, o.state FROM deliveries d JOIN {QUEUED} o ON o.id = d.id"  # noqa: S608 - our own words
    " WHERE d.payment_id = :id AND d.channel = 'receipt' AND d.created_at = :at"
    " ORDER BY d.id LIMIT 1"
)
TO_PAYER = (
    "SELECT COUNT(*) AS letters FROM deliveries WHERE payment_id = :id AND channel = 'receipt'"
)
PAGE = (
    f"{WITH_STATE} FROM (SELECT {COLUMNS} {OWN} LIMIT :most_read) AS d"
    f" JOIN {QUEUED} o ON o.id = d.id {{in_state}} {NEWEST} LIMIT :limit"
)
EDGE = f"SELECT d.created_at, d.id {OWN} LIMIT 1 OFFSET :passed"
MOST_READ = 5000
"""Deliveries that a search by state reads: with more, other calls would wait."""

SHOWN = 100
"""Deliveries that the operator's list shows unless asked for more."""

INSERT = """
    INSERT INTO deliveries
    (id, app_id, request_id, payment_id, channel, address, created_at, recipient_id, checkout_id)
    VALUES
    (:id, :app_id, :request_id, :payment_id, :channel, :address, :created_at, :recipient_id,
     :checkout_id)
"""
# Inserts nothing if the delivery was deleted during the attempt.
ADD_ATTEMPT = """
    INSERT INTO delivery_attempts (delivery_id, number, at, took, status, answer, trouble)
    SELECT d.id, (SELECT COALESCE(MAX(number), 0) + 1 FROM delivery_attempts
                  WHERE delivery_id = d.id), :at, :took, :status, :answer, :trouble
    FROM deliveries d WHERE d.id = :id
"""
HAS_ATTEMPT = (
    "SELECT 1 AS one FROM delivery_attempts WHERE delivery_id = :id AND at = :at AND took = :took"
    " AND COALESCE(status, 0) = :status"
)
ATTEMPTS = (
    "SELECT a.at, a.took, a.status, a.answer, a.trouble FROM delivery_attempts a"
    " WHERE a.delivery_id = :id ORDER BY a.number"
)
FORGET = (
    "DELETE FROM delivery_attempts WHERE delivery_id = :id",
    "DELETE FROM deliveries WHERE id = :id",
)


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """A filter of an application's deliveries: by request, by state, after a place in the list."""

    app_id: str
    request_id: str | None = None
    state: DeliveryState | None = None
    after: Place | None = None

    def sql(self, form: str) -> str:
        """Return the statement of this `form` with the filter."""
        narrowed = "AND d.request_id = :request_id " if self.request_id is not None else ""
        narrowed += "AND (d.created_at, d.id) < (:at, :after_id)" if self.after else ""
        return form.format(narrowed=narrowed, in_state="AND o.state = :state" if self.state else "")


def insert(tx: Transaction, report: Report, number: str) -> str:
    """Store a delivery and return its id, made of its channel and `number`."""
    channel, address, at = _addressed(report)
    delivery_id = f"{channel.value}-{number}"
    tx.execute(
        INSERT,
        id=delivery_id,
        app_id=report.app_id,
        request_id=report.request_id,
        payment_id=report.transaction_id if isinstance(report, PaymentReport) else None,
        channel=channel.value,
        address=address,
        created_at=at,
        recipient_id=report.recipient_id
        if isinstance(report, LetterReport | ClaimLetter)
        else None,
        checkout_id=None if isinstance(report, PaymentReport) else report.checkout_id,
    )
    return delivery_id


def _addressed(report: Report) -> tuple[Channel, str, int]:
    """Return the channel and the address of a report, and when it came about (epoch ms)."""
    match report:
        case WebhookReport():
            return Channel.WEBHOOK, report.url, report.completed_at
        case ClaimReport():
            return Channel.WEBHOOK, report.url, report.claimed_at
        case ReceiptReport():
            return Channel.RECEIPT, report.address, report.completed_at
        case RejectionNotice() | PaymentNotice():
            at = report.noticed_at if isinstance(report, PaymentNotice) else report.rejected_at
            return Channel.RECEIPT, report.address, at
        case LetterReport():
            return Channel.EMAIL, report.address, report.completed_at
        case ClaimLetter():
            return Channel.EMAIL, report.address, report.claimed_at


async def page(
    db: Database, wanted: DeliveryFilter, limit: int
) -> tuple[list[Delivery], Place | None]:
    """Return an application's deliveries, newest first, and the place where the next page begins.

    A search by state reads MOST_READ of them: its page may be short, even empty, although there
    is a next page.
    """
    most_read = MOST_READ if wanted.state else limit + 1
    params: dict[str, object] = {
        "app_id": wanted.app_id,
        "request_id": wanted.request_id,
        "state": NAMES[wanted.state] if wanted.state else None,
        "at": wanted.after.at if wanted.after else None,
        "after_id": wanted.after.id if wanted.after else None,
    }
    rows = await db.query(wanted.sql(PAGE), **params, limit=limit + 1, most_read=most_read)
    found = [_delivery(row) for row in rows[:limit]]
    if len(rows) > limit:
        return found, Place(found[-1].created_at, found[-1].id)
    edge = await db.query(wanted.sql(EDGE), **params, passed=most_read - 1)
    return found, Place(edge[0]["created_at"], edge[0]["id"]) if edge else None


async def read(db: Database, app_id: str, delivery_id: str) -> Delivery | None:
    """Return one delivery of an application."""
    row = await db.one(OF_APP, id=delivery_id, app_id=app_id)
    return _delivery(row) if row else None


async def read_receipt(db: Database, payment: Payment) -> ReceiptLetter | None:
    """Return a payment's receipt by email, None without one; later letters don't count."""
    row = await db.one(RECEIPT, id=payment.id, at=payment.completed_at)
    return ReceiptLetter(row["address"], STATES[row["state"]]) if row else None


async def read_attempts(db: Database, delivery_id: str) -> list[Attempt]:
    """Return the attempts of a delivery, in their order."""
    return [Attempt(**row) for row in await db.query(ATTEMPTS, id=delivery_id)]


def find_of_app(tx: Transaction, app_id: str, delivery_id: str) -> Delivery | None:
    """Return one delivery of an application."""
    row = tx.one(OF_APP, id=delivery_id, app_id=app_id)
    return _delivery(row) if row else None


def count_to_payer(tx: Transaction, payment_id: str) -> int:
    """Return how many letters about a payment were queued for its payer."""
    row = tx.one(TO_PAYER, id=payment_id)
    return row["letters"] if row else 0


def list_all(
    tx: Transaction, limit: int = SHOWN, state: DeliveryState | None = None
) -> list[Delivery]:
    """Return the deliveries of every application, newest first."""
    narrowed = "AND o.state = :state" if state else ""
    sql = f"{SELECT} {narrowed} {NEWEST} LIMIT :limit"
    rows = tx.query(sql, limit=limit, state=NAMES[state] if state else None)
    return [_delivery(row) for row in rows]


def find(tx: Transaction, delivery_id: str) -> Delivery | None:
    """Return one delivery of any application."""
    row = tx.one(ANY, id=delivery_id)
    return _delivery(row) if row else None


def attempts(tx: Transaction, delivery_id: str) -> list[Attempt]:
    """Return what `read_attempts` does, in a transaction."""
    return [Attempt(**row) for row in tx.query(ATTEMPTS, id=delivery_id)]


def add_attempt(tx: Transaction, delivery_id: str, attempt: Attempt) -> None:
    """Store an attempt, numbered after all earlier ones, also those before an operator's retry."""
    tx.execute(
        ADD_ATTEMPT,
        id=delivery_id,
        at=attempt.at,
        took=attempt.took,
        status=attempt.status,
        answer=attempt.answer,
        trouble=attempt.trouble,
    )


def has_attempt(tx: Transaction, delivery_id: str, attempt: Attempt) -> bool:
    """Return whether this attempt is stored."""
    given = {"at": attempt.at, "took": attempt.took, "status": attempt.status or 0}
    return tx.one(HAS_ATTEMPT, id=delivery_id, **given) is not None


def sweep(tx: Transaction, queue: Queue, before: int, most: int) -> int:
    """Delete up to `most` of a queue's deliveries settled before `before`; return how many."""
    swept = outbox.sweep(tx, queue, before, most)
    for delivery_id in swept:
        for statement in FORGET:
            tx.execute(statement, id=delivery_id)
    return len(swept)


def _delivery(row: Row) -> Delivery:
    state = row["state"]
    return Delivery(
        id=row["id"],
        app_id=row["app_id"],
        request_id=row["request_id"],
        transaction_id=row["payment_id"],
        channel=Channel(row["channel"]),
        address=row["address"],
        state=STATES[state],
        attempts=row["attempts"],
        created_at=row["created_at"],
        next_at=row["due_at"] if state == "waiting" else None,
        settled_at=row["settled_at"],
        note=row["note"],
        checkout_id=row["checkout_id"],
    )
