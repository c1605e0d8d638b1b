"""`/v3/checkouts`: shown to their application, confirmed and rejected, safe to repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bot.core.ops import audit
from bot.interface.answers import CheckoutAnswer
from tests.support.service_harness import ServiceHarness, refusal_code

if TYPE_CHECKING:
    import httpx
ONE: dict[str, Any] = {"expirationType": "onPaymentCompleted"}


async def ask(service: ServiceHarness, checkout_id: str, call: str = "") -> httpx.Response:
    path = f"/v3/checkouts/{checkout_id}{call}"
    return await (service.seller.post(path) if call else service.seller.get(path))


async def shown(service: ServiceHarness, checkout_id: str, call: str = "") -> dict[str, Any]:
    answer = await ask(service, checkout_id, call)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    CheckoutAnswer.model_validate(found)
    return found


async def open_checkout(service: ServiceHarness, **fields: Any) -> tuple[str, str]:
    """Open a checkout whose test money never comes; return the ids of request and checkout."""
    request_id = (await service.create(**fields))["id"]
    where = (await service.pay(request_id, manner="never")).headers["location"]
    return request_id, where.rpartition("/")[2]


async def put_in_state(service: ServiceHarness, checkout_id: str, state: str) -> None:
    await service.db.transaction(
        lambda tx: tx.execute(
            "UPDATE checkouts SET state = :state WHERE id = :id", state=state, id=checkout_id
        )
    )


async def test_a_checkout_is_shown_with_what_its_payer_pays(service: ServiceHarness) -> None:
    request_id, checkout_id = await open_checkout(service)
    assert await shown(service, checkout_id) == {
        "id": checkout_id,
        "paymentRequestId": request_id,
        "kind": "sandbox",
        "state": "open",
        "amount": 5,
        "currencyCode": "USD",
        "expiresAt": "2027-01-15T08:15:00.000Z",
        "payWith": None,
    }
    service.clock.advance(900)
    assert (await shown(service, checkout_id))["state"] == "lapsed"


@pytest.mark.parametrize("state", ["open", "claimed"])
async def test_a_confirmed_checkout_is_paid_once(service: ServiceHarness, state: str) -> None:
    request_id, checkout_id = await open_checkout(service, **ONE)
    await put_in_state(service, checkout_id, state)
    for _ in range(2):
        assert (await shown(service, checkout_id, "/confirm"))["state"] == "paid"
    assert (await service.get(request_id))["paymentsCount"] == 1
    answer = await ask(service, checkout_id, "/reject")
    assert refusal_code(answer) == (409, "wrongState")
    lines = [one for one in await service.rows("audit") if one["subject"] == checkout_id]
    assert [(one["actor"], one["action"]) for one in lines] == [
        (audit.app(service.credentials.app_id), "checkout.confirmed")
    ]


async def test_a_rejected_checkout_gives_its_unit_back(service: ServiceHarness) -> None:
    request_id, checkout_id = await open_checkout(service, **ONE)
    assert refusal_code(await ask(service, checkout_id, "/reject")) == (409, "wrongState")
    await put_in_state(service, checkout_id, "claimed")
    assert (await service.get(request_id))["isEnabled"] is False
    for _ in range(2):
        assert (await shown(service, checkout_id, "/reject"))["state"] == "rejected"
    assert (await service.get(request_id))["isEnabled"] is True
    lines = [one for one in await service.rows("audit") if one["subject"] == checkout_id]
    assert [one["action"] for one in lines] == ["checkout.rejected"]


async def test_a_checkout_that_a_wallet_still_opens_can_not_be_confirmed(
    service: ServiceHarness,
) -> None:
    _, checkout_id = await open_checkout(service)
    await put_in_state(service, checkout_id, "opening")
    assert refusal_code(await ask(service, checkout_id, "/confirm")) == (409, "wrongState")


async def test_a_confirmation_after_the_end_is_late(service: ServiceHarness) -> None:
    _, checkout_id = await open_checkout(service, **ONE)
    service.clock.advance(900)
    assert (await shown(service, checkout_id, "/confirm"))["state"] == "late"
