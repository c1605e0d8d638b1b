"""SQL of codes: the code of a request's unit number n is the row with place n.

The number of a unit is drawn by the statement that sells it, so a code is sold once, and costs a
payment no statement. Callers hold the request's lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bot.core.database.database import Transaction
    from bot.service.model.request import PaymentRequest

ROWS = 200
"""Rows of one statement: all but the last of a list have the same text."""

OF_UNITS = (
    "SELECT code FROM codes WHERE request_id = :request_id AND place >= :first AND place <= :last"
    " ORDER BY place"
)
COUNT = """
    UPDATE payment_requests SET codes_count = :last, codes_skipped = :skipped WHERE id = :id
"""

OF_SELLER = """
    SELECT COALESCE(SUM(codes_count - codes_skipped), 0) AS codes FROM payment_requests
    WHERE app_id = :app_id AND owner = :owner AND codes_count > 0
"""


def add(tx: Transaction, request_id: str, first: int, codes: Sequence[str]) -> None:
    """Store codes at the places from `first` on; none of them may be known."""
    for start, some in _slices(codes):
        rows = ", ".join(
            f"(:request_id, CAST(:first AS BIGINT) + {number}, :code{number})"
            for number in range(len(some))
        )
        tx.execute(
            f"INSERT INTO codes (request_id, place, code) VALUES {rows}",  # noqa: S608 - numbers
            request_id=request_id,
            first=first + start,
            **_named(some),
        )


def new_ones(tx: Transaction, request_id: str, codes: Sequence[str]) -> list[str]:
    """Return the codes that the request doesn't have yet."""
    known: set[str] = set()
    for _, some in _slices(codes):
        listed = ", ".join(f":code{number}" for number in range(len(some)))
        rows = tx.query(
            f"SELECT code FROM codes WHERE request_id = :request_id AND code IN ({listed})",  # noqa: S608 - names
            request_id=request_id,
            **_named(some),
        )
        known.update(row["code"] for row in rows)
    return [code for code in codes if code not in known]


def delete_after(tx: Transaction, request_id: str, last: int) -> None:
    """Delete the codes of the units after number `last`, which are not sold."""
    sql = "DELETE FROM codes WHERE request_id = :request_id AND place > :last"
    tx.execute(sql, request_id=request_id, last=last)


def set_counts(tx: Transaction, request_id: str, last: int, skipped: int) -> None:
    """Store the last unit that has a code, and how many units up to it have none."""
    tx.execute(COUNT, id=request_id, last=last, skipped=skipped)


def count_of_seller(tx: Transaction, request: PaymentRequest) -> int:
    """Return how many codes the seller of a request has, sold ones and deleted requests' too."""
    (row,) = tx.query(OF_SELLER, app_id=request.app_id, owner=request.owner)
    return int(row["codes"])


def last_unit(tx: Transaction, request_id: str) -> int:
    """Return the last unit of a request that has a code."""
    (row,) = tx.query("SELECT codes_count FROM payment_requests WHERE id = :id", id=request_id)
    return int(row["codes_count"])


def of_units(tx: Transaction, request_id: str, units: range) -> tuple[str, ...]:
    """Return the codes of units in their order; those that have none yet are missing."""
    rows = tx.query(OF_UNITS, request_id=request_id, first=units[0], last=units[-1])
    return tuple(row["code"] for row in rows)


def _slices(codes: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    for start in range(0, len(codes), ROWS):
        yield start, codes[start : start + ROWS]


def _named(codes: Sequence[str]) -> dict[str, str]:
    return {f"code{number}": code for number, code in enumerate(codes)}
