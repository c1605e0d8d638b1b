"""SQL of requests: what it filters by is what the model says."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from bot.core.database.database import open_database
from bot.core.database.vault import Vault
from bot.service.model.request import Status
from bot.service.store import requests, status_index
from bot.service.usecases import applications
from tests.support.service_harness import NOON

if TYPE_CHECKING:
    from pathlib import Path

    from bot.core.database.database import Transaction

ROW = """
    INSERT INTO payment_requests (
        id, app_id, created_at, name, instrument_currency, receivers, amount, requested_user_data,
        expiration_type, total_units, remaining_units, reserved_units, enabled_at, expires_at)
    VALUES (:id, :app_id, 0, 'Coffee', 'USD', '[["alice", 500]]', 500, '[]',
        :kind, :total, :remaining, :reserved, :enabled_at, :expires_at)
"""
TIMES = (None, NOON - 1, NOON, NOON + 1)


def insert_every_combination(tx: Transaction, app_id: str) -> int:
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


async def test_the_filter_and_the_request_agree_on_its_status(tmp_path: Path) -> None:
    """In every combination of kind, units and times, each request is under one status."""
    db = open_database(f"sqlite:///{tmp_path}/bot.db")
    app_id = db.run(lambda tx: applications.create(tx, Vault("key"), "shop", 0)).app_id
    count = db.run(lambda tx: insert_every_combination(tx, app_id))
    every = await requests.page(db, app_id, NOON, limit=1000)
    assert len(every) == count == 192
    await status_index.refresh(db, app_id, lambda: NOON)
    for status in Status:
        filtered = await requests.page(db, app_id, NOON, limit=1000, status=status)
        expected = {one.id for one in every if one.status(NOON) is status}
        assert {one.id for one in filtered} == expected
        assert expected
    db.close()
