"""Checkouts that their payer cancels, and settlements that follow."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from bot.service.rails.sandbox import DELAY
from tests.support.checkout_steps import HOOK, ONE, RESERVATION, hear, look, reports, units
from tests.support.service_harness import DROP, ServiceHarness, open_service

if TYPE_CHECKING:
    import httpx


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[ServiceHarness]:
    async with open_service(database_url, reservation=RESERVATION * 1000) as it:
        yield it


async def cancelled(service: ServiceHarness, answer: httpx.Response) -> httpx.Response:
    """Press the cancel button of the waiting page."""
    where = answer.headers["location"]
    done = await service.anyone.post(where, data={"action": "cancel"})
    assert (done.status_code, done.headers["location"]) == (303, where)
    return await service.anyone.get(where)


async def test_a_payer_can_cancel_and_the_unit_is_free_at_once(service: ServiceHarness) -> None:
    """However often the button is pressed, one unit returns; the page explains it."""
    made = await service.create(**ONE, **HOOK)
    answer = await service.pay(made["id"], "a" * 32, manner="never")
    assert 'value="cancel"' in (await look(service, answer)).text
    for _ in range(3):
        page = await cancelled(service, answer)
        assert "been charged" in page.text
        assert 'value="cancel"' not in page.text
        assert f'href="/pay/{made["id"]}"' in page.text
        assert await units(service) == (1, 0, 0, 0)
    again = await service.pay(made["id"], "a" * 32)
    assert again.headers["location"] == answer.headers["location"]
    assert (await service.pay(made["id"], "b" * 32)).status_code == 303
    assert (await units(service), len(await reports(service))) == ((0, 0, 1, 0), 1)


@pytest.mark.parametrize(("sold", "state"), [(False, "late"), (True, "oversold")])
async def test_a_payment_after_a_cancel_is_late(
    service: ServiceHarness, *, sold: bool, state: str
) -> None:
    made = await service.create(**ONE, **HOOK)
    answer = await service.pay(made["id"], "a" * 32, manner="later")
    await cancelled(service, answer)
    if sold:
        assert (await service.pay(made["id"], "b" * 32)).status_code == 303
    service.clock.advance(DELAY / 1000)
    assert await hear(service) == 1
    assert await units(service) == (0, 0, 1, int(sold))
    payments = await service.db.query("SELECT state FROM payments ORDER BY completed_at")
    assert payments[-1]["state"] == state


@pytest.mark.parametrize("scenario", ["atOnce", "later"])
async def test_a_paid_checkout_cannot_be_cancelled(service: ServiceHarness, scenario: str) -> None:
    made = await service.create(**ONE)
    await service.pay(made["id"], manner=scenario)
    (checkout,) = await service.rows("checkouts")
    service.clock.advance(DELAY / 1000)
    await hear(service)
    path = f"/pay/{made['id']}/checkout/{checkout['id']}"
    answer = await service.anyone.post(path, data={"action": "cancel"})
    receipt = await service.anyone.get(answer.headers["location"], follow_redirects=True)
    assert "/receipt/" in receipt.url.path
    assert await units(service) == (0, 0, 1, 0)


async def test_a_lapsed_checkout_cannot_be_cancelled(service: ServiceHarness) -> None:
    """Another payer may have its unit by then."""
    made = await service.create(**ONE)
    answer = await service.pay(made["id"], "a" * 32, manner="never")
    service.clock.advance(RESERVATION)
    assert (await service.pay(made["id"], "b" * 32, manner="never")).status_code == 303
    page = await cancelled(service, answer)
    assert "Time&#39;s up" in page.text
    assert await units(service) == (0, 1, 0, 0)


async def test_a_checkout_is_cancelled_only_through_its_own_address(
    service: ServiceHarness,
) -> None:
    """Under its own request and by POST; opening the page cancels nothing."""
    made, other = await service.create(**DROP), await service.create()
    path = (await service.pay(made["id"], manner="never")).headers["location"]
    checkout = path.rpartition("/")[2]
    wrong = [f"/pay/{other['id']}/checkout/{checkout}", f"/pay/{made['id']}/checkout/{'0' * 24}"]
    for address in wrong:
        assert (await service.anyone.post(address, data={"action": "cancel"})).status_code == 404
    for form in ({"action": "pay"}, {"token": "t" * 32}):
        assert (await service.anyone.post(path, data=form)).status_code == 400
    assert (await service.anyone.post(path, json={"action": "cancel"})).status_code == 415
    assert (await service.anyone.get(f"{path}?action=cancel")).status_code == 200
    assert [row["state"] for row in await service.rows("checkouts")] == ["open"]


async def test_a_cancel_after_the_payment_redirects_the_payer(
    service: ServiceHarness,
) -> None:
    """The page's form-action must name the target, or browsers block the redirect."""
    made = await service.create(**ONE, redirectUrl="https://shop.example/thanks")
    page = await look(service, await service.pay(made["id"], manner="later"))
    assert "form-action 'self' https://shop.example;" in page.headers["content-security-policy"]
