"""`/v3/paymentRequests`: the calls of the interface and what it leaves open."""

from __future__ import annotations

import asyncio
import re
from decimal import Decimal
from typing import Any

import pytest

from bot.core import exact_json
from bot.interface.answers import (
    PaymentList,
    PublicAnswer,
    RequestAnswer,
    RequestList,
    StatsAnswer,
)
from bot.service.requests import applications
from tests.support.service_harness import (
    DROP,
    HOOK,
    NEW,
    NOON_ISO,
    REQUESTS_PATH,
    URL,
    ServiceHarness,
    headers_of,
    refusal_code,
    refused_fields,
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
    assert refusal_code(
        await service.seller.post(REQUESTS_PATH, json=NEW | {"expirationType": "limit"})
    ) == (
        400,
        "invalidBody",
    )
    assert refused_fields(
        await service.seller.post(REQUESTS_PATH, json=NEW | {"totalUnits": 1})
    ) == ["totalUnits"]


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
    other = service.db.run(lambda tx: applications.create(tx, service.vault, "other", 0))
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
    theirs = await service.seller.get(REQUESTS_PATH, headers=headers_of(other))
    assert theirs.json() == {"items": []}


async def test_another_applications_request_is_not_found(service: ServiceHarness) -> None:
    """Reading, changing and deleting it are 404, and it stays as it is."""
    made = await service.create()
    other = headers_of(
        service.db.run(lambda tx: applications.create(tx, service.vault, "other", 0))
    )
    path = f"{REQUESTS_PATH}/{made['id']}"
    for answer in (
        await service.seller.get(path, headers=other),
        await service.seller.put(path, json={"product": {"name": "x"}}, headers=other),
        await service.seller.delete(path, headers=other),
        await service.seller.get(f"{path}/payments", headers=other),
        await service.seller.get(f"{path}/payments/{'0' * 24}", headers=other),
    ):
        assert refusal_code(answer) == (404, "notFound")
    assert await service.get(made["id"]) == made


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


async def test_without_a_limit_the_list_is_complete(service: ServiceHarness) -> None:
    made = {(await service.create())["id"] for _ in range(205)}
    items = (await service.seller.get(REQUESTS_PATH)).json()["items"]
    assert len(items) == 205
    assert {item["id"] for item in items} == made


async def test_the_status_filters_the_list(service: ServiceHarness) -> None:
    """Each filter returns the requests with this status in their answers."""
    ids = {
        "scheduled": (await service.create(enabledAt="2027-02-01T00:00:00Z"))["id"],
        "active": (await service.create())["id"],
        "expired": (await service.create(expirationInSeconds=1))["id"],
        "completed": (await service.create(expirationType="onPaymentCompleted"))["id"],
        "soldOut": (await service.create(expirationType="limit", totalUnits=1))["id"],
    }
    for name in ("completed", "soldOut"):
        assert (await service.pay(ids[name])).status_code == 303
    service.clock.advance(1)
    for status, request_id in ids.items():
        for query in ({"status": status}, {"status": status, "limit": "5"}):
            answer = await service.seller.get(REQUESTS_PATH, params=query)
            items = answer.json()["items"]
            assert [(item["id"], item["status"]) for item in items] == [(request_id, status)]
            assert items[0]["isEnabled"] is (status == "active")


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"limit": 101},
        {"limit": "x"},
        {"limit": 5, "cursor": "x"},
        {"limit": 5, "cursor": "é"},
        {"limit": 5, "cursor": "MS4x"},
        {"cursor": "a" * 101},
        {"status": "gone"},
    ],
)
async def test_a_wrong_query_is_a_400_that_names_it(
    service: ServiceHarness, query: dict[str, Any]
) -> None:
    answer = await service.seller.get(REQUESTS_PATH, params=query)
    assert refusal_code(answer) == (400, "invalidBody")
    assert refused_fields(answer) == [list(query)[-1]]


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


async def test_stop_is_an_edit_and_can_be_taken_back(service: ServiceHarness) -> None:
    made = await service.create()
    await service.edit(made["id"], {"expirationInSeconds": 1})
    service.clock.advance(1)
    stopped = await service.get(made["id"])
    assert (stopped["isEnabled"], stopped["status"]) == (False, "expired")
    revived = (await service.edit(made["id"], {"expirationInSeconds": None})).json()
    assert (revived["isEnabled"], revived["status"]) == (True, "active")
    assert "expiresAt" not in revived


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


async def test_stats_count_payments_volume_and_named_payers(
    service: ServiceHarness,
) -> None:
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


async def test_one_idempotency_key_makes_one_request(service: ServiceHarness) -> None:
    """For 24 hours, however the body is spaced and ordered; another body is a conflict."""
    key = {"Idempotency-Key": "k1"}
    made = (await service.seller.post(REQUESTS_PATH, json=NEW, headers=key)).json()
    spaced = exact_json.dumps(dict(reversed(NEW.items()))).replace(",", " , ")
    headers = key | {"Content-Type": "application/json"}
    again = await service.seller.post(REQUESTS_PATH, content=spaced, headers=headers)
    assert again.json() == made
    other = await service.seller.post(
        REQUESTS_PATH, json=NEW | {"redirectUrl": "https://t.example/other"}, headers=key
    )
    assert refusal_code(other) == (409, "idempotencyMismatch")
    assert len(await service.rows("payment_requests")) == 1
    service.clock.advance(24 * 3600)
    later = await service.seller.post(REQUESTS_PATH, json=NEW, headers=key)
    assert later.json()["id"] != made["id"]
    assert len(await service.rows("idempotency")) == 1


async def test_an_idempotency_key_belongs_to_its_application(service: ServiceHarness) -> None:
    key = {"Idempotency-Key": "k1"}
    other = headers_of(
        service.db.run(lambda tx: applications.create(tx, service.vault, "other", 0))
    )
    one = await service.seller.post(REQUESTS_PATH, json=NEW, headers=key)
    two = await service.seller.post(REQUESTS_PATH, json=NEW, headers=key | other)
    assert one.json()["id"] != two.json()["id"]
    long = await service.seller.post(
        REQUESTS_PATH, json=NEW, headers={"Idempotency-Key": "k" * 256}
    )
    assert refusal_code(long) == (400, "invalidBody")


async def test_simultaneous_calls_under_one_key_make_one_request(service: ServiceHarness) -> None:
    key = {"Idempotency-Key": "k1"}
    calls = (service.seller.post(REQUESTS_PATH, json=NEW, headers=key) for _ in range(20))
    answers = await asyncio.gather(*calls)
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(await service.rows("payment_requests")) == 1
