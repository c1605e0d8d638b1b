"""HandCash's TypeScript SDK against us: its calls as it sends them, its types as it reads them.

Seen in November 2026 with the source of `@handcash/sdk` (github.com/HandCash/handcash-sdk, commit
2ac7d5f), built and pointed at this service by its `baseUrl` alone. Its calls of the collection end
in a slash, its header names are in lower case, and only calls with a body say a content type.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from bot.service.pages.app import create_app
from tests.support.asgi_server import serve_asgi
from tests.support.service_harness import LOOPBACK, ServiceHarness, make_service

ALL = "/v3/paymentRequests/"
HEADERS = {
    "accept": "*/*",
    "accept-language": "*",
    "sec-fetch-mode": "cors",
    "user-agent": "node",
    "accept-encoding": "gzip, deflate",
}
UPGRADE: dict[str, Any] = {
    "product": {"name": "Premium upgrade", "description": "One-time upgrade to premium"},
    "instrumentCurrencyCode": "BSV",
    "denominationCurrencyCode": "USD",
    "receivers": [{"destination": "your_handle", "sendAmount": 9.99}],
}
DROP: dict[str, Any] = {
    "product": {
        "name": "Drop",
        "description": "d",
        "longDescription": "long",
        "imageUrl": "https://example.com/a.png",
    },
    "instrumentCurrencyCode": "BSV",
    "denominationCurrencyCode": "USD",
    "receivers": [
        {"sendAmount": 0.01, "destination": "nosetwo", "tags": ["a"]},
        {"sendAmount": 2.5, "destination": "bob"},
    ],
    "requestedUserData": ["paymail", "email", "phoneNumber"],
    "redirectUrl": "https://example.com/thanks",
    "notifications": {
        "webhook": {
            "webhookUrl": "https://example.com/hook",
            "customParameters": {"orderId": "42"},
        }
    },
    "totalUnits": 10,
    "expirationInSeconds": 86400,
    "expirationType": "limit",
    "enabledAt": "2020-01-01T00:00:00.000Z",
    "priceBeforeDiscount": 5,
}
BODIES = [
    {**UPGRADE, "expirationType": "never"},
    {
        **UPGRADE,
        "instrumentCurrencyCode": "MNEE",
        "expirationType": "onPaymentCompleted",
        "redirectUrl": "https://yourapp.example/thank-you?o=1",
    },
    DROP,
    {
        "product": UPGRADE["product"],
        "instrumentCurrencyCode": "BSV",
        "receivers": [{"destination": "a", "sendAmount": 0.00001234}],
        "expirationType": "never",
    },
    {**UPGRADE, "expirationType": "never", "expiresAt": "2027-12-31T00:00:00.000Z"},
    {
        **UPGRADE,
        "expirationType": "onPaymentCompleted",
        "enabledAt": "2027-12-31T00:00:00.000Z",
    },
    {
        **UPGRADE,
        "expirationType": "limit",
        "totalUnits": 1,
        "requestedUserData": [],
        "notifications": {},
    },
    {**UPGRADE, "expirationType": "never", "paymentMethods": ["onChain"]},
    {**UPGRADE, "expirationType": "never", "denominationCurrencyCode": "CNH"},
]
GIVING: list[dict[str, Any]] = [
    {
        "receivers": [{"destination": "a", "sendAmount": 5}],
        "amountChoice": {"minimum": 3, "suggested": [5, 10], "maximum": 50},
        "goal": 1000,
        "thanks": "Thank you!",
        "keepUrl": "https://shop.example/keep/{requestId}/{transactionId}",
    },
    {
        "expirationType": "limit",
        "totalUnits": 10,
        "maxQuantity": 3,
        "delivery": {"codes": ["AAAA-1", "BBBB-2"]},
    },
]
"""Fields of requests that another program made, with what the SDK doesn't know of."""
# What its types call required of every request; `expiresAt` is there where there is an end.
REQUIRED = {
    "id", "paymentRequestUrl", "paymentRequestQrCodeUrl", "isEnabled", "product", "currencyCode",
    "receivers", "paymentAmount", "createdAt", "enabledAt",
}  # fmt: skip


class Sdk:
    """The calls of the SDK, over a connection of its own."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def create(self, body: dict[str, Any]) -> httpx.Response:
        return await self._send("POST", ALL, body)

    async def list(self) -> httpx.Response:
        return await self._send("GET", ALL)

    async def get(self, request_id: str) -> httpx.Response:
        return await self._send("GET", f"{ALL}{request_id}")

    async def update(self, request_id: str, body: dict[str, Any]) -> httpx.Response:
        return await self._send("PUT", f"{ALL}{request_id}", body)

    async def delete(self, request_id: str) -> httpx.Response:
        return await self._send("DELETE", f"{ALL}{request_id}")

    async def _send(
        self, method: str, path: str, body: dict[str, Any] | None = None
    ) -> httpx.Response:
        answer = await self._http.request(method, path, json=body)
        assert not answer.history
        return answer


@pytest.fixture
async def sdk(service: ServiceHarness) -> AsyncIterator[Sdk]:
    app = create_app(make_service(service.db, service.clock, allow=LOOPBACK))
    keys = {"app-id": service.credentials.app_id, "app-secret": service.credentials.app_secret}
    async with (
        serve_asgi(app) as root,
        httpx.AsyncClient(base_url=root, headers=HEADERS | keys) as http,
    ):
        yield Sdk(http)


async def test_its_create_bodies_are_accepted_and_answered_as_it_reads_them(sdk: Sdk) -> None:
    for body in BODIES:
        answer = await sdk.create(body)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/json", body
        made = answer.json()
        assert made.keys() >= REQUIRED, body
        assert made["currencyCode"] == body["instrumentCurrencyCode"], body
        asked = sum(one["sendAmount"] for one in body["receivers"])
        assert made["paymentAmount"]["amount"] == asked, body
        assert made["product"] == body["product"], body
        assert ("expiresAt" in made) is bool({"expiresAt", "expirationInSeconds"} & body.keys()), (
            body
        )
        assert (await sdk.get(made["id"])).json() == made, body


async def test_it_lists_updates_and_deletes(sdk: Sdk, service: ServiceHarness) -> None:
    drop = (await sdk.create(DROP)).json()["id"]
    service.clock.advance(1)
    gift = (await sdk.create(BODIES[0])).json()["id"]
    items = (await sdk.list()).json()["items"]
    assert [item["id"] for item in items] == [gift, drop]
    assert all(item.keys() >= REQUIRED for item in items)
    product = {
        "name": "Drop 2",
        "description": "d2",
        "longDescription": "l2",
        "imageUrl": "https://example.com/b.png",
    }
    webhook = {"webhookUrl": "https://example.com/hook2", "customParameters": {"k": "v"}}
    edits: list[tuple[dict[str, Any], str, Any]] = [
        ({"product": product}, "product", product),
        ({"decreaseRemainingUnits": 4}, "remainingUnits", 6),
        ({"priceBeforeDiscount": 6}, "priceBeforeDiscount", 6),
        ({"priceBeforeDiscount": None}, "priceBeforeDiscount", None),
        ({"notifications": {"webhook": webhook}}, "notifications", {"webhook": webhook}),
        ({"redirectUrl": "https://example.com/other"}, "redirectUrl", "https://example.com/other"),
        ({"expiresAt": "2027-06-30T00:00:00.000Z"}, "expiresAt", "2027-06-30T00:00:00.000Z"),
    ]
    for body, field, value in edits:
        answer = await sdk.update(drop, body)
        assert (answer.status_code, answer.json().get(field)) == (200, value)
    for request_id in (drop, gift):
        answer = await sdk.delete(request_id)
        assert (answer.status_code, answer.content) == (200, b"")
        # It takes an empty answer for `{}` by this header alone; others go by its type.
        assert answer.headers["content-length"] == "0"
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert (await sdk.list()).json() == {"items": []}


@pytest.mark.parametrize("fields", GIVING)
async def test_it_reads_and_edits_what_it_does_not_know_of(
    sdk: Sdk, service: ServiceHarness, fields: dict[str, Any]
) -> None:
    """What it knows says the same as ever, and an edit of that leaves the rest as it was."""
    made = await service.create(**fields)
    found = (await sdk.get(made["id"])).json()
    (item,) = (await sdk.list()).json()["items"]
    for answer in (found, item):
        assert answer.keys() >= REQUIRED
        assert answer["paymentAmount"]["amount"] == 5
    product = {"name": "Tea", "description": "d"}
    edited = await sdk.update(made["id"], {"product": product, "redirectUrl": "https://a.example"})
    assert edited.status_code == 200, edited.text
    assert edited.json() == made | {"product": product, "redirectUrl": "https://a.example"}
    assert edited.json().keys() >= fields.keys() - {"expirationType"}


async def test_its_public_calls_need_no_credentials(sdk: Sdk, service: ServiceHarness) -> None:
    """`referenceId` is a query that it may send along."""
    made = (await sdk.create(DROP)).json()
    answer = await service.anyone.get(f"{ALL}public/{made['id']}?referenceId=r1")
    shown = answer.json()
    needed = {"id", "paymentRequestUrl", "paymentRequestQrCodeUrl", "status", "redirectUrl"}
    assert shown.keys() >= needed | {"expiresAt", "product", "paymentAmount"}
    stats = (await service.anyone.get(f"{ALL}public/stats/{made['id']}")).json()
    assert stats.keys() >= {"totalPayments", "totalVolume", "uniqueUsers"}
