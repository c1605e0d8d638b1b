"""A hundred codes, 130 payers and `kill -9` in between: each code goes to one payment.

The whole product is killed, over Telegram's server: the seller hears of each of the payments.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.free_ports import free_port
from tests.support.machine_faults import MARK, wait_until_idle
from tests.support.product_process import (
    PATIENCE,
    Process,
    ProductSetup,
    patient_client,
    start_bot,
)
from tests.support.raw_payers import REQUESTS_PATH, Answer, posted
from tests.support.sellers_and_payers import Seller, make_code_drop, seller_with_destination

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message


UNITS, PAYERS, KILLS = 100, 130, 6
AT_ONCE = 13
"""Payers that pay at the same time."""

SEED = 20261123
CODES = [f"CODE-{number:03d}" for number in range(1, UNITS + 1)]
NUMBER = "🧾 "

AFTER_A_KILL = ("terminated by other getUpdates", "message is not modified")
"""Refusals that a kill causes: the poll of the dead process ends, and an edit whose answer it never
read is made again."""


@dataclass
class Crowd:
    """The payers of one link, who post while it is `open` to them.

    `broken` counts connections that ended without an answer.
    """

    url: str
    request_id: str
    waiting: list[str] = field(default_factory=lambda: [f"payer-{n:020d}" for n in range(PAYERS)])
    answers: dict[str, Answer] = field(default_factory=dict)
    broken: int = 0
    open: asyncio.Event = field(default_factory=asyncio.Event)
    wanted: int = PAYERS
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    async def buy(self) -> None:
        """Post one form after the other; after a lost answer the same form once more."""
        while self.waiting:
            token = self.waiting.pop()
            while token not in self.answers:
                await self.open.wait()
                try:
                    self.answers[token] = await posted(self.url, self.request_id, token)
                except OSError:
                    self.broken += 1
                if len(self.answers) >= self.wanted:
                    self.reached.set()

    async def get_answers(self, number: int) -> None:
        """Open the link to the payers until so many more have their answers."""
        self.wanted = len(self.answers) + number
        self.reached.clear()
        self.open.set()
        async with asyncio.timeout(PATIENCE):
            await self.reached.wait()
        self.open.clear()


async def receipt(run: Process, place: str) -> Any:
    """Return the receipt at an address, as whoever has it may read it."""
    request_id, _, transaction = place.partition("/pay/")[2].partition("/receipt/")
    path = f"{REQUESTS_PATH}/public/{request_id}/receipts/{transaction}"
    async with patient_client(run.url) as payer:
        answer = await payer.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def numbers(alert: Message) -> list[str]:
    """Return the transactions that an alert names."""
    lines = alert.text.splitlines()
    return [line.removeprefix(NUMBER) for line in lines if line.startswith(NUMBER)]


@pytest.mark.timeout(300)  # eight starts
async def test_each_code_goes_to_one_payment_whatever_is_killed(stage: ProductSetup) -> None:
    """100 payments have a code each, all different; 30 payers read that it is sold out."""
    moments, port = random.Random(SEED), free_port()

    @asynccontextmanager
    async def running() -> AsyncIterator[Process]:
        env = {**stage.settings, "PORT": port, "PAYER_RATE": "0", "API_RATE": "0"}
        async with start_bot(stage.folder, "run", unseen=CODES, **env) as run:
            yield await run.ready()

    async with running() as run:
        sam = await seller_with_destination(stage.world)
        crowd = Crowd(run.url, (await make_code_drop(sam, CODES)).rpartition("/")[2])
        await run.stop()
    payers = [asyncio.create_task(crowd.buy()) for _ in range(AT_ONCE)]
    for _ in range(KILLS):
        async with running() as run:  # each life answers some payers, and dies before the others
            await crowd.get_answers(moments.randint(1, PAYERS // KILLS // 2))
            await run.kill()
    assert crowd.waiting
    assert crowd.broken
    crowd.open.set()
    async with running() as run:
        await asyncio.gather(*payers)
        await wait_until_idle(run)
        check_payers(crowd)
        places = [answer.location for answer in crowd.answers.values() if answer.status == 303]
        shown = [await receipt(run, place) for place in places]
        paid = [transaction for (transaction,) in run.rows("SELECT id FROM payments")]
    assert sorted(paid) == sorted(place.rpartition("/")[2] for place in places)
    assert sorted(code for one in shown for code in one["delivery"]["codes"]) == CODES
    assert sorted(one["units"]["first"] for one in shown) == list(range(1, UNITS + 1))
    check_alerts(sam, paid)
    reasons = [call.reason for call in stage.world.refused]
    assert [one for one in reasons if not any(words in one for words in AFTER_A_KILL)] == []


def check_payers(crowd: Crowd) -> None:
    """Check that each payer has bought or reads why not, and that no answer shows a code."""
    answers = crowd.answers.values()
    statuses = Counter(answer.status for answer in answers)
    assert statuses == {303: UNITS, 409: PAYERS - UNITS}
    assert all("Sold out" in answer.text for answer in answers if answer.status == 409)
    assert {answer.text.count("CODE-") for answer in answers} == {0}


def check_alerts(sam: Seller, paid: list[str]) -> None:
    """Check that the seller heard of each payment, and twice only where that is marked."""
    told = [(number, MARK in alert.text) for alert in sam.alerts for number in numbers(alert)]
    assert {number for number, _ in told} == set(paid)
    unmarked = Counter(number for number, is_marked in told if not is_marked)
    assert set(unmarked.values()) <= {1}
