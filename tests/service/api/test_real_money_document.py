"""`/openapi.json` holds for real money: every answer, and every webhook as it is sent."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from bot.interface.vocabulary import BANK, LIGHTNING
from bot.service.checkouts import claiming
from bot.service.checkouts.checkout import Settlement
from bot.service.notifications.webhooks import WebhookSender
from bot.service.payments import settling
from tests.service.rails.test_accounts import SEPA
from tests.support.http_messages import HttpRequest
from tests.support.real_rails import (
    ACCOUNTS_PATH,
    EUROS,
    OWNER,
    ScriptedRail,
    connect,
    make_bank,
    open_real_service,
)
from tests.support.service_harness import LOOPBACK, ServiceHarness, open_service
from tests.support.webhook_delivery import attempt, pay_with_webhook
from tests.support.webhook_receiver import Receiver

if TYPE_CHECKING:
    import httpx


ALL = ["payment", "checkout.claimed"]
NOBODY = "0" * 24


@pytest.fixture
async def selling(database_url: str) -> AsyncIterator[ServiceHarness]:
    """Open the service with Anna's bank; its webhooks may reach this machine."""
    async with open_real_service(database_url, make_bank(), ScriptedRail(), allow=LOOPBACK) as it:
        assert (await connect(it, BANK)).status_code == 200
        yield it


async def document(service: ServiceHarness) -> dict[str, Any]:
    found: dict[str, Any] = (await service.anyone.get("/openapi.json")).json()
    return found


def check(spec: dict[str, Any], content: dict[str, Any], value: Any) -> None:
    """Check a value against what the document says about a body."""
    schema = content["application/json"]["schema"]
    jsonschema_rs.validate(spec | schema, value, validate_formats=True)


def check_answer(spec: dict[str, Any], answer: httpx.Response) -> str:
    """Check an answer against its documentation; return the call and the status."""
    method, called = answer.request.method.lower(), answer.request.url.path
    (path,) = [
        path for path in spec["paths"] if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), called)
    ]
    operation, status = spec["paths"][path][method], str(answer.status_code)
    documented = operation["responses"][status]
    (kind,) = documented.get("content", {"": None})
    assert answer.headers.get("content-type", "").partition(";")[0] == kind
    assert bool(answer.content) == (kind == "application/json")
    if answer.content:
        check(spec, documented["content"], answer.json())
    return f"{operation['operationId']} {status}"


def check_webhook(spec: dict[str, Any], event: str, sent: HttpRequest) -> dict[str, Any]:
    """Check the bytes and the headers of a webhook as it came; return its body."""
    operation = spec["webhooks"][event]["post"]
    body: dict[str, Any] = json.loads(sent.body)
    check(spec, operation["requestBody"]["content"], body)
    for header in operation["parameters"]:
        value = sent.headers[header["name"]]
        is_number = header["schema"]["type"] == "integer"
        jsonschema_rs.validate(header["schema"], int(value) if is_number else value)
    return body


async def bank_checkout(service: ServiceHarness, **fields: Any) -> str:
    """Open a checkout of five euros to Anna's bank; return its id."""
    request_id = (await service.create(**EUROS | fields))["id"]
    answer = await service.pay(request_id)
    assert answer.status_code == 303
    return answer.headers["location"].rpartition("/")[2]


async def deliver(service: ServiceHarness) -> None:
    """Send the webhook that is due."""
    async with WebhookSender(service.db, service.vault, service.clock, LOOPBACK) as notifier:
        await attempt(service, notifier.queue_handler)


async def claim(service: ServiceHarness, checkout_id: str) -> None:
    shown = (await service.seller.get(f"/v3/checkouts/{checkout_id}")).json()
    request_id, now = shown["paymentRequestId"], service.clock()
    await service.db.transaction(
        lambda tx: claiming.claim(tx, service.context, request_id, checkout_id, now)
    )


async def test_a_webhook_of_test_money_is_as_documented(
    database_url: str, receiver: Receiver
) -> None:
    async with open_service(database_url, allow=LOOPBACK) as service:
        await pay_with_webhook(service, receiver.url)
        await deliver(service)
        body = check_webhook(await document(service), "payment", receiver.received[0])
    assert "event" not in body


@pytest.mark.parametrize("amount", [300, 500])
async def test_a_webhook_of_real_money_is_as_documented(
    selling: ServiceHarness, receiver: Receiver, amount: int
) -> None:
    """Also of too little of it."""
    hook = {"webhookUrl": receiver.url, "customParameters": {"order": 7}, "events": ALL}
    checkout_id = await bank_checkout(selling, notifications={"webhook": hook})
    (row,) = await selling.rows("checkouts")
    settlement = Settlement(BANK, checkout_id, row["external_id"], amount)
    record = partial(settling.record_settlement, settlement=settlement, now=selling.clock())
    await selling.db.transaction(record)
    await deliver(selling)
    body = check_webhook(await document(selling), "payment", receiver.received[0])
    assert (body.get("underpaid"), body["paidBy"]["amount"]) == (amount < 500 or None, amount / 100)
    assert "event" not in body


async def test_a_webhook_of_a_claim_is_as_documented(
    selling: ServiceHarness, receiver: Receiver
) -> None:
    hook = {"webhookUrl": receiver.url, "events": ALL}
    await claim(selling, await bank_checkout(selling, notifications={"webhook": hook}))
    await deliver(selling)
    spec = await document(selling)
    body = check_webhook(spec, "checkout.claimed", receiver.received[0])
    assert body["event"] == "checkout.claimed"
    with pytest.raises(jsonschema_rs.ValidationError):  # the two can't be taken for each other
        check_webhook(spec, "payment", receiver.received[0])


async def test_the_webhooks_are_shown_to_people_too(service: ServiceHarness) -> None:
    page, spec = (await service.anyone.get("/docs")).text, await document(service)
    assert list(spec["webhooks"]) == ALL
    for operations in spec["webhooks"].values():
        assert f'<details id="{operations["post"]["operationId"]}">' in page


async def test_every_answer_about_a_payout_account_is_as_documented(
    selling: ServiceHarness,
) -> None:
    spec, seller = await document(selling), selling.seller
    body = {"owner": OWNER, "kind": LIGHTNING, "details": {"name": "Anna", "key": "secret"}}
    made = await seller.post(ACCOUNTS_PATH, json=body)
    place = f"{ACCOUNTS_PATH}/{made.json()['id']}"
    answers = [
        made,
        await seller.post(ACCOUNTS_PATH, json=body | {"dryRun": True}),
        await seller.post(ACCOUNTS_PATH, json=body | {"details": {}}),
        await seller.post(ACCOUNTS_PATH, json={}),
        await selling.anyone.post(ACCOUNTS_PATH, json=body),
        await seller.post(ACCOUNTS_PATH, json=["x" * 70_000]),
        await seller.post(ACCOUNTS_PATH, content="{}"),
        await seller.get(ACCOUNTS_PATH, params={"owner": OWNER}),
        await seller.get(ACCOUNTS_PATH),
        await selling.anyone.get(ACCOUNTS_PATH, params={"owner": OWNER}),
        await selling.anyone.delete(place),
        await seller.delete(place),
        await seller.delete(place),
    ]
    assert [check_answer(spec, answer) for answer in answers] == [
        "connectPayoutAccount 200",
        "connectPayoutAccount 200",
        "connectPayoutAccount 400",
        "connectPayoutAccount 400",
        "connectPayoutAccount 401",
        "connectPayoutAccount 413",
        "connectPayoutAccount 415",
        "listPayoutAccounts 200",
        "listPayoutAccounts 400",
        "listPayoutAccounts 401",
        "removePayoutAccount 401",
        "removePayoutAccount 200",
        "removePayoutAccount 404",
    ]


async def test_every_answer_about_a_checkout_is_as_documented(selling: ServiceHarness) -> None:
    """In each state that a seller meets: open, claimed, paid, rejected."""
    spec, seller = await document(selling), selling.seller
    paid, rejected = [f"/v3/checkouts/{await bank_checkout(selling)}" for _ in range(2)]
    answers = [await seller.get(paid), await seller.post(f"{rejected}/reject")]
    await claim(selling, rejected.rpartition("/")[2])
    answers += [
        await seller.get(rejected),
        await seller.post(f"{rejected}/reject"),
        await seller.post(f"{paid}/confirm"),
        await seller.post(f"{paid}/reject"),
        *[await seller.get(f"/v3/checkouts/{NOBODY}")],
        *[await seller.post(f"/v3/checkouts/{NOBODY}/{call}") for call in ("confirm", "reject")],
        *[await selling.anyone.post(f"{paid}/{call}") for call in ("confirm", "reject")],
        await selling.anyone.get(paid),
    ]
    assert [check_answer(spec, answer) for answer in answers] == [
        "getCheckout 200",
        "rejectCheckout 409",
        "getCheckout 200",
        "rejectCheckout 200",
        "confirmCheckout 200",
        "rejectCheckout 409",
        "getCheckout 404",
        "confirmCheckout 404",
        "rejectCheckout 404",
        "confirmCheckout 401",
        "rejectCheckout 401",
        "getCheckout 401",
    ]


async def test_every_answer_to_a_hint_is_as_documented(selling: ServiceHarness) -> None:
    spec, checkout_id = await document(selling), await bank_checkout(selling)
    url = selling.context.hint_url(checkout_id) or ""
    answers = [
        await selling.anyone.post(url, content=b"anything"),
        await selling.anyone.post(url, content=b"x" * 70_000),
        await selling.anyone.post(f"{url[:-1]}x"),
    ]
    assert [check_answer(spec, answer) for answer in answers] == [
        "hint 204",
        "hint 413",
        "hint 404",
    ]


async def test_the_examples_of_refusals_are_real_answers(
    service: ServiceHarness, selling: ServiceHarness
) -> None:
    spec, seller = await document(selling), selling.seller
    await connect(selling, LIGHTNING)
    opening = await bank_checkout(selling)
    await selling.db.transaction(
        lambda tx: tx.execute("UPDATE checkouts SET state = 'opening' WHERE id = :id", id=opening)
    )
    examples = {
        ("post", ACCOUNTS_PATH): await seller.post(
            ACCOUNTS_PATH, json={"kind": BANK, "details": SEPA}
        ),
        ("get", ACCOUNTS_PATH): await seller.get(ACCOUNTS_PATH),
        ("delete", f"{ACCOUNTS_PATH}/{{id}}"): await service.seller.delete(
            f"{ACCOUNTS_PATH}/{NOBODY}"
        ),
        ("get", "/v3/checkouts/{id}"): await seller.get(f"/v3/checkouts/{NOBODY}"),
        ("post", "/v3/checkouts/{id}/confirm"): await seller.post(
            f"/v3/checkouts/{opening}/confirm"
        ),
        ("post", "/hints/{id}/{token}"): await selling.anyone.post(f"/hints/{NOBODY}/x"),
    }
    for (method, path), answer in examples.items():
        said = spec["paths"][path][method]["responses"][str(answer.status_code)]
        assert said["content"]["application/json"]["example"] == answer.json()
