"""What was bought is shown to the receipt's holder alone: no log, queue or list ever has it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.databases import TABLES
from tests.support.goods import buy, delivered, receipt, uploaded
from tests.support.service_harness import HOOK, REQUESTS_PATH, ServiceHarness, open_service

CODE, TEXT, CONTENT = "GEHEIM-4711", "The door opens with 0815.", "the song itself"
OWN_TABLES = {"codes", "file_parts", "payment_requests", "former_deliveries"}
"""Tables that keep what is delivered."""

TOLD: dict[str, Any] = {
    "notifications": {"webhook": HOOK, "email": "seller@shop.example"},
    "requestedUserData": ["email"],
}


@pytest.fixture
async def mailing(database_url: str) -> AsyncIterator[ServiceHarness]:
    async with open_service(database_url, mails=True) as service:
        yield service


async def everything_else(service: ServiceHarness) -> str:
    """Return every row of the database but those of OWN_TABLES."""
    named = {row["name"] for row in await service.db.query(TABLES[service.db.engine])}
    assert named >= OWN_TABLES
    return str([await service.rows(table) for table in named - OWN_TABLES])


async def answers_to_others(service: ServiceHarness, request_id: str) -> str:
    """Return what the application is answered about a request, and what everybody is."""
    own = f"{REQUESTS_PATH}/{request_id}"
    paths = [own, f"{own}/payments", REQUESTS_PATH, "/v3/deliveries"]
    public = [f"{REQUESTS_PATH}/public/{request_id}", f"/pay/{request_id}", "/robots.txt"]
    asked = [await service.seller.get(path) for path in paths]
    asked += [await service.anyone.get(path) for path in public]
    assert {answer.status_code for answer in asked} == {200}
    return "\n".join(answer.text for answer in asked)


@pytest.mark.parametrize("kind", ["codes", "text", "file", "codesFile"])
async def test_nobody_else_is_shown_what_was_bought(mailing: ServiceHarness, kind: str) -> None:
    service = mailing
    with capture_logs() as logs:
        wanted = {
            "codes": {"codes": [CODE]},
            "text": {"text": TEXT},
            "file": {"fileId": await uploaded(service, CONTENT.encode())},
            "codesFile": {"codesFileId": await uploaded(service, CODE.encode(), "a.txt")},
        }
        made = (await service.create(delivery=wanted[kind], **TOLD))["id"]
        path = await buy(service, made, email="payer@home.example")
        found = await delivered(service, path)
        assert found
        assert found["state"] == "delivered"
        await service.edit(made, {"delivery": {"codes": [CODE + "-2", CODE + "-3"]}})
        if kind != "file":
            assert (await delivered(service, path)) == found
        url = f"{REQUESTS_PATH}/{made}/codes"
        await service.seller.post(url, json={"codes": [CODE, CODE + "-4"]})
        repeated = await service.seller.post(url, json={"codes": [CODE, CODE]})
        others = await answers_to_others(service, made)
    for secret in (CODE, TEXT, CONTENT):
        assert secret not in str(logs)
        assert secret not in others
        assert secret not in repeated.text
        assert secret not in await everything_else(service)


async def test_letters_and_webhooks_have_no_code(mailing: ServiceHarness) -> None:
    """They are queued with the payment, and wait in the database, in logs of others, in inboxes."""
    made = (await mailing.create(delivery={"codes": [CODE]}, **TOLD))["id"]
    path = await buy(mailing, made, email="payer@home.example")
    queued = await mailing.db.query("SELECT body FROM outbox")
    assert len(queued) >= 3
    assert CODE not in str(queued)
    assert (await receipt(mailing, path))["delivery"]["codes"] == [CODE]
