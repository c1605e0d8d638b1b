"""`/v3/paymentRequests`: the calls of the interface and what it leaves open."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from bot.core import exact_json
from bot.interface.answers import (
    PaymentList,
    PublicAnswer,
    RequestAnswer,
    RequestList,
    StatsAnswer,
)
from tests.support.service_harness import (
    DROP,
    HOOK,
    NEW,
    NOON_ISO,
    REQUESTS_PATH,
    URL,
    ServiceHarness,
    refusal_code,
)


async def test_create_answers_the_whole_object(service: ServiceHarness) -> None:
    made = await service.create(
        product={"name": "Coffee", "description": "Hot"},
        instrumentCurrencyCode="BSV",
        denominationCurrencyCode="EUR",
        receivers=[
            {"sendAmount": 2.5, "destination": "alice", "tags": ["a"]},
            {"sendAmount": 0.1, "destination": "bob"},
        ],
        priceBeforeDiscount=3,
        requestedUserData=["paymail"],
        redirectUrl="https://thanks.example/",
        notifications={"webhook": HOOK},
        expirationType="limit",
        totalUnits=3,
        expirationInSeconds=60,
    )
    request_id = made["id"]
    assert re.fullmatch("[0-9a-f]{24}", request_id)
    assert made == {
        "id": request_id,
        "paymentRequestUrl": f"{URL}/pay/{request_id}",
        "paymentRequestQrCodeUrl": f"{URL}/qr/{request_id}.png",
        "isEnabled": True,
        "status": "active",
        "product": {"name": "Coffee", "description": "Hot"},
        "currencyCode": "BSV",
        "paymentAmount": {"currencyCode": "BSV", "amount": 2.6, "denominatedIn": "EUR"},
        "priceBeforeDiscount": 3,
        "receivers": [
            {"sendAmount": 2.5, "destination": "alice", "currencyCode": "EUR", "tags": ["a"]},
            {"sendAmount": 0.1, "destination": "bob", "currencyCode": "EUR"},
        ],
        "notifications": {"webhook": HOOK},
        "customParameters": {"order": 7},
        "requestedUserData": ["paymail"],
        "redirectUrl": "https://thanks.example/",
        "expirationType": "limit",
        "totalUnits": 3,
        "remainingUnits": 3,
        "paymentsCount": 0,
        "enabledAt": NOON_ISO,
        "createdAt": NOON_ISO,
        "expiresAt": "2027-01-15T08:01:00.000Z",
    }
    assert await service.get(request_id) == made


async def test_only_drops_have_units(service: ServiceHarness) -> None:
    for kind in ("never", "onPaymentCompleted"):
        made = await service.create(expirationType=kind)
        assert {"totalUnits", "remainingUnits"}.isdisjoint(made)


async def test_amounts_are_exact_json_numbers(service: ServiceHarness) -> None:
    """0.1 three times is 0.3, and eight decimals keep all eight."""
    receivers = [{"sendAmount": 0.1, "destination": "a"}] * 3
    made = await service.seller.post(REQUESTS_PATH, json=NEW | {"receivers": receivers})
    assert exact_json.loads(made.text)["paymentAmount"]["amount"] == Decimal("0.3")
    text = exact_json.dumps(NEW | {"instrumentCurrencyCode": "BSV"})
    text = text.replace('"sendAmount":5', '"sendAmount":123456.12345678')
    sent = await service.seller.post(
        REQUESTS_PATH, content=text, headers={"Content-Type": "application/json"}
    )
    assert exact_json.loads(sent.text)["paymentAmount"]["amount"] == Decimal("123456.12345678")


async def test_the_list_is_the_applications_own_newest_first(service: ServiceHarness) -> None:
    first = await service.create(expirationInSeconds=60, notifications={"webhook": HOOK})
    service.clock.advance(1)
    second = await service.create()
    answer = await service.seller.get(REQUESTS_PATH)
    RequestList.model_validate(answer.json())
    items = answer.json()["items"]
    assert [item["id"] for item in items] == [second["id"], first["id"]]
    assert items[1]["createdAt"] == NOON_ISO
    assert items[1]["expiresAt"] == 1_800_000_060
    assert items[1]["receivers"][0]["currencyCode"] == "USD"
    assert items[1]["customParameters"] == {"order": 7}
    theirs = await service.seller.get(REQUESTS_PATH, headers=service.stranger())
    assert theirs.json() == {"items": []}


async def test_pages_of_the_list_cover_it_once(service: ServiceHarness) -> None:
    """Also for requests of the same millisecond."""
    made = {(await service.create())["id"] for _ in range(7)}
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 3}
    sizes = []
    while True:
        answer = (await service.seller.get(REQUESTS_PATH, params=query)).json()
        sizes.append(len(answer["items"]))
        seen += [item["id"] for item in answer["items"]]
        if "nextCursor" not in answer:
            break
        query["cursor"] = answer["nextCursor"]
    assert sizes == [3, 3, 1]
    assert len(seen) == 7
    assert set(seen) == made


async def test_edit_answers_the_whole_object_and_keeps_the_rest(service: ServiceHarness) -> None:
    made = await service.create(**DROP, notifications={"webhook": HOOK}, expirationInSeconds=9)
    service.clock.advance(5)
    answer = await service.edit(
        made["id"],
        {
            "product": {"description": "New"},
            "decreaseRemainingUnits": 2,
            "expirationInSeconds": 60,
        },
    )
    assert answer.status_code == 200
    assert answer.json() == made | {
        "product": {"name": "Coffee", "description": "New"},
        "remainingUnits": 1,
        "expiresAt": "2027-01-15T08:01:05.000Z",
    }
    assert await service.get(made["id"]) == answer.json()


async def test_a_refused_edit_changes_nothing(service: ServiceHarness) -> None:
    made = await service.create(**DROP)
    change = {"product": {"name": "Other"}, "decreaseRemainingUnits": 4}
    assert refusal_code(await service.edit(made["id"], change)) == (409, "notEnoughUnits")
    assert await service.get(made["id"]) == made
    donation = await service.create()
    assert refusal_code(await service.edit(donation["id"], change)) == (409, "notLimited")
    assert await service.get(donation["id"]) == donation


async def test_delete_is_final_and_answers_nothing(service: ServiceHarness) -> None:
    made = await service.create()
    path = f"{REQUESTS_PATH}/{made['id']}"
    answer = await service.seller.delete(path)
    assert (answer.status_code, answer.content) == (200, b"")
    for gone in (
        await service.seller.get(path),
        await service.seller.put(path, json={}),
        await service.seller.delete(path),
        await service.anyone.get(f"{REQUESTS_PATH}/public/{made['id']}"),
    ):
        assert refusal_code(gone) == (404, "notFound")
    assert (await service.seller.get(REQUESTS_PATH)).json() == {"items": []}


async def test_payments_are_listed_and_verified(service: ServiceHarness) -> None:
    made = await service.create(requestedUserData=["paymail"], **DROP)
    paid = []
    for number in range(3):
        service.clock.advance(1)
        answer = await service.pay(made["id"], str(number) * 32, paymail=f"p{number}@a.example")
        paid.append(answer.headers["location"].rpartition("/")[2])
    path = f"{REQUESTS_PATH}/{made['id']}/payments"
    page = (await service.seller.get(path, params={"limit": 2})).json()
    rest = (await service.seller.get(path, params={"cursor": page["nextCursor"]})).json()
    PaymentList.model_validate(rest)
    assert [one["transactionId"] for one in page["items"] + rest["items"]] == paid[::-1]
    assert (await service.seller.get(f"{path}/{paid[0]}")).json() == {
        "transactionId": paid[0],
        "amount": 5,
        "currencyCode": "USD",
        "receivers": [{"sendAmount": 5, "destination": "alice", "currencyCode": "USD"}],
        "userData": {"paymail": "p0@a.example"},
        "completedAt": "2027-01-15T08:00:01.000Z",
        "firstUnit": 1,
        "totalUnits": 3,
    }
    assert refusal_code(await service.seller.get(f"{path}/{'0' * 24}")) == (404, "notFound")


async def test_without_credentials_only_the_public_view_is_visible(service: ServiceHarness) -> None:
    made = await service.create(
        **DROP, notifications={"webhook": HOOK}, redirectUrl="https://t.example"
    )
    await service.pay(made["id"])
    answer = await service.anyone.get(f"{REQUESTS_PATH}/public/{made['id']}")
    PublicAnswer.model_validate(answer.json())
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.json() == {
        "id": made["id"],
        "paymentRequestUrl": made["paymentRequestUrl"],
        "paymentRequestQrCodeUrl": made["paymentRequestQrCodeUrl"],
        "isEnabled": True,
        "status": "active",
        "product": {"name": "Coffee"},
        "paymentAmount": {"currencyCode": "USD", "amount": 5, "denominatedIn": "USD"},
        "requestedUserData": [],
        "redirectUrl": "https://t.example",
        "expirationType": "limit",
        "totalUnits": 3,
        "remainingUnits": 2,
        "paymentsCount": 1,
        "enabledAt": NOON_ISO,
    }


async def test_stats_count_payments_volume_and_named_payers(service: ServiceHarness) -> None:
    made = await service.create(requestedUserData=["paymail"])
    for number, name in enumerate(("a@a.example", "A@a.example", "b@a.example")):
        await service.pay(made["id"], str(number) * 32, paymail=name)
    answer = await service.anyone.get(f"{REQUESTS_PATH}/public/stats/{made['id']}")
    StatsAnswer.model_validate(answer.json())
    assert answer.json() == {
        "totalPayments": 3,
        "totalVolume": 15,
        "currencyCode": "USD",
        "uniqueUsers": 2,
    }


async def test_the_collection_answers_with_and_without_a_slash(service: ServiceHarness) -> None:
    """HandCash's SDK calls it with one; a redirect would lose its body."""
    made = await service.seller.post(f"{REQUESTS_PATH}/", json=NEW)
    RequestAnswer.model_validate(made.json())
    assert (await service.seller.get(f"{REQUESTS_PATH}/")).json()["items"][0]["id"] == made.json()[
        "id"
    ]
    assert (await service.seller.get(REQUESTS_PATH)).json() == (
        await service.seller.get(f"{REQUESTS_PATH}/")
    ).json()


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


async def test_one_more_and_a_larger_body_are_refused(service: ServiceHarness) -> None:
    """A thousand long names exceed the size of a body."""
    many = await service.seller.post(REQUESTS_PATH, json=NEW | {"receivers": receivers(MOST + 1)})
    assert refusal_code(many) == (400, "invalidBody")
    large = await service.seller.post(
        REQUESTS_PATH, json=NEW | {"receivers": receivers(name="r{:064}")}
    )
    assert len(large.request.content) > BODY
    assert refusal_code(large) == (413, "bodyTooLarge")
