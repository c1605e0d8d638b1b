"""A thousand payers of a hundred units at once: none is oversold, all are answered."""

from __future__ import annotations

import asyncio
import json
import resource
from pathlib import Path

from tests.support.http_peers import open_receiver
from tests.support.product_process import (
    PATIENCE,
    app_headers,
    create_application,
    patient_client,
    start_bot,
)
from tests.support.raw_payers import paid, posted, request_of

PAYERS, UNITS = 1000, 100
ROOM = 4 * PAYERS


def open_files() -> None:
    """Allow this process a connection for each payer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < ROOM:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(ROOM, hard), hard))


async def test_a_thousand_payers_of_a_drop_of_a_hundred(tmp_path: Path) -> None:
    """Exactly 100 are paid and told once each, 900 read that it is sold out, nobody a 5xx."""
    open_files()
    headers = app_headers(await create_application(tmp_path))
    env = {"PAYER_RATE": "0", "API_RATE": "0", "WEBHOOK_ALLOW": "127.0.0.1", "LOG_LEVEL": "info"}
    async with open_receiver() as receiver, start_bot(tmp_path, "service", **env) as run:
        await run.ready()
        async with patient_client(run.url, headers) as seller:
            made = await request_of(seller, receiver.url, UNITS)
            answers = await asyncio.gather(
                *(posted(run.url, made["id"], f"payer-{number:026d}") for number in range(PAYERS))
            )
            found = (await seller.get(f"/v3/paymentRequests/{made['id']}")).json()
            listed = await paid(seller, made["id"])
        statuses = [answer.status for answer in answers]
        assert (statuses.count(303), statuses.count(409)) == (UNITS, PAYERS - UNITS)
        refused = [answer for answer in answers if answer.status == 409]
        assert all("Sold out" in answer.text for answer in refused)
        receipts = {answer.location.rpartition("/")[2] for answer in answers if answer.location}
        assert (found["remainingUnits"], found["status"]) == (0, "soldOut")
        assert set(listed) == receipts
        assert len(receipts) == UNITS
        async with asyncio.timeout(PATIENCE):
            await receiver.count(UNITS)
        told = [json.loads(one.body) for one in receiver.received]
    assert sorted(one["transactionId"] for one in told) == sorted(receipts)
    assert sorted(one["remainingUnits"] for one in told) == list(range(UNITS))
    assert len({one.headers["webhook-id"] for one in receiver.received}) == UNITS
