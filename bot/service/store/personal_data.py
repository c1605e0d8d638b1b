"""SQL that erases what payers entered about themselves; amounts stay."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.core import exact_json
from bot.core.errors import Unreadable
from bot.core.mail import mailboxes
from bot.core.outbox import bulk_changes
from bot.core.outbox.queries import QUEUED
from bot.core.privacy.erasure import ErasedValues, PersonalTable, find_texts, mentions_any, redact
from bot.service.model.delivery import Channel
from bot.service.model.payment_reports import ErasedLetter
from bot.service.store.deliveries import LETTER_PAYLOADS, RECEIPT_PAYLOADS, WEBHOOK_PAYLOADS

if TYPE_CHECKING:
    from bot.core.database.database import Row, Transaction
    from bot.core.outbox.payload_kinds import PayloadKinds
    from bot.core.privacy.erasure import Scope

NOTHING = "{}"
HOLDS = f"user_data <> '{NOTHING}'"
OWED = (
    f"SELECT o.id, o.body, o.note, d.channel FROM deliveries d JOIN {QUEUED} o ON o.id = d.id"  # noqa: S608 - our own words
    " WHERE d.payment_id = :payment"
)
OWED_TO_PAYER = "SELECT id FROM deliveries WHERE checkout_id = :checkout AND channel = 'receipt'"
FORGET_TROUBLE = (
    "UPDATE delivery_attempts SET answer = NULL, trouble = NULL WHERE delivery_id = :id"
)
LETTERS = "SELECT id FROM deliveries WHERE recipient_id = :id"
FORGET_RECIPIENT = (
    (
        "UPDATE delivery_attempts SET answer = NULL, trouble = NULL"
        " WHERE delivery_id IN (SELECT id FROM deliveries WHERE recipient_id = :id)"
    ),
    "UPDATE deliveries SET address = '' WHERE recipient_id = :id",
    "UPDATE payment_requests SET email = NULL, recipient_id = NULL WHERE recipient_id = :id",
    "DELETE FROM recipients WHERE id = :id",
)
PAYLOADS = {Channel.WEBHOOK: WEBHOOK_PAYLOADS, Channel.EMAIL: LETTER_PAYLOADS}
FORGET_PAYER = "UPDATE deliveries SET address = '' WHERE id = :id"
ATTEMPTS = (
    "SELECT a.delivery_id, a.number, a.trouble FROM delivery_attempts a"
    " JOIN deliveries d ON d.id = a.delivery_id WHERE d.payment_id = :payment"
)


def payments(scope: Scope) -> PersonalTable:
    """Return the table of payments, which erases their deliveries too.

    Payers stay counted by their number (store/payments.py).
    """
    erased: dict[str, object] = {"user_data": NOTHING, "payer": None}
    return replace(_table("payments", "completed_at", erased, scope), also=_deliveries)


def checkouts(scope: Scope) -> PersonalTable:
    """Return the table of checkouts, paid or not, which erases their letters too."""
    table = _table("checkouts", "created_at", {"user_data": NOTHING}, scope)
    return replace(table, also=_letters_of_checkout)


def _table(name: str, time: str, erased: dict[str, object], scope: Scope) -> PersonalTable:
    def change(row: Row) -> dict[str, object] | None:
        data = exact_json.loads(row["user_data"])
        return erased if scope.covers(row["request_id"], row[time], data) else None

    columns = ("request_id", "user_data", time)
    named, given = mentions_any("user_data", scope.people)
    return PersonalTable(name, ("id",), columns, change, f"{HOLDS} AND {named}", given=given)


def recipients(tx: Transaction, scope: Scope) -> list[Row]:
    """Return the recipients of letters among the people of the scope.

    Returns none if the scope is limited to payments.
    """
    if scope.before is not None or scope.request_id is not None:
        return []
    named = (
        tx.query("SELECT id, address FROM recipients WHERE address = :key", key=mailboxes.key(who))
        for who in scope.people or ()
    )
    return [row for rows in named for row in rows]


def forget_recipient(tx: Transaction, recipient: Row, now: int) -> None:
    """Erase a recipient's address everywhere in the service and end its letters.

    That its mailbox unsubscribed stays stored by a digest, which identifies nobody.
    """
    recipient_id, erased = recipient["id"], LETTER_PAYLOADS.encode(ErasedLetter())
    bulk_changes.delete_about(tx, "mails", recipient_id)
    bulk_changes.end_unsettled(tx, LETTERS, now, id=recipient_id)
    bulk_changes.overwrite(tx, LETTERS, erased, recipient_id, id=recipient_id)
    bulk_changes.delete_lane(tx, "mails", recipient["address"])
    for statement in FORGET_RECIPIENT:
        tx.execute(statement, id=recipient_id)


def is_request(tx: Transaction, request_id: str) -> bool:
    """Return whether there is or was a request of this id."""
    row = tx.one("SELECT id FROM payment_requests WHERE id = :id", id=request_id)
    return row is not None


def data_of(tx: Transaction, payment_id: str) -> dict[str, str] | None:
    """Return what the payer of a payment entered, None for an unknown payment."""
    row = tx.one("SELECT user_data FROM payments WHERE id = :id", id=payment_id)
    return dict(exact_json.loads(row["user_data"])) if row else None


def _deliveries(tx: Transaction, row: Row) -> None:
    """Erase the payer from a payment's deliveries, and the whole of what endpoints answered."""
    gone = ErasedValues.of(find_texts(exact_json.loads(row["user_data"])))
    for owed in tx.query(OWED, payment=row["id"]):
        if owed["channel"] == Channel.RECEIPT:
            text = RECEIPT_PAYLOADS.encode(ErasedLetter())  # ended where it still waits
            tx.execute(FORGET_PAYER, id=owed["id"])
        else:
            text = _without_payer(owed["body"], PAYLOADS[Channel(owed["channel"])])
        bulk_changes.rewrite(tx, owed["id"], text, redact(owed["note"], gone))
    for attempt in tx.query(ATTEMPTS, payment=row["id"]):
        tx.execute(
            "UPDATE delivery_attempts SET answer = NULL, trouble = :trouble"
            " WHERE delivery_id = :id AND number = :number",
            id=attempt["delivery_id"],
            number=attempt["number"],
            trouble=redact(attempt["trouble"], gone),
        )


def _letters_of_checkout(tx: Transaction, row: Row) -> None:
    """Erase the address of letters about a checkout without a payment."""
    for owed in tx.query(OWED_TO_PAYER, checkout=row["id"]):
        tx.execute(FORGET_PAYER, id=owed["id"])
        text = RECEIPT_PAYLOADS.encode(ErasedLetter())
        bulk_changes.rewrite(tx, owed["id"], text, None)
        tx.execute(FORGET_TROUBLE, id=owed["id"])


def _without_payer(body: str, payloads: PayloadKinds) -> str:
    """Return a queued body without its payer; nothing is kept of one that can't be read."""
    try:
        report = payloads.decode(body)
    except Unreadable:
        return "{}"
    return (
        body if isinstance(report, ErasedLetter) else payloads.encode(replace(report, user_data={}))
    )
