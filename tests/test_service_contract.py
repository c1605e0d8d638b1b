"""`/openapi.json` says what the service does, `/docs` shows it without a foreign request."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bot.service.api.docs import brief
from tests.serving import NEW, Shop


async def document(shop: Shop) -> dict[str, Any]:
    found: dict[str, Any] = (await shop.anyone.get("/openapi.json")).json()
    return found


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        here = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return here.union(*map(references, value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


async def test_every_call_is_there_with_its_answers(shop: Shop) -> None:
    spec = await document(shop)
    calls = {
        f"{method} {path.removeprefix('/v3/paymentRequests')}": sorted(call["responses"])
        for path, operations in spec["paths"].items()
        for method, call in operations.items()
    }
    assert calls == {
        "post ": ["200", "400", "401", "409", "413", "415", "429"],
        "get ": ["200", "400", "401", "429"],
        "get /{id}": ["200", "401", "404", "429"],
        "put /{id}": ["200", "400", "401", "404", "409", "413", "415", "429"],
        "delete /{id}": ["200", "401", "404", "429"],
        "get /{id}/payments": ["200", "400", "401", "404", "429"],
        "get /{id}/payments/{transactionId}": ["200", "401", "404", "429"],
        "get /public/{id}": ["200", "404", "429"],
        "get /public/stats/{id}": ["200", "404", "429"],
    }


async def test_every_reference_leads_somewhere(shop: Shop) -> None:
    spec = await document(shop)
    known = {f"#/components/schemas/{name}" for name in spec["components"]["schemas"]}
    assert references(spec) == known


async def test_calls_need_both_credentials_unless_public(shop: Shop) -> None:
    spec = await document(shop)
    for path, operations in spec["paths"].items():
        for call in operations.values():
            public = "/public/" in path
            assert call["security"] == ([] if public else [{"appId": [], "appSecret": []}])
    schemes = spec["components"]["securitySchemes"].values()
    assert [(one["in"], one["name"]) for one in schemes] == [
        ("header", "App-Id"),
        ("header", "App-Secret"),
    ]


async def test_the_bounds_of_bodies_are_told(shop: Shop) -> None:
    shapes = (await document(shop))["components"]["schemas"]
    create, edit = shapes["CreateBody"], shapes["EditBody"]
    assert create["additionalProperties"] is False
    assert create["required"] == ["product", "receivers", "expirationType"]
    assert create["properties"]["receivers"]["maxItems"] == 100
    assert create["properties"]["totalUnits"]["anyOf"][0] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 1_000_000,
    }
    assert shapes["ProductBody"]["properties"]["name"]["maxLength"] == 100
    assert "default" not in str(edit)
    assert "receivers" not in edit["properties"]


async def test_the_example_of_create_is_taken(shop: Shop) -> None:
    example = (await document(shop))["components"]["schemas"]["CreateBody"]["examples"][0]
    assert (await shop.seller.post("/v3/paymentRequests", json=example)).status_code == 200


async def test_the_examples_of_refusals_are_what_is_answered(shop: Shop) -> None:
    spec = await document(shop)
    said = spec["paths"]["/v3/paymentRequests"]["post"]["responses"]
    body = {name: value for name, value in NEW.items() if name != "product"}
    body["product"] = {}
    answers = {
        "400": await shop.seller.post("/v3/paymentRequests", json=body),
        "401": await shop.anyone.post("/v3/paymentRequests", json=NEW),
        "413": await shop.seller.post("/v3/paymentRequests", json=["x" * 70_000]),
        "415": await shop.seller.post("/v3/paymentRequests", content="{}"),
    }
    for code, answer in answers.items():
        assert answer.json() == said[code]["content"]["application/json"]["example"]


async def test_the_docs_load_nothing_from_elsewhere(shop: Shop) -> None:
    """No script at all, one stylesheet of ours, and a policy that forbids the rest."""
    page = await shop.anyone.get("/docs")
    assert page.status_code == 200
    assert "<script" not in page.text
    loaded = re.findall(r'(?:src|<link[^>]*href)="([^"]+)"', page.text)
    assert len(loaded) == 1
    assert (await shop.anyone.get(loaded[0])).headers["content-type"].startswith("text/css")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    for name in (await document(shop))["components"]["schemas"]:
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
