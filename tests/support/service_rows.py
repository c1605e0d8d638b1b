"""Rows of payment requests in every combination of states."""

from __future__ import annotations

from itertools import product

from bot.core.database.database import Transaction
from tests.support.service_harness import NOON

ROW = """
    INSERT INTO payment_requests (
        id, app_id, created_at, name, instrument_currency, receivers, amount, requested_user_data,
        expiration_type, total_units, remaining_units, reserved_units, enabled_at, expires_at)
    VALUES (:id, :app_id, 0, 'Coffee', 'USD', '[{"destination":"alice","amount":500}]', 500, '[]',
        :kind, :total, :remaining, :reserved, :enabled_at, :expires_at)
"""
TIMES = (None, NOON - 1, NOON, NOON + 1)


def insert_every_combination(tx: Transaction, app_id: str) -> int:
    """Insert a request of each kind, state and time; return how many."""
    kinds = (("never", None), ("onPaymentCompleted", 1), ("limit", 2))
    rows = list(product(kinds, (0, 1), (0, 1), TIMES, TIMES))
    for number, ((kind, total), remaining, reserved, enabled_at, expires_at) in enumerate(rows):
        tx.execute(
            ROW,
            id=f"r{number:04d}",
            app_id=app_id,
            kind=kind,
            total=total,
            remaining=None if total is None else remaining,
            reserved=reserved,
            enabled_at=enabled_at,
            expires_at=expires_at,
        )
    return len(rows)
