"""`/v3/deliveries`: an application lists and retries its own deliveries."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.core.outbox import outbox
from bot.interface.answers import DeliveryAnswer, DeliveryItem, DeliveryList
from bot.service.notifications import notification_rows
from bot.service.notifications.notification_queues import WEBHOOKS
from bot.service.notifications.webhooks import WebhookSender
from tests.support.databases import SQLITE
from tests.support.http_peers import Receiver, empty_answer
from tests.support.service_harness import (
    LOOPBACK,
    NOON_ISO,
    ServiceHarness,
    open_service,
    refusal_code,
)
from tests.support.webhook_delivery import Endpoint, attempt, owe_many, pay_with_webhook

ALL = "/v3/deliveries"


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[ServiceHarness]:
    async with open_service(database_url, allow=LOOPBACK, mails=True) as it:
        yield it


async def listed(service: ServiceHarness, **query: Any) -> dict[str, Any]:
    got = await service.seller.get(ALL, params=query)
    assert got.status_code == 200, got.text
    DeliveryList.model_validate(got.json())
    found: dict[str, Any] = got.json()
    return found


async def test_a_delivery_has_all_its_fields(endpoint: Endpoint) -> None:
    """With its address as the application gave it, including the query."""
    service, receiver = endpoint.service, endpoint.receiver
    receiver.answers = [b"HTTP/1.1 503 X\r\nContent-Length: 4\r\n\r\nbusy"]
    request_id = await pay_with_webhook(service, f"{receiver.url}?key=word")
    row = await endpoint.attempt()
    (payment,) = await service.rows("payments")
    (item,) = (await listed(service))["items"]
    assert item == {
        "id": row["id"],
        "paymentRequestId": request_id,
        "transactionId": payment["id"],
        "channel": "webhook",
        "address": f"{receiver.url}?key=word",
        "state": "waiting",
        "attempts": 1,
        "createdAt": NOON_ISO,
        "nextAt": item["nextAt"],
        "note": "answered 503",
    }
    assert item["nextAt"].startswith("2027-01-15T08:00:0")
    one = await service.seller.get(f"{ALL}/{row['id']}")
    DeliveryAnswer.model_validate(one.json())
    tried = {"at": NOON_ISO, "tookMs": 0, "status": 503, "answer": "busy"}
    assert one.json() == item | {"log": [tried]}


async def test_an_attempt_without_an_answer_has_a_reason(
    service: ServiceHarness, notifier: WebhookSender
) -> None:
    await pay_with_webhook(service, "http://127.0.0.1:1/")
    row = await attempt(service, notifier.queue_handler)
    (tried,) = (await service.seller.get(f"{ALL}/{row['id']}")).json()["log"]
    assert set(tried) == {"at", "tookMs", "trouble"}
    assert tried["trouble"].startswith("ConnectError")


async def test_a_finished_delivery_has_its_time(endpoint: Endpoint) -> None:
    await endpoint.deliver()
    (item,) = (await listed(endpoint.service))["items"]
    assert (item["state"], item["settledAt"]) == ("delivered", NOON_ISO)
    assert "nextAt" not in item
    assert "note" not in item


async def test_pages_of_deliveries_go_newest_first(service: ServiceHarness) -> None:
    """Of both channels and one millisecond: none is left out, none repeated."""
    notifications = {"webhook": {"webhookUrl": "https://h.example/w"}, "email": "a@b.example"}
    made = await service.create(notifications=notifications)
    for number in range(5):
        await service.pay(made["id"], f"{number:032d}")
        service.clock.advance(0.001 * (number % 2))
    every = (await listed(service))["items"]
    assert len(every) == 10
    order = [(one["createdAt"], one["id"]) for one in every]
    assert order == sorted(order, reverse=True)
    for limit in (1, 3, 10):
        seen: list[Any] = []
        cursor: dict[str, str] = {}
        while True:
            page = await listed(service, limit=limit, **cursor)
            seen += page["items"]
            assert len(page["items"]) <= limit
            if "nextCursor" not in page:
                break
            cursor = {"cursor": page["nextCursor"]}
        assert seen == every


async def test_without_a_limit_a_page_has_a_hundred(service: ServiceHarness) -> None:
    await owe_many(service, "https://h.example/w", 101)
    first = await listed(service)
    assert len(first["items"]) == 100
    assert len((await listed(service, cursor=first["nextCursor"]))["items"]) == 1


async def test_the_list_can_be_filtered_by_request_and_state(endpoint: Endpoint) -> None:
    one = await endpoint.owe()
    await endpoint.attempt()
    two = await endpoint.owe()
    for query, requests in (
        ({}, [two, one]),
        ({"paymentRequestId": one}, [one]),
        ({"state": "delivered"}, [one]),
        ({"state": "waiting"}, [two]),
        ({"state": "dead"}, []),
        ({"paymentRequestId": one, "state": "waiting"}, []),
        ({"paymentRequestId": "none"}, []),
    ):
        found = (await listed(endpoint.service, **query))["items"]
        assert sorted(item["paymentRequestId"] for item in found) == sorted(requests)


async def test_a_filter_by_state_reads_a_part_of_the_list_at_a_time(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others wait for it: a page may be empty and still have a next one."""
    monkeypatch.setattr(notification_rows, "MOST_READ", 4)
    await owe_many(service, "https://h.example/w", 10)
    every = [item["id"] for item in (await listed(service))["items"]]
    oldest = every[-1]
    service.db.run(
        lambda tx: tx.execute("UPDATE outbox SET state = 'dead' WHERE id = :id", id=oldest)
    )
    for state, sizes in (("dead", [0, 0, 1]), ("waiting", [4, 4, 1])):
        pages: list[dict[str, Any]] = []
        cursor: dict[str, str] = {}
        while not pages or "nextCursor" in pages[-1]:
            pages.append(await listed(service, state=state, **cursor))
            cursor = {"cursor": pages[-1].get("nextCursor", "")}
        assert [len(page["items"]) for page in pages] == sizes
        found = [item["id"] for page in pages for item in page["items"]]
        assert found == ([oldest] if state == "dead" else every[:-1])


async def test_an_application_lists_only_its_own_deliveries(service: ServiceHarness) -> None:
    request_id = await pay_with_webhook(service, "https://h.example/w")
    other = service.stranger()
    for query in ({}, {"paymentRequestId": request_id}):
        assert (await service.anyone.get(ALL, params=query, headers=other)).json() == {"items": []}


async def test_a_settled_delivery_can_be_retried(endpoint: Endpoint) -> None:
    """It starts again at the first attempt, and keeps its log."""
    service = endpoint.service
    row = await endpoint.deliver(empty_answer(410))
    service.clock.advance(60)
    again = await service.seller.post(f"{ALL}/{row['id']}/retry")
    assert again.status_code == 200
    DeliveryItem.model_validate(again.json())
    assert (again.json()["state"], again.json()["attempts"]) == ("waiting", 0)
    assert again.json()["nextAt"] == "2027-01-15T08:01:00.000Z"
    assert (await endpoint.attempt())["state"] == "done"
    log = (await service.seller.get(f"{ALL}/{row['id']}")).json()["log"]
    assert [one["status"] for one in log] == [410, 200]


async def test_a_waiting_delivery_is_retried_at_once(endpoint: Endpoint) -> None:
    row = await endpoint.deliver(empty_answer(503))
    assert (row["state"], row["attempts"]) == ("waiting", 1)
    again = (await endpoint.service.seller.post(f"{ALL}/{row['id']}/retry")).json()
    assert (again["state"], again["attempts"]) == ("waiting", 0)
    assert again["nextAt"] == NOON_ISO
    assert (await endpoint.attempt())["state"] == "done"


async def test_a_delivery_that_is_being_sent_stays_as_it_is(
    service: ServiceHarness, receiver: Receiver
) -> None:
    await pay_with_webhook(service, receiver.url)
    service.db.run(lambda tx: outbox.claim(tx, WEBHOOKS, service.clock(), 1))
    (before,) = await service.rows("outbox")
    again = await service.seller.post(f"{ALL}/{before['id']}/retry")
    assert (again.status_code, again.json()["state"]) == (200, "sending")
    assert await service.rows("outbox") == [before]


async def test_the_collection_answers_with_and_without_a_slash(service: ServiceHarness) -> None:
    for path in (ALL, f"{ALL}/"):
        assert (await service.seller.get(path)).json() == {"items": []}
    refused = await service.seller.post(ALL)
    assert (refusal_code(refused), refused.headers["allow"]) == ((405, "methodNotAllowed"), "GET")


@pytest.mark.only(SQLITE, "its rowid")
async def test_the_order_of_ids_is_the_order_of_payments(service: ServiceHarness) -> None:
    """Also at one moment, because a page may end between them."""
    await owe_many(service, "https://h.example/w", 20)
    items = (await listed(service))["items"]
    payments = await service.db.query("SELECT id FROM payments ORDER BY rowid DESC")
    assert [one["transactionId"] for one in items] == [row["id"] for row in payments]
    assert {one["createdAt"] for one in items} == {NOON_ISO}
