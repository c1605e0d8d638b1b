"""SQL that erases what payers entered about themselves; amounts stay."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bot.core import exact_json
from bot.core.errors import Unreadable
from bot.core.outbox import bulk_changes
from bot.core.outbox.queries import QUEUED
from bot.core.privacy import erasure
from bot.core.privacy.erasure import ErasedValues, PersonalTable, concerns, find_texts, redact
from bot.core.text import email_addresses
from bot.service.model.delivery import Channel
from bot.service.model.payment_reports import ErasedLetter, LetterReport, WebhookReport
from bot.service.store.deliveries import LETTER_PAYLOADS, RECEIPT_PAYLOADS, WEBHOOK_PAYLOADS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bot.core.database.database import Row, Transaction
    from bot.core.privacy.erasure import Scope

NOTHING = "{}"
WORDS = ("payer_name", "message")
"""Columns of what payers told their seller."""

NOTES = ("sent_note", "paid_back_note")
"""Columns of what sellers noted about a payment, which may name its payer."""

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
    table = _table("payments", "completed_at", (*WORDS, *NOTES), ("id", "checkout_id"), scope)
    return replace(table, also=_deliveries)


def checkouts(scope: Scope) -> PersonalTable:
    """Return the table of checkouts, paid or not, which erases their letters too."""
    table = _table("checkouts", "created_at", WORDS, ("id",), scope)
    return replace(table, also=_letters_of_checkout)


def mentions(
    scope: Scope, addresses: ErasedValues, noted: ErasedValues
) -> tuple[PersonalTable, PersonalTable]:
    """Return payments and checkouts in which others wrote about an erased payer.

    Payers' words lose the addresses and sellers' notes all that is `noted`; queued reports too.
    """
    words, notes = dict.fromkeys(WORDS, addresses), dict.fromkeys(NOTES, noted)
    paid = erasure.mentions("payments", ("id",), "completed_at", words | notes, scope)
    reports = partial(_reports, gone=addresses)
    return replace(paid, also=reports), erasure.mentions(
        "checkouts", ("id",), "created_at", words, scope
    )


def _table(
    name: str, time: str, words: Sequence[str], ids: Sequence[str], scope: Scope
) -> PersonalTable:
    """Return a table with `user_data` and `words`, whose rows are named by `ids`."""
    erased: dict[str, object] = {"user_data": NOTHING, **dict.fromkeys(words)}
    if name == "payments":
        erased["payer"] = None

    def change(row: Row) -> dict[str, object] | None:
        numbers = [row[column] for column in ids]
        covered = scope.covers(row["request_id"], row[time], entered(row), numbers)
        return erased if covered else None

    holds = f"(user_data <> '{NOTHING}' OR COALESCE({', '.join(words)}) IS NOT NULL)"
    text = " || ' ' || ".join(["user_data", *(f"COALESCE({column}, '')" for column in words)])
    named, given = concerns(scope, text, ids)
    columns = [column for column in ("request_id", *ids, time) if column != "id"]
    columns += ["user_data", *words]
    return PersonalTable(name, ("id",), tuple(columns), change, f"{holds} AND {named}", given=given)


def entered(row: Row) -> list[object]:
    """Return all that a payer entered, and what the seller noted about the payment."""
    words = [row[column] for column in (*WORDS, *NOTES) if row.get(column) is not None]
    return [exact_json.loads(row["user_data"]), *words]


def recipients(tx: Transaction, scope: Scope) -> list[Row]:
    """Return the recipients of letters among the people of the scope.

    Returns none if the scope is limited to payments.
    """
    if scope.before is not None or scope.request_id is not None:
        return []
    named = (
        tx.query("SELECT id, address FROM recipients WHERE address = :key", key=key)
        for key in map(email_addresses.mailbox_key, scope.people or ())
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
    """Return who the payer of a payment is, as they entered it; None for an unknown payment."""
    row = tx.one("SELECT user_data FROM payments WHERE id = :id", id=payment_id)
    return dict(exact_json.loads(row["user_data"])) if row else None


def numbers_of(tx: Transaction, payment_id: str) -> frozenset[str]:
    """Return the ids of a payment and of its checkout; of an unknown payment its own."""
    row = tx.one("SELECT checkout_id FROM payments WHERE id = :id", id=payment_id)
    return frozenset({payment_id, *(row.values() if row else ())})


def _deliveries(tx: Transaction, row: Row) -> None:
    """Erase the payer from a payment's deliveries, and the whole of what endpoints answered."""
    gone = ErasedValues.of(find_texts(exact_json.loads(row["user_data"])))
    for owed in tx.query(OWED, payment=row["id"]):
        if owed["channel"] == Channel.RECEIPT:
            text = RECEIPT_PAYLOADS.encode(ErasedLetter())  # ended where it still waits
            tx.execute(FORGET_PAYER, id=owed["id"])
        else:
            text = _rewritten(owed, lambda report: report.without_payer())
        bulk_changes.rewrite(tx, owed["id"], text, redact(owed["note"], gone))
    _forget_answers(tx, row["id"], gone)


def _reports(tx: Transaction, row: Row, gone: ErasedValues) -> None:
    """Erase values from the words in a payment's reports, and the whole of what endpoints answered.

    Letters to payers have nothing that payers wrote.
    """
    for owed in tx.query(OWED, payment=row["id"]):
        if owed["channel"] != Channel.RECEIPT:
            text = _rewritten(owed, partial(_without, gone=gone))
            bulk_changes.rewrite(tx, owed["id"], text, redact(owed["note"], gone))
    _forget_answers(tx, row["id"], gone)


def _forget_answers(tx: Transaction, payment_id: str, gone: ErasedValues) -> None:
    for attempt in tx.query(ATTEMPTS, payment=payment_id):
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


def _rewritten(owed: Row, change: Callable[[Any], Any]) -> str:
    """Return a queued report's JSON after a change; nothing is kept of one that can't be read."""
    body, payloads = owed["body"], PAYLOADS[Channel(owed["channel"])]
    try:
        report = payloads.decode(body)
    except Unreadable:
        return NOTHING
    return str(body) if isinstance(report, ErasedLetter) else payloads.encode(change(report))


def _without(report: Any, gone: ErasedValues) -> Any:
    if not isinstance(report, WebhookReport | LetterReport):
        return report
    name, message = redact(report.name, gone), redact(report.message, gone)
    return replace(report, name=name, message=message)
