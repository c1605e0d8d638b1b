"""Payments, claims, sweeps and looks of a few requests at the same time, on PostgreSQL."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from bot.core.database.database import Transaction
from bot.core.database.tables import BILLION
from bot.core.errors import BotError
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import Queue
from bot.service.checkouts import checkout_rows, claiming, inventory, paying
from bot.service.checkouts.checkout import Holder
from bot.service.checkouts.paying import PaymentForm
from bot.service.checkouts.polling import POLLS, PaymentPoller
from bot.service.notifications.notification_queues import WEBHOOKS
from bot.service.rails.rail import Arrived, SandboxScenario
from tests.support.databases import PostgresDatabases
from tests.support.service_harness import HOOK, ServiceHarness, open_service

REQUESTS, TURNS, AT_ONCE = 3, 600, 8
MINUTE = 60_000
QUANTITIES = (1, 1, 2, 3)


@pytest.fixture
async def service(postgres: PostgresDatabases) -> AsyncIterator[ServiceHarness]:
    url = postgres.new()
    async with open_service(url) as it:
        yield it
    postgres.drop(url)


class Storm:
    """Random work; a minute passes with each turn, so that reservations lapse."""

    def __init__(self, service: ServiceHarness, requests: list[str]) -> None:
        self.service, self.requests = service, requests
        self.random = random.Random(18)
        self.looks = PaymentPoller(service.db, service.context, service.clock)
        self.opened: list[tuple[str, str]] = []
        self.claimed = Counter[tuple[str, int]]()

    async def turn(self, number: int) -> None:
        self.service.clock.advance(MINUTE / 1000)
        draw, now = self.random.random(), self.service.clock()
        try:
            if draw < 0.45 or not self.opened:
                await self.pay(number, now)
            elif draw < 0.7:
                await self.decide(self.random.choice(self.opened), now)
            elif draw < 0.75:
                await self.service.db.transaction(
                    partial(inventory.close_lapsed, now=now, most=REQUESTS)
                )
            elif draw < 0.78:
                old = now - 60 * MINUTE
                await self.service.db.transaction(
                    partial(checkout_rows.sweep, before=old, long_before=old, most=5)
                )
            else:
                await self.work(self.random.choice([POLLS, WEBHOOKS]), now)
        except BotError:  # a refusal: sold out, given up, too late
            return

    async def pay(self, number: int, now: int) -> None:
        request_id, holder = self.random.choice(self.requests), Holder(f"net-{number % 9}", None)
        scenario = self.random.choice([*SandboxScenario])
        quantity = self.random.choice(QUANTITIES)
        form = PaymentForm(
            request_id,
            f"{number:032d}",
            {},
            scenario,
            holder,
            price=500 + number,
            quantity=quantity,
        )
        work = partial(paying.pay, context=self.service.context, form=form, now=now)
        opened = await self.service.db.transaction(work)
        self.opened.append((request_id, opened.checkout_id))

    async def decide(self, which: tuple[str, str], now: int) -> None:
        request_id, checkout_id = which
        app_id, context = self.service.credentials.app_id, self.service.context
        decisions: list[Any] = [
            lambda tx: claiming.claim(tx, context, request_id, checkout_id, now),
            lambda tx: claiming.cancel(tx, request_id, checkout_id, now),
            lambda tx: claiming.confirm(tx, app_id, checkout_id, now),
            lambda tx: claiming.reject(tx, app_id, checkout_id, now),
        ]
        await self.service.db.transaction(self.random.choice(decisions))

    async def work(self, queue: Queue, now: int) -> None:
        claim = partial(outbox.claim, queue=queue, now=now, room=8, owner="storm")
        for message in await self.service.db.transaction(claim):
            self.claimed[message.id, message.attempts] += 1

            def settle(tx: Transaction, message: Any = message) -> None:
                if queue is POLLS:
                    self.looks._settle(tx, message, Arrived())
                else:
                    outbox.done(tx, queue, message, now)

            await self.service.db.transaction(settle)


@pytest.mark.long
async def test_a_storm_has_no_circle_of_locks_and_loses_no_unit(service: ServiceHarness) -> None:
    """The server would end one of a circle, after a second, for it to run again."""
    counted = Counter[tuple[str, ...]]()
    service.db.count_with(lambda name, *labels: counted.update([(name, *labels)]))
    hook = {"notifications": {"webhook": HOOK}}
    drop = {"expirationType": "limit", "totalUnits": 60, "maxQuantity": 3}
    choice = {"amountChoice": {"minimum": 5}}
    drops = [await service.create(**drop, **choice, **hook) for _ in range(REQUESTS)]
    storm, turns = Storm(service, [made["id"] for made in drops]), iter(range(TURNS))

    async def run() -> None:
        for number in turns:
            await storm.turn(number)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(run())
    assert counted["database_retries", "40P01"] == 0
    assert set(storm.claimed.values()) <= {1}
    for row in await service.rows("payment_requests"):
        of = {"id": row["id"]}
        (held,) = await service.db.query(
            "SELECT COALESCE(SUM(quantity), 0) AS n FROM checkouts WHERE request_id = :id"
            " AND state IN ('opening', 'open', 'claimed')", **of,
        )  # fmt: skip
        took = await service.db.query(
            "SELECT amount, quantity, first_unit FROM payments WHERE request_id = :id"
            " AND state IN ('paid', 'late')", **of,
        )  # fmt: skip
        given = [one["first_unit"] + n for one in took for n in range(one["quantity"])]
        assert (row["reserved_units"], row["paid_count"]) == (held["n"], len(given))
        assert sorted(given) == list(range(1, len(given) + 1))
        assert row["raised_billions"] * BILLION + row["raised_rest"] == sum(
            one["amount"] for one in took
        )
        assert row["remaining_units"] + row["reserved_units"] + row["paid_count"] == 60
