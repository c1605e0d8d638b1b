"""SQL of erasure and of exports: recorded payments, queued messages, sellers and kept receipts."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import replace
from typing import Any

from bot.chat.model import payout, receipt, request_spec
from bot.chat.store import payment_rows
from bot.core import erasure, errors, exact_json, stored_json
from bot.core.database import database
from bot.core.money import amounts
from bot.core.outbox import bulk_changes, queries

NOTHING = "{}"

PROFILES = (
    "SELECT id, contact FROM sellers"
    " WHERE COALESCE(name, image, about, contact, accent) IS NOT NULL"
    " OR EXISTS (SELECT 1 FROM seller_accounts a WHERE a.seller_id = sellers.id) ORDER BY id"
)

WORDS = ("payer_name", "message")
"""Columns with payers' names and messages."""

NOTES = ("sent_note", "paid_back_note")
"""Columns with sellers' notes, which may name payers."""

TEXTS = (*WORDS, *NOTES)

KEPT = "queue IN ('messages', 'answers') OR (queue = 'updates' AND settled_at IS NOT NULL)"
"""Messages and handled updates, which may contain erased data that people typed.

Jobs are left out, because a seller's own address may equal a payer's.
"""

OWN = (
    "kind", "language", "link_id", "post_id", "design", "file_name", "query_id", "name",
    "currency", "text", "claim_id",
)  # fmt: skip
"""Texts that a payload needs to be readable, even if they equal a payer's words."""

SUMS = ("together", "to_refund", "price", "paid_by")
"""Fields of alerts without payers' words: sums, and how a payment was paid."""


def payments_to_erase(scope: erasure.Scope) -> erasure.PersonalTable:
    """Return the recorded payments that `scope` covers."""

    def change(row: database.Row) -> dict[str, object] | None:
        numbers = [row["transaction_id"]]
        covered = scope.covers(
            row["request_id"], row["received_at"], entered_by_payer(row), numbers
        )
        return {"body": NOTHING, **dict.fromkeys(TEXTS)} if covered else None

    keys = ("request_id", "transaction_id")
    # Other servers write phone numbers in any format, so an SQL search can't find them all.
    has_numbers = any(name.isdecimal() for name in scope.people or ())
    narrowed = replace(scope, people=None) if has_numbers else scope
    text = " || ' ' || ".join(["body", *(f"COALESCE({column}, '')" for column in TEXTS)])
    named, given = erasure.concerns(narrowed, text, ["transaction_id"])
    where = f"(body <> '{NOTHING}' OR COALESCE({', '.join(TEXTS)}) IS NOT NULL) AND {named}"
    columns = ("body", *TEXTS, "received_at")
    return erasure.PersonalTable("received_payments", keys, columns, change, where, given=given)


def entered_by_payer(row: database.Row) -> list[object]:
    """Return the data that a payer entered with a payment, and the seller's notes on it."""
    return [stored_json.read(dict, row["body"]), *(row[column] for column in TEXTS)]


def mentions(
    scope: erasure.Scope, addresses: erasure.ErasedValues, noted: erasure.ErasedValues
) -> erasure.PersonalTable:
    """Return the recorded payments in which other people wrote about an erased payer.

    `addresses` are removed from payers' words, `noted` values from sellers' notes.
    """
    lost = dict.fromkeys(WORDS, addresses) | dict.fromkeys(NOTES, noted)
    keys = ("request_id", "transaction_id")
    return erasure.mentions("received_payments", keys, "received_at", lost, scope)


def messages_to_erase(
    scope: erasure.Scope, link_id: str | None, gone: erasure.ErasedValues
) -> erasure.PersonalTable:
    """Return the rows of the outbox that name payers.

    The data that `scope` covers is removed from waiting alerts (`link_id` is the link of the
    scope's request). The values `gone` are removed from all rows, including handled updates.
    """

    def change(row: database.Row) -> dict[str, object] | None:
        body, note = _body(row), row["note"]
        wanted = _redacted(_untold(body, row["created_at"], scope, link_id), gone)
        hushed = erasure.redact(note, gone)
        is_kept = bool(body) or row["body"] == NOTHING
        if is_kept and (wanted, hushed) == (body, note):
            return None
        return {"body": exact_json.dumps(wanted), "note": hushed}

    return erasure.PersonalTable(
        queries.TABLE, ("id",), ("body", "note", "created_at"), change, f"({KEPT})"
    )


def sent_alerts(
    scope: erasure.Scope, link_id: str | None, gone: erasure.ErasedValues
) -> erasure.PersonalTable:
    """Return the sent alerts with payers' words; the same data is removed as from messages."""

    def change(row: database.Row) -> dict[str, object] | None:
        body = _body(row)
        wanted = _redacted(_untold(body, row["sent_at"], scope, link_id), gone)
        return None if body and wanted == body else {"body": exact_json.dumps(wanted)}

    return erasure.PersonalTable("sent_alerts", ("lane", "message_id"), ("body", "sent_at"), change)


def _untold(
    body: dict[str, Any], at: int, scope: erasure.Scope, link_id: str | None
) -> dict[str, Any]:
    """Return the body of an alert of time `at` (epoch ms) without the payers in `scope`."""

    def anonymous(payment: dict[str, Any]) -> dict[str, Any]:
        request_id = scope.request_id if payment["link_id"] == link_id else None
        entered = [payment.get("payer", {}), payment.get("words", {})]
        covered = scope.covers(request_id, at, entered, [payment.get("transaction_id") or ""])
        return {**payment, "payer": {}, "words": {}} if covered else payment

    payments = body.get("payments")
    if not isinstance(payments, list):
        return body
    return {**body, "payments": [anonymous(payment) for payment in payments]}


def _body(row: database.Row) -> dict[str, Any]:
    """Parse a message's body; {} if it can't be read, so that nothing is kept."""
    try:
        return dict(stored_json.read_object(row["body"]))
    except errors.Unreadable:
        return {}


def _redacted(body: dict[str, Any], gone: erasure.ErasedValues) -> dict[str, Any]:
    """Return a message's body without the values `gone`; payloads stay readable."""
    wanted: dict[str, Any] = erasure.redact(body, gone)
    if "kind" not in body:
        return wanted
    own = {name: erasure.HIDDEN if name == "text" else body[name] for name in OWN if name in body}
    sums = {name: body[name] for name in SUMS if name in body}
    if isinstance(payments := body.get("payments"), list):
        sums["payments"] = [_redacted(payment, gone) for payment in payments]
    return {**own, **wanted, **sums}


def sellers_with_profile(tx: database.Transaction, scope: erasure.Scope) -> list[int]:
    """Return the ids of the scope's sellers who have profile data or a payout account.

    Sellers are found by contact, or by reference such as `seller-4711`. Return [] if the scope is
    limited to payments.
    """
    people = scope.sellers
    if scope.before is not None or scope.request_id is not None or not people:
        return []
    return [
        int(row["id"])
        for row in tx.query(PROFILES)
        if payout.owner_ref(row["id"]) in people
        or erasure.match_key(row["contact"] or "") in people
    ]


def payer_data(tx: database.Transaction, transaction_id: str) -> dict[str, Any] | None:
    """Return the payer's data of a recorded payment, or None if there is no such payment."""
    row = tx.one(
        "SELECT body FROM received_payments WHERE transaction_id = :id LIMIT 1", id=transaction_id
    )
    return stored_json.read(dict, row["body"]) if row else None


def link_id_of(tx: database.Transaction, request_id: str) -> str | None:
    """Return the id of a request's link, or None."""
    row = tx.one("SELECT id FROM listings WHERE request_id = :id", id=request_id)
    return str(row["id"]) if row else None


PAGE = 1000
"""Rows in memory at once."""

RECORDED = """
    SELECT p.request_id, p.transaction_id, p.amount, p.currency, p.body, p.oversold, p.underpaid,
      p.received_at, p.paid_by, p.paid_back_at, p.paid_back_note, p.quantity, p.payer_name,
      p.message, p.message_hidden, p.sent_at, p.sent_note, l.wish
    FROM received_payments p JOIN listings l ON l.id = p.listing_id
    WHERE (p.request_id, p.transaction_id) > (:request, :transaction)
      AND p.received_at >= :since AND p.received_at < :until
      AND (:only = '' OR p.request_id = :only)
    ORDER BY p.request_id, p.transaction_id LIMIT :page
"""


SELLERS = """
    SELECT id, language, destination, currency, zone, name, image, about, contact, accent,
      created_at FROM sellers
    WHERE id > :last AND created_at >= :since AND created_at < :until ORDER BY id LIMIT :page
"""


PAID_BACK = """
    SELECT request_id, transaction_id, paid_back_at, paid_back_note FROM received_payments
    WHERE paid_back_at IS NOT NULL
"""


async def exported_sellers(
    db: database.Database, since: int, until: int
) -> AsyncIterator[database.Row]:
    """Yield the sellers who joined from `since` until before `until` (epoch ms), ordered by id."""
    last = 0
    while rows := await db.query(SELLERS, last=last, since=since, until=until, page=PAGE):
        for row in rows:
            yield row
        last = rows[-1]["id"]


def seller_record(row: database.Row, created_at: str, images: str) -> dict[str, Any]:
    """Build the exported form of a seller; `images` is the base address of sellers' pictures."""
    return {
        "telegramId": row["id"],
        "createdAt": created_at,
        "language": row["language"],
        "timeZone": row["zone"],
        "destination": row["destination"],
        "currencyCode": row["currency"],
        "name": row["name"],
        "about": row["about"],
        "contact": row["contact"],
        "accentColor": row["accent"],
        "imageUrl": row["image"] and f"{images}/{row['image']}",
    }


async def exported_payments(
    db: database.Database, since: int, until: int, request_id: str | None
) -> AsyncIterator[database.Row]:
    """Yield the payments recorded from `since` until before `until` (epoch ms), by request."""
    request, transaction, only = "", "", request_id or ""
    while rows := await db.query(
        RECORDED,
        request=request,
        transaction=transaction,
        since=since,
        until=until,
        only=only,
        page=PAGE,
    ):
        for row in rows:
            yield row
        request, transaction = rows[-1]["request_id"], rows[-1]["transaction_id"]


def export_record(
    row: database.Row, moment: Callable[[int], str], *, payers: bool
) -> dict[str, Any]:
    """Build the exported form of a payment, with the payer's data if `payers` is set.

    `moment` formats epoch ms. The amount is empty if the server doesn't send it.
    """
    spec = request_spec.RequestSpec.from_json(row["wish"])
    settlement = "oversold" if row["oversold"] else "paid"
    if row["underpaid"]:
        settlement = "underpaid"
    found = {
        "transactionId": row["transaction_id"],
        "paymentRequestId": row["request_id"],
        "product": spec.name if spec else None,
        "receivedAt": moment(row["received_at"]),
        "amount": amounts.from_minor(row["amount"], row["currency"]),
        "currencyCode": row["currency"],
        "settlement": settlement,
        **_how(row),
        "quantity": row["quantity"],
        "sentAt": None if row["sent_at"] is None else moment(row["sent_at"]),
        **payback_fields(row, moment, payers=payers),
        "messageHidden": bool(row["message_hidden"]),
    }
    if not payers:
        return found
    is_hidden = bool(row["message_hidden"])  # the seller has hidden what the payer entered
    return found | {
        "userData": stored_json.read(dict, row["body"]),
        "name": None if is_hidden else row["payer_name"],
        "message": None if is_hidden else row["message"],
        "sentNote": row["sent_note"],
    }


def _how(row: database.Row) -> dict[str, Any]:
    """Return how a payment was paid: rail, reference, amount received and exchange rate."""
    paid = payment_rows.read_paid_by(row)
    return {
        "kind": paid and paid.kind,
        "externalId": paid and paid.reference,
        "paidAmount": paid and amounts.from_minor(paid.amount, paid.currency),
        "paidCurrencyCode": paid and paid.currency,
        "rate": paid and paid.rate,
        "rateSource": paid and paid.source,
    }


async def paid_back(db: database.Database) -> dict[tuple[str, str], database.Row]:
    """Return the payments marked as paid back, by request and transaction id; they are few."""
    rows = await db.query(PAID_BACK)
    return {(row["request_id"], row["transaction_id"]): row for row in rows}


def payback_fields(
    row: database.Row | None, moment: Callable[[int], str], *, payers: bool
) -> dict[str, Any]:
    """Return when a payment was paid back, and if `payers` is set the note, which may name one."""
    at = row["paid_back_at"] if row else None
    fields = {"paidBackAt": None if at is None else moment(at)}
    return fields | ({"paidBackNote": row and row["paid_back_note"]} if payers else {})


RECEIPTS_PAGE = 1000
"""Rows in memory at once."""

NO_RECEIPT, NO_LANE = "{}", "erased"
"""The body that replaces an erased queued message, and the lane that it is moved to."""

_BUYER = re.compile(r"buyer-([1-9][0-9]{0,17})")
_SELECT = "SELECT request_id, transaction_id, account_id, kept_at FROM kept_receipts"
_OF_PAYMENT = "request_id = :request_id AND transaction_id = :transaction_id"
_DELETE = f"DELETE FROM kept_receipts WHERE {_OF_PAYMENT} AND account_id = :account"  # noqa: S608 - our own words
_QUEUED = (
    f"SELECT id FROM {queries.TABLE} WHERE queue IN ('messages', 'jobs', 'updates')"  # noqa: S608 - our own name
    " AND lane IN (:account, :receipts) AND body LIKE :mentions"
)
_EXPORT = (
    "SELECT request_id, transaction_id, account_id, kept_at, name, amount, currency, status"
    " FROM kept_receipts WHERE (request_id, transaction_id) > (:request, :transaction)"
    " AND kept_at >= :since AND kept_at < :until AND (:only = '' OR request_id = :only)"
    " ORDER BY request_id, transaction_id LIMIT :page"
)


def is_buyer(word: str) -> bool:
    """True if a word names a buyer: `buyer-4711` is the Telegram account 4711."""
    return _BUYER.fullmatch(word) is not None


def kept_receipts(
    tx: database.Transaction, scope: erasure.Scope, payments: Collection[receipt.ReceiptKey]
) -> list[database.Row]:
    """Return the kept receipts that `scope` covers, and the receipts of erased `payments`.

    If the scope names people, it covers receipts by account and by transaction id.
    """
    if scope.people is None:
        found = tx.query(_SELECT)
        return [row for row in found if _is_covered(row, scope) or _key(row) in payments]
    named = [_BUYER.fullmatch(word) for word in scope.people]
    rows: list[database.Row] = []
    for account in sorted({int(found[1]) for found in named if found}):
        rows += tx.query(f"{_SELECT} WHERE account_id = :account", account=account)
    for number in sorted(scope.ids):
        rows += tx.query(f"{_SELECT} WHERE transaction_id = :number", number=number)
    rows = [row for row in rows if _is_covered(row, scope)]
    for key in payments:
        rows += tx.query(f"{_SELECT} WHERE {_OF_PAYMENT}", **key._asdict())
    return [*{_key(row): row for row in rows}.values()]


def forget_receipts(tx: database.Transaction, found: database.Row, now: int) -> None:
    """Delete a kept receipt and its data in the queues, at `now` (epoch ms)."""
    account, transaction = found["account_id"], found["transaction_id"]
    given = {"request_id": found["request_id"], "transaction_id": transaction, "account": account}
    tx.execute(_DELETE, **given)
    lanes = {
        "account": str(account),
        "receipts": f"receipts:{account}",
        "mentions": f"%{transaction}%",
    }
    bulk_changes.end_unsettled(tx, _QUEUED, now, **lanes)
    bulk_changes.overwrite(tx, _QUEUED, NO_RECEIPT, NO_LANE, **lanes)


async def exported_receipts(
    db: database.Database, since: int, until: int, request_id: str | None
) -> AsyncIterator[database.Row]:
    """Yield the receipts kept from `since` until before `until` (epoch ms), ordered by request."""
    last = {"request": "", "transaction": ""}
    given = {"since": since, "until": until, "only": request_id or "", "page": RECEIPTS_PAGE}
    while rows := await db.query(_EXPORT, **last, **given):
        for row in rows:
            yield row
        last = {"request": rows[-1]["request_id"], "transaction": rows[-1]["transaction_id"]}


def kept_record(row: database.Row, moment: Callable[[int], str], *, payers: bool) -> dict[str, Any]:
    """Build the exported form of a kept receipt, with its account if `payers` is set.

    `moment` formats epoch ms.
    """
    record = {
        "keptAt": moment(row["kept_at"]),
        "transactionId": row["transaction_id"],
        "paymentRequestId": row["request_id"],
        "product": row["name"],
        "amount": amounts.from_minor(row["amount"], row["currency"]),
        "currencyCode": row["currency"],
        "status": row["status"],
    }
    return {"telegramId": row["account_id"], **record} if payers else record


def _key(row: database.Row) -> receipt.ReceiptKey:
    return receipt.ReceiptKey(row["request_id"], row["transaction_id"])


def _is_covered(row: database.Row, scope: erasure.Scope) -> bool:
    is_asked = scope.request_id in (None, row["request_id"])
    return is_asked and (scope.before is None or row["kept_at"] < scope.before)
