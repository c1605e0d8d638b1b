"""How many statements a payment takes: on PostgreSQL they are most of what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bot.service.model.checkout import Holder
from bot.service.model.rail_answers import Manner
from bot.service.usecases import paying
from bot.service.usecases.paying import PaymentForm
from tests.support.counted_statements import statements_of
from tests.support.databases import POSTGRESQL, SQLITE
from tests.support.service_harness import DROP, HOOK, NOON, ServiceHarness, open_service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture(params=[SQLITE, POSTGRESQL])
async def service(request: pytest.FixtureRequest, tmp_path: Any) -> AsyncIterator[ServiceHarness]:
    """Open the service on either engine."""
    databases = request.getfixturevalue("postgres") if request.param == POSTGRESQL else None
    url = databases.new() if databases else f"sqlite:///{tmp_path}/bot.db"
    async with open_service(url) as it:
        yield it
    if databases:
        databases.drop(url)


async def statements(service: ServiceHarness, token: str, **form: Any) -> list[str]:
    """Return the statements of a payment of a drop with a webhook."""
    hook = {"notifications": {"webhook": HOOK}}
    made = await service.create(**DROP, **hook)
    posted = PaymentForm(made["id"], token * 32, {}, **form)
    return await service.db.transaction(
        statements_of(lambda tx: paying.pay(tx, service.context, posted, NOON))
    )


def lane_locks(service: ServiceHarness) -> int:
    """Return how many lanes a payment locks: that of its webhook."""
    return 0 if service.db.engine == SQLITE else 1


async def test_a_payment_with_a_webhook_is_eight_statements(service: ServiceHarness) -> None:
    """The form, the unit, checkout, payment, delivery, message, the lane read and the lane opened.

    On PostgreSQL also the lock of the lane: taking the unit locks the request.
    """
    assert len(await statements(service, "a")) == 8 + lane_locks(service)


async def test_a_payer_with_a_cookie_costs_one_more(service: ServiceHarness) -> None:
    holder = Holder("network", "payer")
    assert len(await statements(service, "a", holder=holder)) == 9 + lane_locks(service)


async def test_a_reservation_is_three_statements(service: ServiceHarness) -> None:
    assert len(await statements(service, "a", manner=Manner.NEVER)) == 3


async def test_units_that_others_hold_cost_one_more(service: ServiceHarness) -> None:
    """Those that have lapsed are returned."""
    made = await service.create(**DROP)
    for token, number in (("a", 3), ("b", 4)):
        posted = PaymentForm(made["id"], token * 32, {}, manner=Manner.NEVER)
        found = await service.db.transaction(
            statements_of(lambda tx: paying.pay(tx, service.context, posted, NOON))  # noqa: B023 - run at once
        )
        assert len(found) == number
