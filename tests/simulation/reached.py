"""Which kinds of giving and getting a run reached: one that no run reaches proves nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from bot.core.database.database import Row

if TYPE_CHECKING:
    Rows = Callable[..., list[Row]]

CODES = {
    "codes typed": "code LIKE 'k%q-t%'",
    "codes in a file": "code LIKE 'k%q-f%'",
    "codes sent later": "code LIKE 'k%q-m%' OR code LIKE 'k%q-n%'",
}
"""Codes, by how their seller gave them: see `typed_words.codes`."""

MARKS = {
    "sent": "payment.sent",
    "no longer sent": "payment.sent-undone",
    "paid back": "payment.paid-back",
    "no longer paid back": "payment.paid-back-undone",
    "hidden": "payment.words-hidden",
    "shown again": "payment.words-shown",
}
"""The marks of payments, by their action in the audit log."""

GOT = (
    "(SELECT COUNT(*) FROM codes WHERE codes.request_id = payments.request_id"
    " AND place >= first_unit AND place < first_unit + payments.quantity)"
)
SALES = {
    "several units": "payments.quantity > 1",
    "a code": f"paid_back_at IS NULL AND {GOT} > 0",
    "several codes": f"paid_back_at IS NULL AND {GOT} > 1",
    "a code awaited": f"codes_count > 0 AND {GOT} < payments.quantity",
    "a code taken back": f"paid_back_at IS NOT NULL AND {GOT} > 0",
}
"""The payments, by what they bought."""

NUMBER = "COUNT(*) AS number"
PAID = (
    "SELECT {} FROM payments JOIN payment_requests AS request ON request.id = request_id WHERE {}"
)


def codes_given(rows: Rows) -> dict[str, int]:
    """Count the requests with codes, by how the monkeys' sellers wrote them."""
    sql = "SELECT COUNT(DISTINCT request_id) AS number FROM codes WHERE "
    return {name: rows(sql + where)[0]["number"] for name, where in CODES.items()}


def bought(rows: Rows) -> dict[str, int]:
    """Count what payers chose and got, and how their payments were marked."""
    marks = "SELECT COUNT(DISTINCT details) AS number FROM audit WHERE action = :action"
    counted = {name: rows(marks, action=action) for name, action in MARKS.items()}
    counted |= {name: rows(PAID.format(NUMBER, where)) for name, where in SALES.items()}
    return {name: found[0]["number"] for name, found in counted.items()} | _amounts(rows)


def _amounts(rows: Rows) -> dict[str, int]:
    """Count the payments of a suggested amount, and of an own one."""
    chosen = "payments.amount, payments.quantity, amount_choice"
    paid = rows(PAID.format(chosen, "amount_choice IS NOT NULL"))
    suggested = [
        row["amount"] // row["quantity"] in json.loads(row["amount_choice"]).get("suggested", [])
        for row in paid
    ]
    return {"a suggested amount": sum(suggested), "an own amount": len(paid) - sum(suggested)}
