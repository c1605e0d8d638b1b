"""SQL that erases personal data of payers and sellers; payments stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from bot.core import erasure, errors, stored_json
from bot.core.database import database
from bot.core.ops import audit
from bot.core.outbox import bulk_changes, queries
from bot.core.text import contacts
from bot.service.notifications import notification, notification_rows
from bot.service.payments import payment_reports
from bot.service.requests import request_rows

# Data that payers entered or others wrote about them; amounts stay.

NOTHING = "{}"
"""JSON of erased data."""

WORDS = ("payer_name", "message")
"""Columns of the payer's words to the seller."""

NOTES = ("sent_note", "paid_back_note")
"""Columns of the seller's notes about a payment, which may name its payer."""

OWED = (
    "SELECT o.id, o.body, o.note, d.channel FROM deliveries d"  # noqa: S608 - our own words
    f" JOIN {queries.QUEUED} o ON o.id = d.id"
    " WHERE d.payment_id = :payment"
)
OWED_TO_PAYER = "SELECT id FROM deliveries WHERE checkout_id = :checkout AND channel = 'receipt'"
FORGET_ANSWERS = (
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
PAYLOADS = {
    notification.Channel.WEBHOOK: notification_rows.WEBHOOK_PAYLOADS,
    notification.Channel.EMAIL: notification_rows.LETTER_PAYLOADS,
}
FORGET_PAYER = "UPDATE deliveries SET address = '' WHERE id = :id"
ATTEMPTS = (
    "SELECT a.delivery_id, a.number, a.trouble FROM delivery_attempts a"
    " JOIN deliveries d ON d.id = a.delivery_id WHERE d.payment_id = :payment"
)


def payments_table(scope: erasure.Scope) -> erasure.PersonalTable:
    """Return the table of payments, which erases their notifications too.

    Payers stay counted by their number (payments/payment_rows.py).
    """
    table = _table("payments", "completed_at", (*WORDS, *NOTES), ("id", "checkout_id"), scope)
    return replace(table, also=_erase_notifications)


def checkouts_table(scope: erasure.Scope) -> erasure.PersonalTable:
    """Return the table of checkouts, paid or not, which erases their letters too."""
    table = _table("checkouts", "created_at", WORDS, ("id",), scope)
    return replace(table, also=_letters_of_checkout)


def mentions_tables(
    scope: erasure.Scope, addresses: erasure.ErasedValues, noted: erasure.ErasedValues
) -> tuple[erasure.PersonalTable, erasure.PersonalTable]:
    """Return the tables of payments and checkouts in which others wrote about an erased payer.

    The `addresses` are erased from payers' words and queued reports, and the `noted` values from
    sellers' notes.
    """
    words, notes = dict.fromkeys(WORDS, addresses), dict.fromkeys(NOTES, noted)
    paid = erasure.mentions("payments", ("id",), "completed_at", words | notes, scope)
    reports = partial(_reports, gone=addresses)
    return replace(paid, also=reports), erasure.mentions(
        "checkouts", ("id",), "created_at", words, scope
    )


def _table(
    name: str, time: str, words: Sequence[str], ids: Sequence[str], scope: erasure.Scope
) -> erasure.PersonalTable:
    """Return a table with `user_data` and `words`; the columns `ids` identify its rows."""
    erased: dict[str, object] = {"user_data": NOTHING, **dict.fromkeys(words)}
    if name == "payments":
        erased["payer"] = None

    def change(row: database.Row) -> dict[str, object] | None:
        numbers = [row[column] for column in ids]
        covered = scope.covers(row["request_id"], row[time], values_of_payer(row), numbers)
        return erased if covered else None

    holds = f"(user_data <> '{NOTHING}' OR COALESCE({', '.join(words)}) IS NOT NULL)"
    text = " || ' ' || ".join(["user_data", *(f"COALESCE({column}, '')" for column in words)])
    named, given = erasure.concerns(scope, text, ids)
    columns = [column for column in ("request_id", *ids, time) if column != "id"]
    columns += ["user_data", *words]
    return erasure.PersonalTable(
        name, ("id",), tuple(columns), change, f"{holds} AND {named}", given=given
    )


def values_of_payer(row: database.Row) -> list[object]:
    """Return everything that a payer entered or the seller noted about the payment."""
    words = [row[column] for column in (*WORDS, *NOTES) if row.get(column) is not None]
    return [stored_json.read(dict, row["user_data"]), *words]


def find_recipients(tx: database.Transaction, scope: erasure.Scope) -> list[database.Row]:
    """Return the recipients of letters who are in the scope.

    Returns [] if the scope is limited to payments.
    """
    if scope.before is not None or scope.request_id is not None:
        return []
    named = (
        tx.query("SELECT id, address FROM recipients WHERE address = :key", key=key)
        for key in map(contacts.mailbox_key, scope.people or ())
    )
    return [row for rows in named for row in rows]


def forget_recipient(tx: database.Transaction, recipient: database.Row, now: int) -> None:
    """Erase a recipient's address everywhere in the service, and end their letters.

    A digest, which identifies nobody, still records that the mailbox unsubscribed.
    """
    recipient_id = recipient["id"]
    erased = notification_rows.LETTER_PAYLOADS.encode(payment_reports.ErasedLetter())
    bulk_changes.delete_about(tx, "mails", recipient_id)
    bulk_changes.end_unsettled(tx, LETTERS, now, id=recipient_id)
    bulk_changes.overwrite(tx, LETTERS, erased, recipient_id, id=recipient_id)
    bulk_changes.delete_lane(tx, "mails", recipient["address"])
    for statement in FORGET_RECIPIENT:
        tx.execute(statement, id=recipient_id)


def is_request(tx: database.Transaction, request_id: str) -> bool:
    """Return whether a request with this id exists or existed."""
    row = tx.one("SELECT id FROM payment_requests WHERE id = :id", id=request_id)
    return row is not None


def data_of(tx: database.Transaction, payment_id: str) -> dict[str, str] | None:
    """Return the data that a payment's payer entered; None for an unknown payment."""
    row = tx.one("SELECT user_data FROM payments WHERE id = :id", id=payment_id)
    return stored_json.read(dict, row["user_data"]) if row else None


def numbers_of(tx: database.Transaction, payment_id: str) -> frozenset[str]:
    """Return the ids of a payment and its checkout; only its own if the payment is unknown."""
    row = tx.one("SELECT checkout_id FROM payments WHERE id = :id", id=payment_id)
    return frozenset({payment_id, *(row.values() if row else ())})


def _erase_notifications(tx: database.Transaction, row: database.Row) -> None:
    """Erase the payer from a payment's notifications, and erase all answers of endpoints."""
    gone = erasure.ErasedValues.of(erasure.find_texts(stored_json.read(dict, row["user_data"])))
    for owed in tx.query(OWED, payment=row["id"]):
        if owed["channel"] == notification.Channel.RECEIPT:
            # This ends a letter that is still waiting.
            text = notification_rows.RECEIPT_PAYLOADS.encode(payment_reports.ErasedLetter())
            tx.execute(FORGET_PAYER, id=owed["id"])
        else:
            text = _rewritten(owed, lambda report: report.without_payer())
        bulk_changes.rewrite(tx, owed["id"], text, erasure.redact(owed["note"], gone))
    _forget_answers(tx, row["id"], gone)


def _reports(tx: database.Transaction, row: database.Row, gone: erasure.ErasedValues) -> None:
    """Erase values from the words in a payment's reports, and erase all answers of endpoints.

    Letters to payers contain nothing that payers wrote.
    """
    for owed in tx.query(OWED, payment=row["id"]):
        if owed["channel"] != notification.Channel.RECEIPT:
            text = _rewritten(owed, partial(_without, gone=gone))
            bulk_changes.rewrite(tx, owed["id"], text, erasure.redact(owed["note"], gone))
    _forget_answers(tx, row["id"], gone)


def _forget_answers(tx: database.Transaction, payment_id: str, gone: erasure.ErasedValues) -> None:
    for attempt in tx.query(ATTEMPTS, payment=payment_id):
        tx.execute(
            "UPDATE delivery_attempts SET answer = NULL, trouble = :trouble"
            " WHERE delivery_id = :id AND number = :number",
            id=attempt["delivery_id"],
            number=attempt["number"],
            trouble=erasure.redact(attempt["trouble"], gone),
        )


def _letters_of_checkout(tx: database.Transaction, row: database.Row) -> None:
    """Erase the address of letters about a checkout without a payment."""
    for owed in tx.query(OWED_TO_PAYER, checkout=row["id"]):
        tx.execute(FORGET_PAYER, id=owed["id"])
        text = notification_rows.RECEIPT_PAYLOADS.encode(payment_reports.ErasedLetter())
        bulk_changes.rewrite(tx, owed["id"], text, None)
        tx.execute(FORGET_ANSWERS, id=owed["id"])


def _rewritten(owed: database.Row, change: Callable[[Any], Any]) -> str:
    """Return a queued report's JSON after a change, or NOTHING if it can't be read."""
    body, payloads = owed["body"], PAYLOADS[notification.Channel(owed["channel"])]
    try:
        report = payloads.decode(body)
    except errors.Unreadable:
        return NOTHING
    if isinstance(report, payment_reports.ErasedLetter):
        return str(body)
    return payloads.encode(change(report))


def _without(report: Any, gone: erasure.ErasedValues) -> Any:
    if not isinstance(report, payment_reports.WebhookReport | payment_reports.LetterReport):
        return report
    name, message = erasure.redact(report.name, gone), erasure.redact(report.message, gone)
    return replace(report, name=name, message=message)


# Sellers and their payout accounts; their payments stay.

BATCH = 50
"""Profiles erased in one transaction, for which payments wait."""

NAMED = (
    "SELECT id, app_id, owner, seller FROM payment_requests"
    " WHERE seller IS NOT NULL AND (owner <> '' OR {named})"
)
OF_OWNER = (
    "SELECT id FROM payment_requests"
    " WHERE app_id = :app_id AND owner = :owner AND seller IS NOT NULL"
)
OF_APPS = "SELECT id, seller FROM apps WHERE seller IS NOT NULL"
FORGET = {
    "payment_requests": "UPDATE payment_requests SET seller = NULL WHERE id = :id",
    "apps": "UPDATE apps SET seller = NULL WHERE id = :id",
    "payout_accounts": "DELETE FROM payout_accounts WHERE id = :id",
    "checkouts": "UPDATE checkouts SET pay_with = NULL, look = NULL WHERE id = :id",
    "audit": audit.BLANK,
}
OWNERS = (
    "SELECT app_id, payout AS owner FROM payment_requests WHERE payout IS NOT NULL"
    " UNION SELECT app_id, owner FROM payout_accounts"
)
ACCOUNTS = "SELECT id FROM payout_accounts WHERE app_id = :app_id AND owner = :owner"
# The data shown to payers names the account, even if it has since been deleted.
SHOWN = (
    "SELECT c.id FROM payment_requests r JOIN checkouts c ON c.request_id = r.id"
    " WHERE r.app_id = :app_id AND r.payout = :owner"
    " AND (c.pay_with IS NOT NULL OR c.look IS NOT NULL)"
)


def find_profiles(tx: database.Transaction, scope: erasure.Scope) -> list[tuple[str, str]]:
    """Return table and id of the profiles and accounts of the people in the scope.

    Sellers are found by their contact or their reference (`Owner-Ref`), with all of their requests.
    Returns [] if the scope is limited to payments.
    """
    people = scope.sellers
    if scope.before is not None or scope.request_id is not None or not people:
        return []
    named, given = erasure.mentions_any("seller", people)
    rows = [
        row
        for row in tx.query(NAMED.format(named=named), **given)
        if row["owner"].casefold() in people or _is_contact(row, people)
    ]
    ids = {row["id"] for row in rows}
    owners = {(row["app_id"], row["owner"]) for row in rows if row["owner"]}
    for app_id, owner in owners:
        ids.update(row["id"] for row in tx.query(OF_OWNER, app_id=app_id, owner=owner))
    apps = (row["id"] for row in tx.query(OF_APPS) if _is_contact(row, people))
    paid = (row for row in tx.query(OWNERS) if row["owner"].casefold() in people)
    owners |= {(row["app_id"], row["owner"]) for row in paid}
    return [
        *(("payment_requests", one) for one in sorted(ids)),
        *(("apps", one) for one in apps),
        *_accounts(tx, owners),
    ]


def _accounts(tx: database.Transaction, owners: set[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield table and id of the rows that contain payout details of these owners."""
    for app_id, owner in sorted(owners):
        for table, sql in (("payout_accounts", ACCOUNTS), ("checkouts", SHOWN)):
            for row in tx.query(sql, app_id=app_id, owner=owner):
                yield table, row["id"]
    actors = {(audit.app(app_id), owner) for app_id, owner in owners}
    for line in audit.read_all(tx, "payout.") if owners else ():
        if (line.actor, line.details.get("owner")) in actors:
            yield "audit", line.id


def forget_profiles(tx: database.Transaction, found: list[tuple[str, str]]) -> None:
    """Erase these profiles and accounts."""
    for table, row_id in found:
        tx.execute(FORGET[table], id=row_id)


def profile_batches(found: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """Yield the profiles in batches, one for each transaction."""
    for start in range(0, len(found), BATCH):
        yield found[start : start + BATCH]


def _is_contact(row: database.Row, people: frozenset[str]) -> bool:
    seller = request_rows.read_seller(row["seller"])
    return seller is not None and erasure.match_key(seller.contact or "") in people
