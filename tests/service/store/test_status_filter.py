"""The SQL filter by status agrees with the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.database.vault import Vault
from bot.service.model.request import Status
from bot.service.store import requests, status_index
from bot.service.usecases import applications
from tests.support.empty_database import open_in
from tests.support.service_harness import NOON
from tests.support.service_rows import insert_every_combination

if TYPE_CHECKING:
    from pathlib import Path


async def test_the_filter_and_the_request_agree_on_its_status(tmp_path: Path) -> None:
    """In every combination of kind, units and times, each request is under one status."""
    db = open_in(tmp_path)
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
