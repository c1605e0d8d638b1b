"""The whole product as a process on PostgreSQL: a seller asks, a payer pays, an alert comes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.databases import POSTGRESQL, rows
from tests.support.machine_faults import OPEN, open_drop
from tests.support.product_process import PATIENCE, sandbox_telegram


@pytest.mark.only(POSTGRESQL, "the other tests of this folder are SQLite's")
async def test_a_payment_is_made_and_its_alert_comes_also_after_a_restart(
    tmp_path: Path, database_url: str
) -> None:
    settings = {**OPEN, "DATABASE_URL": database_url, "SECRET_KEY": "k" * 32}
    async with sandbox_telegram(tmp_path) as stage:
        async with stage.run(**settings) as run:
            shop = await open_drop(stage, await run.ready())
            assert await run.stop() == 0
        async with stage.run(**settings) as run:
            shop.url = (await run.ready()).url
            await shop.pay(1)
            await stage.world.wait_for(lambda: len(shop.seller.alerts) > 1, PATIENCE)
    paid = rows(database_url, "SELECT id FROM payments")
    assert sorted(key for (key,) in paid) == sorted(shop.receipts.values())
