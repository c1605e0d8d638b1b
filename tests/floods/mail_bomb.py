"""Letters to an address whose holder never asked: how many arrive in ten seconds."""

from __future__ import annotations

import asyncio
import ipaddress

import httpx

from bench.stage import TOKEN
from tests.floods.payer_clients import address, browser
from tests.floods.scenario_run import Found, Stage
from tests.support.raw_payers import REQUESTS_PATH

VICTIM = "victim@example.org"
PAYMENTS = 180
AT_ONCE = 8
COUNTED_SECONDS = 10.0
MOST_LETTERS = 14
"""That one mailbox may get in an hour (bot/service/notifications/recipients.py)."""
HOMES = ipaddress.IPv4Address("127.5.0.1")


async def by_chat(stage: Stage, seconds: float) -> Found:
    """Name the address step by step in the chat, then pay."""
    try:
        path = await stage.telegram.ask("guided", email=VICTIM)
    except RuntimeError as error:
        return Found(f"the address could not be named: {error}")
    return await _bomb(stage, path, seconds)


async def by_application(stage: Stage, seconds: float) -> Found:
    """Name the address as an application that the operator has made, then pay."""
    printed = await stage.server.command("apps", "create", "shop")
    keys = dict(line.split("=", 1) for line in printed.splitlines() if "=" in line)
    headers = {"App-Id": keys["APP_ID"], "App-Secret": keys["APP_SECRET"]}
    body = {
        "product": {"name": "Letters"},
        "instrumentCurrencyCode": "USD",
        "receivers": [{"sendAmount": 5, "destination": "$shop"}],
        "expirationType": "never",
        "notifications": {"email": VICTIM},
    }
    async with httpx.AsyncClient(base_url=stage.server.url, headers=headers) as http:
        answer = await http.post(REQUESTS_PATH, json=body)
    if not answer.is_success:
        return Found(f"the address was refused: {answer.text}")
    return await _bomb(stage, f"/pay/{answer.json()['id']}", seconds)


async def _bomb(stage: Stage, path: str, seconds: float) -> Found:
    before = (await stage.telegram.ask("counts"))["letters"]
    waiting = iter(range(PAYMENTS))
    paid = 0

    async def payer() -> None:
        nonlocal paid
        for number in waiting:
            async with browser(stage.server.url, address(number, HOMES)) as http:
                token = TOKEN.search((await http.get(path)).text)
                answer = await http.post(path, data={"token": token[1] if token else ""})
            paid += answer.status_code == httpx.codes.SEE_OTHER

    async with asyncio.TaskGroup() as payers:
        for _ in range(AT_ONCE):
            payers.create_task(payer())
        await asyncio.sleep(min(COUNTED_SECONDS, seconds))
        letters = (await stage.telegram.ask("counts"))["letters"] - before
    note = f"{letters} letters in {min(COUNTED_SECONDS, seconds):.0f} s for {paid} payments"
    return Found(note, "letters" if letters > MOST_LETTERS else "")
