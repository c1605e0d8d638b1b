"""Payers who want several units at the same time: each gets all of them or none."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import Any

import pytest

from bot.core.errors import NotPayable
from bot.service.checkouts import inventory, paying
from bot.service.checkouts.checkout import Settlement
from bot.service.checkouts.paying import PaymentForm
from bot.service.payments import settling
from bot.service.rails.rail import SandboxScenario
from tests.support import checkout_steps
from tests.support.databases import POSTGRESQL, SQLITE
from tests.support.service_harness import NOON, ServiceHarness, open_on_engine

LATE = NOON + 901_000
"""When the reservations of NOON have lapsed."""


@pytest.fixture(params=[SQLITE, POSTGRESQL])
async def service(request: pytest.FixtureRequest, tmp_path: Any) -> AsyncIterator[ServiceHarness]:
    async with open_on_engine(request, tmp_path) as it:
        yield it


async def drop_of(service: ServiceHarness, total: int) -> str:
    made = await service.create(expirationType="limit", totalUnits=total, maxQuantity=4)
    return str(made["id"])


def post(service: ServiceHarness, request_id: str, quantity: int, at: int, **form: Any) -> Any:
    """Begin to post a form of its own."""
    posted = PaymentForm(request_id, secrets.token_hex(16), {}, quantity=quantity, **form)
    work = partial(paying.pay, context=service.context, form=posted, now=at)
    return service.db.transaction(work)


async def outcomes(work: Iterable[Any]) -> tuple[list[Any], list[NotPayable]]:
    """Await everything at once; return what succeeded, and the refusals."""
    found = await asyncio.gather(*work, return_exceptions=True)
    refused = [one for one in found if isinstance(one, NotPayable)]
    fine = [one for one in found if not isinstance(one, BaseException)]
    assert len(refused) + len(fine) == len(found), found
    return fine, refused


async def numbers(service: ServiceHarness) -> list[int]:
    """Return the numbers of all units that were sold."""
    rows = await service.db.query("SELECT * FROM payments WHERE first_unit IS NOT NULL")
    return sorted(row["first_unit"] + n for row in rows for n in range(row["quantity"]))


@pytest.mark.parametrize("scenario", [SandboxScenario.AT_ONCE, SandboxScenario.NEVER])
async def test_with_two_left_nobody_of_many_gets_three(
    service: ServiceHarness, scenario: SandboxScenario
) -> None:
    request_id = await drop_of(service, 5)
    await post(service, request_id, 3, NOON)
    fine, refused = await outcomes(
        post(service, request_id, 3, NOON, scenario=scenario) for _ in range(12)
    )
    assert fine == []
    assert {one.left for one in refused} == {2}
    assert await checkout_steps.units(service) == (2, 0, 3, 0)


async def test_many_who_want_three_of_ten_are_three_payers(service: ServiceHarness) -> None:
    """The tenth unit stays for somebody who wants one."""
    request_id = await drop_of(service, 10)
    fine, refused = await outcomes(post(service, request_id, 3, NOON) for _ in range(12))
    assert (len(fine), len(refused)) == (3, 9)
    assert await checkout_steps.units(service) == (1, 0, 9, 0)
    assert await numbers(service) == list(range(1, 10))
    await post(service, request_id, 1, NOON)
    assert await numbers(service) == list(range(1, 11))


async def test_units_that_lapse_while_others_take_are_sold_once(service: ServiceHarness) -> None:
    """Twelve of twelve are reserved; late money, sweeps and new payers meet at the same moment."""
    request_id = await drop_of(service, 12)
    opened = [
        await post(service, request_id, 4, NOON, scenario=SandboxScenario.NEVER) for _ in range(3)
    ]
    assert await checkout_steps.units(service) == (0, 12, 0, 0)
    sweep = partial(inventory.close_lapsed, now=LATE, most=9)
    works: list[Any] = [sweep, sweep]
    works += [
        partial(
            settling.record_settlement,
            settlement=Settlement("sandbox", one.checkout_id, f"m{place}"),
            now=LATE,
        )
        for place, one in enumerate(opened)
    ]
    work = [
        *(post(service, request_id, 3, LATE) for _ in range(3)),
        *(service.db.transaction(one) for one in works),
        *(post(service, request_id, 2, LATE, scenario=SandboxScenario.NEVER) for _ in range(3)),
    ]
    await outcomes(work)
    remaining, reserved, sold, _ = await checkout_steps.units(service)
    assert remaining + reserved + sold == 12
    held = await service.db.query(
        "SELECT COALESCE(SUM(quantity), 0) AS held FROM checkouts"
        " WHERE state IN ('opening', 'open', 'claimed') AND lapses_at > :now", now=LATE,
    )  # fmt: skip
    assert held[0]["held"] == reserved
    assert await numbers(service) == list(range(1, sold + 1))
    rows = await service.db.query("SELECT * FROM payments")
    assert sum(row["quantity"] for row in rows if row["state"] != "oversold") == sold
    (request,) = await service.rows("payment_requests")
    assert request["raised_rest"] == 500 * sold
    assert request["volume_rest"] == sum(row["amount"] for row in rows)


async def test_of_two_lapsed_checkouts_of_three_with_four_left_one_is_late_and_one_oversold(
    service: ServiceHarness,
) -> None:
    request_id = await drop_of(service, 7)
    opened = [
        await post(service, request_id, 3, NOON, scenario=SandboxScenario.NEVER) for _ in range(2)
    ]
    await post(service, request_id, 3, LATE)
    states = await asyncio.gather(
        *(
            service.db.transaction(
                partial(
                    settling.record_settlement,
                    settlement=Settlement("sandbox", one.checkout_id, f"m{place}"),
                    now=LATE,
                )
            )
            for place, one in enumerate(opened)
        )
    )
    assert sorted(one.state for one in states if one) == ["late", "oversold"]
    assert await checkout_steps.units(service) == (1, 0, 6, 1)
    assert await numbers(service) == [1, 2, 3, 4, 5, 6]
