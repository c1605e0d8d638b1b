"""A hundred codes, 130 payers and `kill -9` in between: each code goes to one payment."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.free_ports import free_port
from tests.support.product_process import patient_client, run_command, start_bot
from tests.support.raw_payers import REQUESTS_PATH, Answer, paid, posted

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

CODES, PAYERS, KILLS = 100, 130, 8
AT_ONCE = 13
"""Payers that pay at the same time."""

SEED = 20261123


async def buying(url: str, request_id: str, waiting: list[str], answers: dict[str, Answer]) -> None:
    """Post one form after the other; after a lost answer the same form once more."""
    while waiting:
        token = waiting.pop()
        while token not in answers:
            try:
                answers[token] = await posted(url, request_id, token)
            except OSError:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)  # so that the kills meet payers all the way


async def make_drop(seller: httpx.AsyncClient, codes: list[str]) -> str:
    body = {
        "product": {"name": "Voucher"},
        "instrumentCurrencyCode": "EUR",
        "receivers": [{"sendAmount": 5, "destination": "band"}],
        "expirationType": "limit",
        "totalUnits": CODES,
        "delivery": {"codes": codes},
    }
    answer = await seller.post(REQUESTS_PATH, json=body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


async def receipt(seller: httpx.AsyncClient, request_id: str, transaction_id: str) -> Any:
    path = f"{REQUESTS_PATH}/public/{request_id}/receipts/{transaction_id}"
    answer = await seller.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.timeout(300)  # ten starts
async def test_each_code_goes_to_one_payment_whatever_is_killed(tmp_path: Path) -> None:
    """100 payments have a code each, all different; 30 payers are told that it is sold out."""
    moments = random.Random(SEED)
    printed = (await run_command(tmp_path, "apps", "create", "a"))[1]
    keys = dict(line.split("=", 1) for line in printed)
    headers = {"App-Id": keys["APP_ID"], "App-Secret": keys["APP_SECRET"]}
    env = {"PORT": free_port(), "PAYER_RATE": "0", "API_RATE": "0"}
    codes = [f"CODE-{number:03d}" for number in range(1, CODES + 1)]
    waiting = [f"payer-{number:020d}" for number in range(PAYERS)]
    answers: dict[str, Answer] = {}
    async with start_bot(tmp_path, "service", **env) as run:
        await run.ready()
        async with patient_client(run.url, headers) as seller:
            request_id = await make_drop(seller, codes)
        await run.stop()
    payers = [
        asyncio.create_task(buying(run.url, request_id, waiting, answers)) for _ in range(AT_ONCE)
    ]
    for _ in range(KILLS):
        async with start_bot(tmp_path, "service", **env) as run:
            await run.ready()
            await asyncio.sleep(moments.uniform(0, 0.1))  # the moment itself is what is tried
            await run.kill()
    async with start_bot(tmp_path, "service", **env) as run:
        await run.ready()
        await asyncio.gather(*payers)
        async with patient_client(run.url, headers) as seller:
            kept = await paid(seller, request_id)
            shown = [await receipt(seller, request_id, one) for one in kept]
    statuses = sorted(answer.status for answer in answers.values())
    assert statuses == [303] * CODES + [409] * (PAYERS - CODES)
    assert sorted(kept) == sorted(
        answer.location.rpartition("/")[2] for answer in answers.values() if answer.status == 303
    )
    delivered = [code for one in shown for code in one["delivery"]["codes"]]
    assert sorted(delivered) == codes
    numbers = [one["units"]["first"] for one in shown]
    assert sorted(numbers) == list(range(1, CODES + 1))
    assert {answer.text.count("CODE-") for answer in answers.values()} == {0}
