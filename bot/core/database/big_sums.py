"""Sums of money that no integer of a database holds, added up by it in two parts.

Beyond 64 bits SQLite adds in floating point, and SUM fails. An amount is split into billions and
the rest, so that each part of a billion payments still fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

BILLION = 1_000_000_000
BILLIONS, REST = f"amount / {BILLION}", f"amount - amount / {BILLION} * {BILLION}"
"""The parts of a column `amount`; the operator % would mean something else to some drivers."""


def split_amount(amount: int) -> tuple[int, int]:
    """Return the billions of an amount, and the rest."""
    return divmod(amount, BILLION)


def join_amount(row: Mapping[str, Any]) -> int:
    """Return the sum whose parts are the columns `billions` and `rest`."""
    return int(row["billions"]) * BILLION + int(row["rest"])
