"""How many statements a payment takes: on PostgreSQL they are most of what it costs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from bot.service.checkouts import paying
from bot.service.checkouts.checkout import Holder, Settlement
from bot.service.checkouts.order import Order
from bot.service.checkouts.paying import PaymentForm
from bot.service.payments import settling
from bot.service.rails.rail import SandboxScenario
from tests.support.databases import POSTGRESQL, SQLITE, statements_of
from tests.support.service_harness import DROP, HOOK, NOON, ServiceHarness, open_on_engine

CHOSEN: dict[str, Any] = {"maxQuantity": 3, "amountChoice": {"suggested": [5, 10]}}


@pytest.fixture(params=[SQLITE, POSTGRESQL])
async def service(request: pytest.FixtureRequest, tmp_path: Any) -> AsyncIterator[ServiceHarness]:
    async with open_on_engine(request, tmp_path) as it:
        yield it


async def statements(service: ServiceHarness, token: str, **form: Any) -> list[str]:
    """Return the statements of a payment of a drop with a webhook, chosen and of several units."""
    hook = {"notifications": {"webhook": HOOK}}
    made = await service.create(**DROP, **hook, **CHOSEN)
    posted = PaymentForm(made["id"], token * 32, {}, **form)
    return await service.db.transaction(
        statements_of(lambda tx: paying.pay(tx, service.context, posted, NOON))
    )


def lane_locks(service: ServiceHarness) -> int:
    """Return how many lanes a payment locks: that of its webhook."""
    return 0 if service.db.engine == SQLITE else 1


async def test_a_payment_with_a_webhook_is_seven_statements(service: ServiceHarness) -> None:
    """The form, the unit, checkout, payment, delivery, message, and the lane opened.

    On PostgreSQL also the lock of the lane: taking the unit locks the request.
    """
    assert len(await statements(service, "a")) == 7 + lane_locks(service)


async def test_choice_quantity_and_message_cost_no_more(service: ServiceHarness) -> None:
    plain = await statements(service, "a")
    order: dict[str, Any] = {"price": 750, "quantity": 3, "payer_name": "Mia", "message": "Hi!"}
    assert await statements(service, "b", **order) == plain
    later = await statements(service, "c", scenario=SandboxScenario.NEVER, **order)
    assert later == await statements(service, "d", scenario=SandboxScenario.NEVER)


async def test_money_that_comes_later_for_an_order_is_as_many_statements(
    service: ServiceHarness,
) -> None:
    made = await service.create(**DROP | {"totalUnits": 9}, **CHOSEN)
    found = []
    for token, order in (("a", Order()), ("b", Order(750, 3))):
        form = PaymentForm(
            made["id"],
            token * 32,
            {},
            SandboxScenario.NEVER,
            price=order.price,
            quantity=order.quantity,
        )
        opened = await service.db.transaction(
            partial(paying.pay, context=service.context, form=form, now=NOON)
        )
        money = Settlement("sandbox", opened.checkout_id, token)
        work = statements_of(partial(settling.record_settlement, settlement=money, now=NOON + 1))
        found.append(await service.db.transaction(work))
    assert found[0] == found[1]


async def test_a_payer_with_a_cookie_costs_one_more(service: ServiceHarness) -> None:
    holder = Holder("network", "payer")
    assert len(await statements(service, "a", holder=holder)) == 8 + lane_locks(service)


async def test_a_reservation_is_three_statements(service: ServiceHarness) -> None:
    assert len(await statements(service, "a", scenario=SandboxScenario.NEVER)) == 3


async def test_units_that_others_hold_cost_one_more(service: ServiceHarness) -> None:
    """Those that have lapsed are returned."""
    made = await service.create(**DROP)
    for token, number in (("a", 3), ("b", 4)):
        posted = PaymentForm(made["id"], token * 32, {}, scenario=SandboxScenario.NEVER)
        found = await service.db.transaction(
            statements_of(lambda tx: paying.pay(tx, service.context, posted, NOON))  # noqa: B023 - run at once
        )
        assert len(found) == number
