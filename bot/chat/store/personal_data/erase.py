"""SQL of erasure: payers' data in recorded payments and queued messages, sellers' profiles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bot.chat.model.payout import owner_ref
from bot.core import exact_json
from bot.core.errors import Unreadable
from bot.core.outbox.payload_kinds import read_object
from bot.core.outbox.queries import TABLE
from bot.core.privacy import erasure
from bot.core.privacy.erasure import (
    HIDDEN,
    PersonalTable,
    concerns,
    match_key,
    redact,
)

if TYPE_CHECKING:
    from bot.core.database.database import Row, Transaction
    from bot.core.privacy.erasure import ErasedValues, Scope

NOTHING = "{}"

PROFILES = (
    "SELECT id, contact FROM sellers"
    " WHERE COALESCE(name, image, about, contact, accent) IS NOT NULL"
    " OR EXISTS (SELECT 1 FROM seller_accounts a WHERE a.seller_id = sellers.id) ORDER BY id"
)

WORDS = ("payer_name", "message")
"""Columns of what payers told their seller."""

NOTES = ("sent_note", "paid_back_note")
"""Columns of what sellers noted, which may name payers."""

TEXTS = (*WORDS, *NOTES)

KEPT = "queue IN ('messages', 'answers') OR (queue = 'updates' AND settled_at IS NOT NULL)"
"""Messages, and handled updates, in which people may have typed what is erased.

Jobs are left out: a seller's own addresses may equal those of a payer.
"""

OWN = (
    "kind", "language", "listing_id", "post_id", "design", "file_name", "query_id", "name",
    "currency", "text", "claim_id",
)  # fmt: skip
"""Texts without which a payload can't be read; a payer may have given the same words."""

SUMS = ("together", "to_refund", "price", "paid_by")
"""Fields of alerts that hold no words of payers: sums, and how a payment was paid."""


def recorded_payments(scope: Scope) -> PersonalTable:
    """Return the recorded payments that `scope` covers."""

    def change(row: Row) -> dict[str, object] | None:
        numbers = [row["transaction_id"]]
        covered = scope.covers(row["request_id"], row["received_at"], entered(row), numbers)
        return {"body": NOTHING, **dict.fromkeys(TEXTS)} if covered else None

    keys = ("request_id", "transaction_id")
    # Other servers write phone numbers in any format, so no search in SQL finds all of them.
    has_numbers = any(name.isdecimal() for name in scope.people or ())
    narrowed = replace(scope, people=None) if has_numbers else scope
    text = " || ' ' || ".join(["body", *(f"COALESCE({column}, '')" for column in TEXTS)])
    named, given = concerns(narrowed, text, ["transaction_id"])
    where = f"(body <> '{NOTHING}' OR COALESCE({', '.join(TEXTS)}) IS NOT NULL) AND {named}"
    columns = ("body", *TEXTS, "received_at")
    return PersonalTable("received_payments", keys, columns, change, where, given=given)


def entered(row: Row) -> list[object]:
    """Return what a payer entered with a recorded payment, and the seller's notes on it."""
    return [exact_json.loads(row["body"]), *(row[column] for column in TEXTS)]


def mentions(scope: Scope, addresses: ErasedValues, noted: ErasedValues) -> PersonalTable:
    """Return recorded payments in which others wrote about an erased payer.

    Payers' words lose the addresses, and sellers' notes all that is `noted`.
    """
    lost = dict.fromkeys(WORDS, addresses) | dict.fromkeys(NOTES, noted)
    keys = ("request_id", "transaction_id")
    return erasure.mentions("received_payments", keys, "received_at", lost, scope)


def messages(scope: Scope, listing_id: str | None, gone: ErasedValues) -> PersonalTable:
    """Return the rows of the outbox that name payers.

    Waiting alerts lose the data that `scope` covers (`listing_id` is the listing of its request);
    all rows, handled updates too, lose the values `gone`.
    """

    def change(row: Row) -> dict[str, object] | None:
        body, note = _body(row), row["note"]
        wanted = _redacted(_untold(body, row["created_at"], scope, listing_id), gone)
        hushed = redact(note, gone)
        is_kept = bool(body) or row["body"] == NOTHING
        if is_kept and (wanted, hushed) == (body, note):
            return None
        return {"body": exact_json.dumps(wanted), "note": hushed}

    return PersonalTable(TABLE, ("id",), ("body", "note", "created_at"), change, f"({KEPT})")


def sent_alerts(scope: Scope, listing_id: str | None, gone: ErasedValues) -> PersonalTable:
    """Return the alerts that were sent with words of payers, which lose the same as `messages`."""

    def change(row: Row) -> dict[str, object] | None:
        body = _body(row)
        wanted = _redacted(_untold(body, row["sent_at"], scope, listing_id), gone)
        return None if body and wanted == body else {"body": exact_json.dumps(wanted)}

    return PersonalTable("sent_alerts", ("lane", "message_id"), ("body", "sent_at"), change)


def _untold(body: dict[str, Any], at: int, scope: Scope, listing_id: str | None) -> dict[str, Any]:
    """Return an alert's body of the time `at` (epoch ms) without the payers that `scope` covers."""

    def anonymous(payment: dict[str, Any]) -> dict[str, Any]:
        request_id = scope.request_id if payment["listing_id"] == listing_id else None
        entered = [payment.get("payer", {}), payment.get("words", {})]
        covered = scope.covers(request_id, at, entered, [payment.get("transaction_id") or ""])
        return {**payment, "payer": {}, "words": {}} if covered else payment

    payments = body.get("payments")
    if not isinstance(payments, list):
        return body
    return {**body, "payments": [anonymous(payment) for payment in payments]}


def _body(row: Row) -> dict[str, Any]:
    """Read a message's body; nothing is kept of one that can't be read."""
    try:
        return dict(read_object(row["body"]))
    except Unreadable:
        return {}


def _redacted(body: dict[str, Any], gone: ErasedValues) -> dict[str, Any]:
    """Return a message's body without the values `gone`; a payload stays readable."""
    wanted: dict[str, Any] = redact(body, gone)
    if "kind" not in body:
        return wanted
    own = {name: HIDDEN if name == "text" else body[name] for name in OWN if name in body}
    sums = {name: body[name] for name in SUMS if name in body}
    if isinstance(payments := body.get("payments"), list):
        sums["payments"] = [_redacted(payment, gone) for payment in payments]
    return {**own, **wanted, **sums}


def sellers_with_profile(tx: Transaction, scope: Scope) -> list[int]:
    """Return the ids of the sellers of the scope who have anything in a profile, or an account.

    People are sellers by their contact or by their reference, such as `seller-4711`. Returns none
    if the scope is limited to payments.
    """
    people = scope.sellers
    if scope.before is not None or scope.request_id is not None or not people:
        return []
    return [
        int(row["id"])
        for row in tx.query(PROFILES)
        if owner_ref(row["id"]) in people or match_key(row["contact"] or "") in people
    ]


def payer_data(tx: Transaction, transaction_id: str) -> dict[str, Any] | None:
    """Return the payer's data of a recorded payment, None if there is no such payment."""
    row = tx.one(
        "SELECT body FROM received_payments WHERE transaction_id = :id LIMIT 1", id=transaction_id
    )
    return dict(exact_json.loads(row["body"])) if row else None


def listing_id_of(tx: Transaction, request_id: str) -> str | None:
    """Return the id of a request's listing, None if there is none."""
    row = tx.one("SELECT id FROM listings WHERE request_id = :id", id=request_id)
    return str(row["id"]) if row else None
