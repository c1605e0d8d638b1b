"""`kill -9` at twenty random moments under load: each payment keeps its one webhook id."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest

from tests.support.free_ports import free_port
from tests.support.http_peers import open_receiver
from tests.support.machine_faults import wait_until_idle
from tests.support.product_process import (
    app_headers,
    create_application,
    patient_client,
    start_bot,
)
from tests.support.raw_payers import paid, posted, request_of

KILLS, PAYERS, UNITS = 20, 12, 100_000
SEED = 20261121
ROW = "SELECT remaining_units, reserved_units, decreased_units, paid_count FROM payment_requests"


async def buying(
    url: str, request_id: str, who: str, receipts: set[str], ended: asyncio.Event
) -> None:
    """Pay until `ended`; after a lost answer post the same form once more, as a browser does."""
    for number in range(UNITS):
        if ended.is_set():
            return
        token = f"{who}-{number:020d}"
        while True:
            try:
                answer = await posted(url, request_id, token)
            except OSError:
                await asyncio.sleep(0.01)
                continue
            break
        assert answer.status == 303, answer.text
        receipts.add(answer.location.rpartition("/")[2])


async def killed(folder: Path, env: dict[str, str], moment: float) -> None:
    async with start_bot(folder, "service", **env) as run:
        await run.ready()
        await asyncio.sleep(moment)  # the moment itself is what is tried
        await run.kill()


@pytest.mark.timeout(300)  # twenty-two starts
async def test_twenty_kills_under_load_lose_nothing(tmp_path: Path) -> None:
    """No payment without its webhook, no webhook without its payment, no unit lost."""
    moments = random.Random(SEED)
    headers = app_headers(await create_application(tmp_path))
    env = {
        "PORT": free_port(), "PAYER_RATE": "0", "API_RATE": "0",
        "WEBHOOK_ALLOW": "127.0.0.1", "LOG_LEVEL": "info",
    }  # fmt: skip
    receipts, ended = set[str](), asyncio.Event()
    async with open_receiver() as receiver:
        async with start_bot(tmp_path, "service", **env) as run:
            await run.ready()
            async with patient_client(run.url, headers) as seller:
                made = await request_of(seller, receiver.url, UNITS)
            await run.stop()
        payers = [
            asyncio.create_task(buying(run.url, made["id"], f"payer-{number:04d}", receipts, ended))
            for number in range(PAYERS)
        ]
        for _ in range(KILLS):
            await killed(tmp_path, env, moments.uniform(0, 0.4))
        async with start_bot(tmp_path, "service", **env) as run:
            await run.ready()
            ended.set()
            await asyncio.gather(*payers)
            await wait_until_idle(run)
            async with patient_client(run.url, headers) as seller:
                kept = await paid(seller, made["id"])
            (units,) = run.rows(ROW)
        told: dict[str, set[str]] = {}
        for one in receiver.received:
            transaction = json.loads(one.body)["transactionId"]
            told.setdefault(transaction, set()).add(one.headers["webhook-id"])
    assert len(kept) == len(set(kept)) > KILLS
    assert told.keys() == set(kept)
    assert receipts <= set(kept)
    assert all(len(ids) == 1 for ids in told.values())
    remaining, reserved, decreased, sold = units
    assert (reserved, decreased) == (0, 0)
    assert sold == len(kept)
    assert remaining + sold == UNITS
