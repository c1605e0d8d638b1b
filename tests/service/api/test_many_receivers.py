"""A thousand receivers, the limit, work like one: created, shown, listed, paid."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from bot.core import exact_json
from tests.support.service_harness import HOOK, NEW, REQUESTS_PATH, ServiceHarness, refusal_code

MOST = 1000
BODY = 64 * 1024


def receivers(count: int = MOST, name: str = "r{:04}") -> list[dict[str, Any]]:
    return [{"sendAmount": 1, "destination": name.format(one)} for one in range(count)]


async def test_a_request_with_a_thousand_receivers_is_created_and_paid(
    service: ServiceHarness,
) -> None:
    made = await service.create(receivers=receivers(), notifications={"webhook": HOOK})
    assert [one["destination"] for one in made["receivers"]] == [f"r{n:04}" for n in range(MOST)]
    assert made["paymentAmount"]["amount"] == MOST
    page = await service.anyone.get(f"/pay/{made['id']}")
    assert "$1,000.00" in page.text
    assert "r0999" not in page.text
    assert (await service.pay(made["id"])).status_code == 303
    (paid,) = (await service.seller.get(f"{REQUESTS_PATH}/{made['id']}/payments")).json()["items"]
    shares: list[Decimal] = [one["sendAmount"] for one in paid["receivers"]]
    assert (len(shares), sum(shares), paid["amount"]) == (MOST, MOST, MOST)
    (item,) = (await service.seller.get(REQUESTS_PATH)).json()["items"]
    assert len(item["receivers"]) == MOST
    (hook,) = await service.rows("outbox")
    assert "r0999" not in hook["body"]


async def test_shares_in_another_currency_add_up_to_the_total(
    service: ServiceHarness,
) -> None:
    made = await service.create(
        receivers=receivers(), instrumentCurrencyCode="BSV", denominationCurrencyCode="USD"
    )
    assert (await service.pay(made["id"])).status_code == 303
    answer = await service.seller.get(f"{REQUESTS_PATH}/{made['id']}/payments")
    paid = exact_json.loads(answer.content)["items"][0]["paid"]
    assert (len(paid["shares"]), sum(paid["shares"])) == (MOST, paid["amount"])


async def test_one_more_and_a_larger_body_are_refused(service: ServiceHarness) -> None:
    """A thousand long names exceed the size of a body."""
    many = await service.seller.post(REQUESTS_PATH, json=NEW | {"receivers": receivers(MOST + 1)})
    assert refusal_code(many) == (400, "invalidBody")
    large = await service.seller.post(
        REQUESTS_PATH, json=NEW | {"receivers": receivers(name="r{:064}")}
    )
    assert len(large.request.content) > BODY
    assert refusal_code(large) == (413, "bodyTooLarge")
