"""Where the chat keeps what payers said about themselves: payments that were told, and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.core import exact_json
from bot.core.privacy.erasure import Place, narrowed, redacted

if TYPE_CHECKING:
    from bot.core.database.database import Row, Transaction
    from bot.core.privacy.erasure import Gone, Scope

NOTHING = "{}"

KEPT = "queue IN ('messages', 'answers') OR (queue = 'updates' AND settled_at IS NOT NULL)"
"""Messages, and updates that were dealt with: a press of a button brings along what it was under.

What sellers ask for is left out: their own addresses may be those of a payer.
"""


def recorded_payments(scope: Scope) -> Place:
    """Give the payments that were told."""

    def change(row: Row) -> dict[str, object] | None:
        data = exact_json.loads(row["body"])
        covered = scope.covers(row["request_id"], row["received_at"], data)
        return {"body": NOTHING} if covered else None

    keys = ("request_id", "transaction_id")
    has_numbers = any(
        name.isdecimal() for name in scope.people or ()
    )  # other servers write them freely
    named, given = narrowed("body", () if has_numbers else scope.people)
    where = f"body <> '{NOTHING}' AND {named}"
    return Place("received_payments", keys, ("body", "received_at"), change, where, given=given)


def messages(scope: Scope, listing_id: str | None, gone: Gone) -> Place:
    """Give what waits or is kept in the outbox and names payers.

    An alert that waits goes without what `scope` covers, `listing_id` being that of its request;
    whatever is kept, also what sellers' buttons brought along, without the values `gone`.
    """

    def change(row: Row) -> dict[str, object] | None:
        body, note = exact_json.loads(row["body"]), row["note"]
        wanted = redacted(_untold(body, row["created_at"]), gone)
        hushed = redacted(note, gone)
        if (wanted, hushed) == (body, note):
            return None
        return {"body": exact_json.dumps(wanted), "note": hushed}

    def _untold(body: dict[str, Any], at: int) -> dict[str, Any]:
        payments = body.get("payments")
        if not isinstance(payments, list):
            return body
        return {**body, "payments": [_anonymous(payment, at) for payment in payments]}

    def _anonymous(payment: dict[str, Any], at: int) -> dict[str, Any]:
        request_id = scope.request_id if payment["listing_id"] == listing_id else None
        covered = scope.covers(request_id, at, payment.get("payer", {}))
        return {**payment, "payer": {}} if covered else payment

    return Place("outbox", ("id",), ("body", "note", "created_at"), change, f"({KEPT})")


def payer_data(tx: Transaction, transaction_id: str) -> dict[str, Any] | None:
    """Give what the payer of a payment that was told said; None where there is no such one."""
    row = tx.one(
        "SELECT body FROM received_payments WHERE transaction_id = :id LIMIT 1", id=transaction_id
    )
    return dict(exact_json.loads(row["body"])) if row else None


def listing_id_of(tx: Transaction, request_id: str) -> str | None:
    """Give the listing of a request."""
    row = tx.one("SELECT id FROM listings WHERE request_id = :id", id=request_id)
    return str(row["id"]) if row else None
