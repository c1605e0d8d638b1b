"""A replaced or removed account keeps its secret as long as somebody may pay to it, no longer."""

from __future__ import annotations

from functools import partial

import pytest

from bot.interface.vocabulary import BANK, LIGHTNING
from bot.service.checkouts import checkout, inventory
from bot.service.payouts import payout_accounts
from tests.support.real_rails import ACCOUNTS_PATH, TO_ANNA, connect
from tests.support.service_harness import ServiceHarness


async def labels(service: ServiceHarness) -> list[str]:
    rows = await service.rows("payout_accounts ORDER BY created_at")
    return [row["label"] for row in rows]


async def sweep(service: ServiceHarness) -> int:
    now = service.clock()
    await service.db.transaction(partial(inventory.close_lapsed, now=now, most=9))
    return await service.db.transaction(partial(payout_accounts.sweep, now=now, most=9))


async def replace(service: ServiceHarness, kind: str = LIGHTNING) -> None:
    service.clock.advance(1)
    await connect(service, kind, name="Bea")


async def test_an_account_that_nobody_pays_to_goes_at_once(real: ServiceHarness) -> None:
    await connect(real)
    await replace(real)
    assert await labels(real) == ["Bea…"]
    (account,) = await real.rows("payout_accounts")
    await real.seller.delete(f"{ACCOUNTS_PATH}/{account['id']}")
    assert await labels(real) == []


@pytest.mark.parametrize("kind", [BANK, LIGHTNING])
async def test_an_account_stays_while_a_checkout_holds_a_unit(
    real: ServiceHarness, kind: str
) -> None:
    await connect(real, kind)
    made = await real.create(receivers=TO_ANNA, instrumentCurrencyCode="EUR")
    assert (await real.pay(made["id"])).status_code == 303
    await replace(real, kind)
    assert await labels(real) == ["Ann…", "Bea…"]
    assert await sweep(real) == 0
    real.clock.advance(900)
    assert await sweep(real) == 1
    assert await labels(real) == ["Bea…"]


async def test_an_account_stays_until_the_last_look_at_its_invoices(real: ServiceHarness) -> None:
    await connect(real)
    made = await real.create(receivers=TO_ANNA, instrumentCurrencyCode="EUR")
    await real.pay(made["id"])
    end = real.clock() + 900_000
    await real.db.transaction(
        lambda tx: tx.execute(
            "UPDATE checkouts SET state = 'open', expires_at = :end, looked_at = 1", end=end
        )
    )
    await replace(real)
    real.clock.at = end + checkout.LAST - 1
    assert await sweep(real) == 0
    real.clock.at += 1
    assert await sweep(real) == 1
    assert await labels(real) == ["Bea…"]
    assert [row["state"] for row in await real.rows("checkouts")] == ["lapsed"]
