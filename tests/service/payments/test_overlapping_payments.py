"""Transactions about one request that overlap on PostgreSQL: as good as one after the other."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest

from bot.core.database.database import BILLION, Transaction
from bot.core.errors import BotError, NotFound, NotPayable
from bot.core.net.webhook_addresses import AllowList
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import Queue
from bot.interface.vocabulary import CheckoutState
from bot.service.checkouts import checkout_rows, claiming, inventory, paying
from bot.service.checkouts.checkout import Holder, Settlement
from bot.service.checkouts.paying import PaymentForm
from bot.service.checkouts.wallet_calls import POLLS, PaymentPoller
from bot.service.notifications.notification_queues import WEBHOOKS
from bot.service.payments import account_rows, payout_accounts, settling
from bot.service.rails.exchange_rates import SandboxExchange
from bot.service.rails.rail import Arrived, SandboxScenario
from bot.service.requests import changes, request_commands
from tests.support.databases import PostgresDatabases
from tests.support.overlapping import overlap
from tests.support.real_rails import EUROS, ScriptedRail, open_annas_service
from tests.support.service_harness import DROP, HOOK, NOON, ServiceHarness, open_service

LAST = DROP | {"totalUnits": 1}
POLICY = request_commands.Policy(AllowList(), SandboxExchange())
LATE = 901 * 1000
"""Milliseconds after which a reservation has lapsed."""


@pytest.fixture
async def service(postgres: PostgresDatabases) -> AsyncIterator[ServiceHarness]:
    url = postgres.new()
    async with open_service(url) as it:
        yield it
    postgres.drop(url)


@pytest.fixture
async def annas(postgres: PostgresDatabases) -> AsyncIterator[ServiceHarness]:
    """Open the service with a wallet and a bank of Anna's."""
    url = postgres.new()
    async with open_annas_service(url, ScriptedRail(), "lightning", "bank") as it:
        yield it
    postgres.drop(url)


def pay(
    service: ServiceHarness, request_id: str, token: str = "t", at: int = NOON, **form: Any
) -> Callable[[Transaction], Any]:
    """Return the work of a posted form."""
    posted = PaymentForm(request_id, token * 32, {}, **form)
    return lambda tx: paying.pay(tx, service.context, posted, at)


async def pay_later(service: ServiceHarness, request_id: str, **form: Any) -> str:
    """Open a checkout whose money does not come, and return its id."""
    form = {"scenario": SandboxScenario.NEVER} | form
    opened = await service.db.transaction(pay(service, request_id, **form))
    return str(opened.checkout_id)


async def units(service: ServiceHarness, request_id: str) -> tuple[int, int, int]:
    """Return what remains of a drop, what is reserved and what is sold."""
    (row,) = await service.db.query(
        "SELECT remaining_units, reserved_units, paid_count FROM payment_requests WHERE id = :id",
        id=request_id,
    )
    return row["remaining_units"], row["reserved_units"], row["paid_count"]


async def audited(service: ServiceHarness, action: str) -> int:
    rows = await service.db.query("SELECT id FROM audit WHERE action = :action", action=action)
    return len(rows)


@pytest.mark.parametrize("scenario", [SandboxScenario.AT_ONCE, SandboxScenario.NEVER])
@pytest.mark.parametrize("total", [1, 3])
async def test_two_posts_of_one_form_are_one_payment(
    service: ServiceHarness, scenario: SandboxScenario, total: int
) -> None:
    """Also for the last unit, which the first post has taken."""
    made = await service.create(**DROP | {"totalUnits": total})
    post = pay(service, made["id"], scenario=scenario)
    both = await overlap(service.db, post, post)
    assert both.first.checkout_id == both.second.checkout_id
    assert (await units(service, made["id"]))[0] == total - 1


async def test_two_payers_of_the_last_unit_are_one_payment_and_one_refusal(
    service: ServiceHarness,
) -> None:
    made = await service.create(**LAST)
    both = await overlap(service.db, pay(service, made["id"], "a"), pay(service, made["id"], "b"))
    assert both.first.payment
    assert isinstance(both.second, NotPayable)
    assert await units(service, made["id"]) == (0, 0, 1)


async def test_two_forms_of_one_payer_hold_one_unit(service: ServiceHarness) -> None:
    """They have one cookie: two tabs, or a second press."""
    made = await service.create(**DROP)
    form: dict[str, Any] = {"scenario": SandboxScenario.NEVER, "holder": Holder("network", "payer")}
    both = await overlap(
        service.db, pay(service, made["id"], "a", **form), pay(service, made["id"], "b", **form)
    )
    assert both.first.checkout_id == both.second.checkout_id
    assert await units(service, made["id"]) == (2, 1, 0)


async def test_two_payers_after_a_lapse_don_t_wait_for_each_other_in_a_circle(
    service: ServiceHarness,
) -> None:
    """The request comes before its checkouts, whoever closes what has lapsed."""
    made = await service.create(**DROP)
    await pay_later(service, made["id"])
    later = NOON + LATE
    both = await overlap(
        service.db,
        pay(service, made["id"], "a", later),
        lambda tx: inventory.close_lapsed(tx, later, 9),
    )
    assert both.first.payment
    assert both.runs == (1, 1)
    assert await units(service, made["id"]) == (2, 0, 1)


async def lightning_removal(annas: ServiceHarness) -> tuple[str, Callable[[Transaction], Any]]:
    """Return the id of Anna's wallet, and the work that removes it."""
    (row,) = await annas.db.query("SELECT id FROM payout_accounts WHERE kind = 'lightning'")

    def remove(tx: Transaction) -> bool:
        found = account_rows.find(tx, row["id"])
        assert found
        return payout_accounts._retire(tx, found, annas.clock())

    return row["id"], remove


async def test_an_account_that_a_payment_has_chosen_is_not_deleted(annas: ServiceHarness) -> None:
    """It is retired after the payment, and stays while its money may arrive."""
    made = await annas.create(**EUROS)
    wallet, remove = await lightning_removal(annas)
    both = await overlap(
        annas.db, pay(annas, made["id"], way="lightning", at=annas.clock()), remove
    )
    assert both.second is True
    kept = await annas.db.query(
        "SELECT id, retired_at FROM payout_accounts WHERE id = :id", id=wallet
    )
    assert [row["retired_at"] for row in kept] == [annas.clock()]


async def test_a_payment_beside_the_removal_of_its_account_is_refused(
    annas: ServiceHarness,
) -> None:
    made = await annas.create(**EUROS)
    _, remove = await lightning_removal(annas)
    both = await overlap(
        annas.db, remove, pay(annas, made["id"], way="lightning", at=annas.clock())
    )
    assert isinstance(both.second, NotPayable)
    assert await annas.rows("checkouts") == []


async def claimable(annas: ServiceHarness, **fields: Any) -> tuple[str, str]:
    """Return the ids of a request and of an open checkout of a bank transfer for it."""
    made = await annas.create(**EUROS | fields)
    work = pay(annas, made["id"], way="bank:sepa", at=annas.clock())
    return made["id"], (await annas.db.transaction(work)).checkout_id


async def test_two_claims_of_one_checkout_are_one(annas: ServiceHarness) -> None:
    hook = {"notifications": {"webhook": {**HOOK, "events": ["checkout.claimed"]}}}
    request_id, checkout_id = await claimable(annas, **hook)
    claim = partial(
        claiming.claim, context=annas.context, request_id=request_id, checkout_id=checkout_id,
        now=annas.clock(),
    )  # fmt: skip
    both = await overlap(annas.db, claim, claim)
    assert both.first == both.second
    assert both.runs == (1, 1)
    assert len(await annas.rows("deliveries")) == 1


async def test_a_claim_beside_a_cancellation_is_refused_in_words(annas: ServiceHarness) -> None:
    request_id, checkout_id = await claimable(annas)
    both = await overlap(
        annas.db,
        lambda tx: claiming.cancel(tx, request_id, checkout_id, annas.clock()),
        lambda tx: claiming.claim(tx, annas.context, request_id, checkout_id, annas.clock()),
    )
    assert both.first is True
    assert type(both.second).__name__ == "WrongState"


async def test_two_claims_of_a_lapsed_checkout_hold_one_unit(annas: ServiceHarness) -> None:
    request_id, checkout_id = await claimable(annas, **DROP)
    annas.clock.advance(901)
    claim = partial(
        claiming.claim, context=annas.context, request_id=request_id, checkout_id=checkout_id,
        now=annas.clock(),
    )  # fmt: skip
    both = await overlap(annas.db, claim, claim)
    assert both.first == both.second
    assert await units(annas, request_id) == (2, 1, 0)


@pytest.mark.parametrize("decide", [claiming.confirm, claiming.reject])
async def test_a_seller_s_answer_given_twice_is_one(annas: ServiceHarness, decide: Any) -> None:
    request_id, checkout_id = await claimable(annas)
    now = annas.clock()
    await annas.db.transaction(
        lambda tx: claiming.claim(tx, annas.context, request_id, checkout_id, now)
    )
    answer = partial(decide, app_id=annas.credentials.app_id, checkout_id=checkout_id, now=now)
    both = await overlap(annas.db, answer, answer)
    assert both.first == both.second
    assert both.runs == (1, 1)
    name = "checkout.confirmed" if decide is claiming.confirm else "checkout.rejected"
    assert await audited(annas, name) == 1


async def test_a_confirmation_beside_a_rejection_is_refused(annas: ServiceHarness) -> None:
    request_id, checkout_id = await claimable(annas)
    now, app_id = annas.clock(), annas.credentials.app_id
    await annas.db.transaction(
        lambda tx: claiming.claim(tx, annas.context, request_id, checkout_id, now)
    )
    both = await overlap(
        annas.db,
        lambda tx: claiming.confirm(tx, app_id, checkout_id, now),
        lambda tx: claiming.reject(tx, app_id, checkout_id, now),
    )
    assert both.first.state(now) is CheckoutState.PAID
    assert type(both.second).__name__ == "WrongState"
    assert len(await annas.rows("payments")) == 1


async def test_money_reported_twice_is_one_payment(service: ServiceHarness) -> None:
    """Neither report runs again: the second waits, and finds the first's payment."""
    made = await service.create(**DROP)
    checkout_id = await pay_later(service, made["id"])
    settlement = Settlement("sandbox", checkout_id, "money")
    record = partial(settling.record_settlement, settlement=settlement, now=NOON + 1)
    both = await overlap(service.db, record, record)
    assert both.first
    assert both.second is None
    assert both.runs == (1, 1)
    assert await units(service, made["id"]) == (2, 0, 1)


async def test_money_beside_the_sweep_keeps_its_checkout(service: ServiceHarness) -> None:
    made = await service.create(**DROP)
    checkout_id = await pay_later(service, made["id"])
    await service.db.transaction(lambda tx: inventory.close_lapsed(tx, NOON + LATE, 9))
    settlement = Settlement("sandbox", checkout_id, "money")
    both = await overlap(
        service.db,
        lambda tx: settling.record_settlement(tx, settlement, NOON + LATE),
        lambda tx: checkout_rows.sweep(tx, NOON + 2 * LATE, NOON + 2 * LATE, 9),
    )
    assert both.first
    assert both.second == 0
    assert both.runs == (1, 1)


async def test_an_edit_is_of_what_the_one_before_it_left(service: ServiceHarness) -> None:
    """So the audit log has each change once, and no field is set back."""
    made = await service.create(**DROP)
    caller = request_commands.Caller(service.credentials.app_id, NOON, POLICY)

    def edit(**fields: Any) -> Callable[[Transaction], Any]:
        edited = changes.Edit(decrease=1, **fields)
        return lambda tx: request_commands.edit(tx, caller, made["id"], edited)

    both = await overlap(service.db, edit(name="Tea"), edit(description="Hot"))
    product = both.second.terms.product
    assert (product.name, product.description) == ("Tea", "Hot")
    rows = await service.db.query("SELECT details FROM audit WHERE action = 'request.edited'")
    assert sorted(json.loads(row["details"])["units_taken_out"] for row in rows) == [1, 1]


async def test_two_deletions_are_one(service: ServiceHarness) -> None:
    made = await service.create()
    caller = request_commands.Caller(service.credentials.app_id, NOON, POLICY)
    delete = partial(request_commands.delete, caller=caller, request_id=made["id"])
    both = await overlap(service.db, delete, delete)
    assert isinstance(both.second, NotFound)
    assert await audited(service, "request.deleted") == 1


REQUESTS, TURNS, AT_ONCE = 3, 600, 8
MINUTE = 60_000
QUANTITIES = (1, 1, 2, 3)


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
