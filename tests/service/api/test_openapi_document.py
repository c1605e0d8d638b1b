"""`/openapi.json` describes the service and its webhooks; `/docs` loads nothing foreign."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import jsonschema_rs
import pytest
from starlette.requests import Request

from bot.core.errors import Internal, StorageError
from bot.core.ops import readiness
from bot.interface.vocabulary import BANK, LIGHTNING, PAYOUT_KINDS
from bot.service.api import calls
from bot.service.checkouts import claiming
from bot.service.checkouts.checkout import Settlement
from bot.service.notifications.webhooks import WebhookSender
from bot.service.pages.site_routes import brief
from bot.service.payments import settling
from tests.service.rails.test_bank_accounts import SEPA
from tests.support.http_peers import HttpRequest, Receiver
from tests.support.real_rails import (
    ACCOUNTS_PATH,
    EUROS,
    ScriptedRail,
    connect,
    make_bank,
    open_real_service,
)
from tests.support.service_harness import LOOPBACK, NEW, ServiceHarness, open_service
from tests.support.webhook_delivery import attempt, pay_with_webhook


async def document(service: ServiceHarness) -> dict[str, Any]:
    found: dict[str, Any] = (await service.anyone.get("/openapi.json")).json()
    return found


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        here = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return here.union(*map(references, value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


async def test_states_and_kinds_keep_their_published_names_and_descriptions(
    service: ServiceHarness,
) -> None:
    """They are names and docstrings of the model, where nobody expects that they are published."""
    schemas = (await document(service))["components"]["schemas"]
    found = {name: schema["description"] for name, schema in schemas.items() if "enum" in schema}
    assert found == {
        "CheckoutState": (
            "State of a checkout; LATE and OVERSOLD are paid after it held no unit any more.\n\n"
            "OPENING waits for the wallet's invoice, CLAIMED for the seller to confirm the payer's"
            " word; it\nmay hold no unit, and then is OVERSOLD where none is left once it's"
            " confirmed."
        ),
        "Currency": "Codes of ISO 4217 that are in use, and others that sellers price in.",
        "DeliveryKind": "What a payer gets after payment.",
        "DeliveryProgress": "Whether a payer has everything that was bought.",
        "DeliveryState": (
            "State of a delivery. DEAD: given up; JOINED: sent in another delivery's letter.\n\n"
            "ENDED: not sent, because the recipient wants or may get no letters."
        ),
        "Kind": "`expirationType`: how often the request can be paid.",
        "Wrong": ("What is wrong with a field; the chat has a text for each in every language."),
    }


async def test_every_call_is_there_with_its_answers(service: ServiceHarness) -> None:
    spec = await document(service)
    calls = {
        f"{method} {path.removeprefix('/v3/')}": " ".join(sorted(call["responses"]))
        for path, operations in spec["paths"].items()
        for method, call in operations.items()
    }
    assert {name: answers.removesuffix(" 429 500 503") for name, answers in calls.items()} == {
        "post paymentRequests": "200 400 401 404 409 413 415",
        "get paymentRequests": "200 400 401",
        "get paymentRequests/{id}": "200 401 404",
        "put paymentRequests/{id}": "200 400 401 404 409 413 415",
        "delete paymentRequests/{id}": "200 400 401 404 409",
        "get paymentRequests/{id}/payments": "200 400 401 404",
        "get paymentRequests/{id}/payments/{transactionId}": "200 401 404",
        "put paymentRequests/{id}/payments/{transactionId}": "200 400 401 404 409 413 415",
        "get paymentRequests/public/{id}": "200 404",
        "get paymentRequests/public/stats/{id}": "200 404",
        "get paymentRequests/public/{id}/receipts/{transactionId}": "200 404",
        "post paymentRequests/{id}/codes": "200 400 401 404 409 413 415",
        "post files": "200 400 401 404 409 413 415",
        "get payoutAccounts": "200 400 401",
        "post payoutAccounts": "200 400 401 404 409 413 415",
        "delete payoutAccounts/{id}": "200 400 401 404 409",
        "get checkouts/{id}": "200 401 404",
        "post checkouts/{id}/confirm": "200 400 401 404 409",
        "post checkouts/{id}/reject": "200 400 401 404 409",
        "post /hints/{id}/{token}": "204 404 413",
        "get deliveries": "200 400 401",
        "get deliveries/{id}": "200 401 404",
        "post deliveries/{id}/retry": "200 400 401 404 409",
    }


def operations_of(spec: dict[str, Any]) -> dict[str, dict[str, Any]]:
    every = (call for operations in spec["paths"].values() for call in operations.values())
    return {call["operationId"]: call for call in every}


async def test_links_lead_to_calls_by_parameters_that_they_take(service: ServiceHarness) -> None:
    """Each of a request's calls can be reached from what create answers."""
    calls = operations_of(await document(service))
    for call in calls.values():
        for link in call["responses"].get("200", {}).get("links", {}).values():
            taken = {one["name"] for one in calls[link["operationId"]]["parameters"]}
            needed = {
                one["name"] for one in calls[link["operationId"]]["parameters"] if one["required"]
            }
            assert needed <= set(link["parameters"]) <= taken
    assert set(calls["createPaymentRequest"]["responses"]["200"]["links"]) == {
        *("getPaymentRequest", "editPaymentRequest", "deletePaymentRequest", "listPayments"),
        *("getPublicPaymentRequest", "getPublicStats", "listDeliveries", "addCodes"),
    }
    page = (await service.anyone.get("/docs")).text
    assert 'Leads to: <a href="#getPaymentRequest">getPaymentRequest</a>' in page


async def test_answers_leave_out_what_was_not_given(service: ServiceHarness) -> None:
    """No field is null but `payWith`, which waits for a wallet."""
    shapes = (await document(service))["components"]["schemas"]
    for name, shape in shapes.items():
        if not name.endswith(("Body", "Edit")):
            fields = shape.get("properties", {})
            assert not [key for key in fields if "null" in str(fields[key]) and key != "payWith"]
    assert shapes["RequestAnswer"]["properties"]["expiresAt"]["format"] == "date-time"
    assert shapes["RequestItem"]["properties"]["expiresAt"]["type"] == "integer"


async def test_an_empty_answer_has_a_type_that_may_be_empty(service: ServiceHarness) -> None:
    made = await service.create()
    gone = await service.seller.delete(f"/v3/paymentRequests/{made['id']}")
    assert (gone.content, gone.headers["content-type"]) == (b"", "text/plain; charset=utf-8")
    calls = operations_of(await document(service))
    for name in ("deletePaymentRequest", "removePayoutAccount"):
        said = calls[name]["responses"]["200"]["content"]
        assert said == {"text/plain": {"schema": {"type": "string", "maxLength": 0}}}


async def test_no_schema_is_a_bare_choice(service: ServiceHarness) -> None:
    """Generators of clients make a class without fields of one."""
    for name, shape in (await document(service))["components"]["schemas"].items():
        assert not {"anyOf", "oneOf"} & shape.keys(), name


async def test_currencies_are_listed_once(service: ServiceHarness) -> None:
    spec = await document(service)
    assert json.dumps(spec).count('"KWD"') == 1
    create = spec["components"]["schemas"]["CreateBody"]["properties"]
    fields = [name for name in create if name.startswith("currency") or "Currency" in name]
    for name in (*fields, "denominatedIn"):
        assert create[name]["anyOf"][0] == {"$ref": "#/components/schemas/Currency"}


async def test_every_tag_is_declared_and_described(service: ServiceHarness) -> None:
    spec = await document(service)
    used = {tag for call in operations_of(spec).values() for tag in call["tags"]}
    assert {one["name"] for one in spec["tags"]} == used
    assert all(one["description"] for one in spec["tags"])


async def test_the_document_answers_head(service: ServiceHarness) -> None:
    for path in (
        "/docs",
        "/openapi.json",
    ):
        whole, head = await service.anyone.get(path), await service.anyone.head(path)
        assert (head.status_code, head.content) == (200, b""), path
        assert head.headers["content-type"] == whole.headers["content-type"], path


async def test_answers_that_ask_to_wait_have_retry_after(service: ServiceHarness) -> None:
    for call in operations_of(await document(service)).values():
        for code in ("429", "503"):
            assert call["responses"][code]["headers"]["Retry-After"]["required"] is True


async def test_every_reference_leads_somewhere(service: ServiceHarness) -> None:
    spec = await document(service)
    known = {f"#/components/schemas/{name}" for name in spec["components"]["schemas"]}
    assert references(spec) == known


async def test_calls_need_both_credentials_unless_public(service: ServiceHarness) -> None:
    spec = await document(service)
    for path, operations in spec["paths"].items():
        for call in operations.values():
            public = "/public/" in path or path.startswith("/hints/")
            assert call["security"] == ([] if public else [{"appId": [], "appSecret": []}])
    schemes = spec["components"]["securitySchemes"].values()
    assert [(one["in"], one["name"]) for one in schemes] == [
        ("header", "App-Id"),
        ("header", "App-Secret"),
    ]


async def test_the_details_of_each_kind_of_account_are_described(service: ServiceHarness) -> None:
    body = (await document(service))["components"]["schemas"]["PayoutBody"]
    assert not [kind for kind in PAYOUT_KINDS if f"`{kind}`:" not in body["description"]]


async def test_bodies_have_their_limits_in_the_schema(service: ServiceHarness) -> None:
    shapes = (await document(service))["components"]["schemas"]
    create, edit = shapes["CreateBody"], shapes["EditBody"]
    assert create["additionalProperties"] is False
    assert create["required"] == ["product", "receivers", "expirationType"]
    assert create["properties"]["receivers"]["maxItems"] == 1000
    assert create["properties"]["totalUnits"]["anyOf"][0] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 1_000_000,
    }
    assert shapes["ProductBody"]["properties"]["name"]["maxLength"] == 100
    assert "default" not in str(edit)
    assert "receivers" not in edit["properties"]


HOOK_WITH_KEY = {"webhook": {"webhookUrl": "https://h.example/w", "customParameters": {"\n": 1}}}


async def test_the_schema_accepts_what_create_accepts(service: ServiceHarness) -> None:
    """Also if one field decides about another."""
    for fields, taken in (
        ({}, True),
        ({"expirationType": "limit"}, False),
        ({"expirationType": "limit", "totalUnits": None}, False),
        ({"expirationType": "limit", "totalUnits": 3}, True),
        ({"totalUnits": 3}, False),
        ({"totalUnits": None}, True),
        ({"expirationInSeconds": 60, "expiresAt": "2030-01-01T00:00:00Z"}, False),
        ({"expirationInSeconds": 60, "expiresAt": None}, True),
        ({"instrumentCurrencyCode": None}, False),
        ({"instrumentCurrencyCode": None, "currencyCode": "USD"}, True),
        ({"instrumentCurrencyCode": "BSV", "currency": "USD"}, True),
        ({"instrumentCurrencyCode": None, "currency": "USD"}, False),
        ({"paymentMethods": ["onChain"]}, True),
        ({"paymentMethods": []}, False),
        ({"paymentMethods": ["onChain", "card"]}, False),
        ({"product": {"name": "x", "description": "a\r\nb"}}, True),
        ({"product": {"name": "x", "description": "a\x0bb"}}, False),
        ({"notifications": HOOK_WITH_KEY}, False),
        ({"notifications": {"email": "nobody"}}, False),
    ):
        schema = await document(service) | {"$ref": "#/components/schemas/CreateBody"}
        sound = jsonschema_rs.is_valid(schema, NEW | fields, validate_formats=True)
        answer = await service.seller.post("/v3/paymentRequests", json=NEW | fields)
        assert (sound, answer.status_code == 200) == (taken, taken), answer.text


async def test_the_example_of_create_is_accepted(service: ServiceHarness) -> None:
    example = (await document(service))["components"]["schemas"]["CreateBody"]["examples"][0]
    assert (await service.seller.post("/v3/paymentRequests", json=example)).status_code == 200


async def test_the_examples_of_refusals_are_real_answers(service: ServiceHarness) -> None:
    spec = await document(service)
    said = spec["paths"]["/v3/paymentRequests"]["post"]["responses"]
    body = {name: value for name, value in NEW.items() if name != "product"}
    body["product"] = {}
    answers = {
        "400": await service.seller.post("/v3/paymentRequests", json=body),
        "401": await service.anyone.post("/v3/paymentRequests", json=NEW),
        "413": await service.seller.post("/v3/paymentRequests", json=["x" * 70_000]),
        "415": await service.seller.post("/v3/paymentRequests", content="{}"),
    }
    locked = await readiness.storage_unavailable(Request({"type": "http"}), StorageError("locked"))
    told = {code: answer.content for code, answer in answers.items()}
    told |= {"500": bytes(calls.refused(Internal()).body), "503": bytes(locked.body)}
    for code, answer in told.items():
        assert json.loads(answer) == said[code]["content"]["application/json"]["example"]


async def test_calls_without_a_body_mention_none(service: ServiceHarness) -> None:
    """Their 400 is about a parameter, never about email; nor is that of an account or a mark.

    Calls that make something may find it gone when they are repeated under their key.
    """
    makes = {"connectPayoutAccount", "uploadFile"}
    for call in operations_of(await document(service)).values():
        writes = call["operationId"] in {"createPaymentRequest", "editPaymentRequest"}
        for code in ("400", "404"):
            told = str(call["responses"].get(code))
            assert ("emailUnavailable" in told) == (writes and code == "400")
            may_be_gone = writes or call["operationId"] in makes
            assert ("the key made" in told) == (may_be_gone and code == "404")
    said = operations_of(await document(service))["listDeliveries"]["responses"]["400"]
    refused = await service.seller.get("/v3/deliveries", params={"cursor": "x"})
    assert refused.json() == said["content"]["application/json"]["example"]


async def test_lists_document_their_size_without_a_limit(service: ServiceHarness) -> None:
    """All items, as in the interface, or a hundred a page."""
    calls = operations_of(await document(service))
    for name, default, everything in (
        ("listPaymentRequests", None, True),
        ("listPayments", 100, False),
        ("listDeliveries", 100, False),
    ):
        (limit,) = [one for one in calls[name]["parameters"] if one["name"] == "limit"]
        assert limit["schema"].get("default") == default
        assert ("without it, all" in limit["description"]) is everything


async def test_the_docs_load_nothing_foreign(service: ServiceHarness) -> None:
    """No script, one stylesheet of ours, and a policy that forbids everything else."""
    page = await service.anyone.get("/docs")
    assert page.status_code == 200
    assert "<script" not in page.text
    loaded = re.findall(r'(?:src|<link[^>]*href)="([^"]+)"', page.text)
    assert len(loaded) == 1
    assert (await service.anyone.get(loaded[0])).headers["content-type"].startswith("text/css")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    for name in (await document(service))["components"]["schemas"]:
        assert f'<section id="{name}">' in page.text


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "#/components/schemas/Kind"}, "Kind"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "integer, at least 1, at most 9"),
        ({"anyOf": [{"type": "string", "format": "uri"}, {"type": "null"}]}, "uri or null"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, 'list of "a" | "b"'),
        ({}, "anything"),
    ],
)
def test_a_schema_in_words(schema: dict[str, Any], words: str) -> None:
    assert brief(schema) == words


ALL = ["payment", "checkout.claimed"]
NOBODY = "0" * 24


@pytest.fixture
async def selling(database_url: str) -> AsyncIterator[ServiceHarness]:
    """Open the service with Anna's bank; its webhooks may reach this machine."""
    async with open_real_service(database_url, make_bank(), ScriptedRail(), allow=LOOPBACK) as it:
        assert (await connect(it, BANK)).status_code == 200
        yield it


def check(spec: dict[str, Any], content: dict[str, Any], value: Any) -> None:
    """Check a value against what the document says about a body."""
    schema = content["application/json"]["schema"]
    jsonschema_rs.validate(spec | schema, value, validate_formats=True)


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


async def test_the_examples_of_refusals_of_real_money_are_real_answers(
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
