"""The SQL filter by status agrees with the model."""

from __future__ import annotations

from pathlib import Path

from bot.core.database.vault import Vault
from bot.interface.vocabulary import Status
from bot.service.requests import applications, request_rows
from tests.support.empty_database import open_in
from tests.support.service_harness import NOON
from tests.support.service_rows import insert_every_combination


async def test_the_filter_and_the_request_agree_on_its_status(tmp_path: Path) -> None:
    """In every combination of kind, units and times, each request is under one status."""
    db = open_in(tmp_path)
    app_id = db.run(lambda tx: applications.create(tx, Vault("key"), "shop", 0)).app_id
    count = db.run(lambda tx: insert_every_combination(tx, app_id))
    every = await request_rows.page(db, app_id, NOON, limit=1000)
    assert len(every) == count == 192
    await request_rows.refresh_status(db, app_id, lambda: NOON)
    for status in Status:
        filtered = await request_rows.page(db, app_id, NOON, limit=1000, status=status)
        expected = {one.id for one in every if one.status(NOON) is status}
        assert {one.id for one in filtered} == expected
        assert expected
    db.close()
