"""Refusals of wrong fields: each type of pydantic's errors has a sentence of ours."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter

from bot.core import errors
from bot.interface import bodies, fields, refusals
from bot.service.api import calls
from tests.support.service_harness import NEW, REQUESTS_PATH, ServiceHarness

STRING = {"min_length": "string_too_short", "max_length": "string_too_long"}
LIST = {"min_length": "too_short", "max_length": "too_long"}
NUMBER = {"ge": "greater_than_equal", "le": "less_than_equal"}
RAISED: dict[str, tuple[set[str], dict[str, str]]] = {
    "any": (set(), {}),
    "bool": ({"bool_type"}, {}),
    "decimal": ({"decimal_type", "decimal_parsing", "finite_number"}, {}),
    "default": (set(), {}),
    "definition-ref": (set(), {}),
    "definitions": (set(), {}),
    "dict": ({"dict_type"}, {}),
    "enum": ({"enum"}, {}),
    "function-after": (set(), {}),
    "function-before": (set(), {}),
    "int": ({"int_type", "int_parsing", "int_parsing_size", "int_from_float"}, NUMBER),
    "list": ({"list_type"}, LIST),
    "literal": ({"literal_error"}, {}),
    "model": ({"model_type", "model_attributes_type"}, {}),
    "model-field": ({"missing"}, {}),
    "model-fields": ({"extra_forbidden"}, {}),
    "nullable": (set(), {}),
    "str": ({"string_type", "string_unicode"}, STRING),
}
"""The errors of each kind of core schema: always, and with a bound; `value_error` has our words."""

BOUNDS = {
    *("min_length", "max_length", "pattern", "ge", "gt", "le", "lt", "multiple_of"),
    *("max_digits", "decimal_places"),
}
MODELS: list[Any] = [
    *(
        kind
        for _, kind in inspect.getmembers(bodies, inspect.isclass)
        if issubclass(kind, bodies.Body) and kind is not bodies.Body
    ),
    *(calls.Limit, calls.Cursor, calls.StatusFilter),
    *(fields.Owner, fields.IdempotencyKey),
]


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a core schema and all within it."""
    if isinstance(schema, list | tuple):
        for inner in schema:
            yield from nodes(inner)
    elif isinstance(schema, dict):
        if isinstance(schema.get("type"), str):
            yield schema
        for name, inner in schema.items():
            if name not in {"metadata", "serialization", "config", "function"}:
                yield from nodes(inner)


def test_every_error_that_a_model_can_raise_has_a_sentence() -> None:
    raised: set[str] = set()
    for model in MODELS:
        for node in nodes(TypeAdapter(model).core_schema):
            always, bounded = RAISED[node["type"]]
            bounds = BOUNDS & node.keys()
            assert bounds <= bounded.keys(), node
            raised |= always | {bounded[name] for name in bounds}
    assert raised == refusals.SENTENCES.keys()


def test_what_is_no_error_of_our_models_says_nothing_of_python() -> None:
    found: Any = [
        {"type": "date_type", "loc": ("at",), "msg": "Input should be a date", "input": 1}
    ]
    (problem,) = refusals.invalid_body(found).info
    assert problem == errors.FieldProblem("at", "is not valid")


async def test_a_wrong_field_is_told_in_plain_words(service: ServiceHarness) -> None:
    for given, field, sentence in (
        ({"product": {}}, "product.name", "is required"),
        ({"product": "Coffee"}, "product", "must be an object"),
        ({"colour": "red"}, "colour", "is not a field of this body"),
        ({"product": {"name": 5}}, "product.name", "must be a string"),
        ({"product": {"name": ""}}, "product.name", "is empty"),
        ({"product": {"name": "x" * 101}}, "product.name", "has more than 100 characters"),
        ({"totalUnits": "5"}, "totalUnits", "must be a whole number"),
        ({"totalUnits": 0}, "totalUnits", "must be at least 1"),
        ({"totalUnits": 1_000_001}, "totalUnits", "must be at most 1000000"),
        ({"receivers": {}}, "receivers", "must be a list"),
        ({"receivers": []}, "receivers", "is empty"),
        ({"receivers": NEW["receivers"] * 1001}, "receivers", "has more than 1000 entries"),
        ({"shop": [1]}, "shop", "must be an object"),
        (
            {"expirationType": "sometimes"},
            "expirationType",
            "must be 'limit', 'never' or 'onPaymentCompleted'",
        ),
        ({"goal": "5"}, "goal", "must be a number, not a string or anything else"),
    ):
        answer = await service.seller.post(REQUESTS_PATH, json=NEW | given)
        assert answer.status_code == 400, given
        assert answer.json()["info"] == [{"field": field, "message": sentence}], given


async def test_so_is_a_wrong_parameter(service: ServiceHarness) -> None:
    for call, field, sentence in (
        ({"url": REQUESTS_PATH, "params": {"limit": "x"}}, "limit", "must be a whole number"),
        ({"url": REQUESTS_PATH, "params": {"limit": "0"}}, "limit", "must be at least 1"),
        ({"url": REQUESTS_PATH, "params": {"limit": "9" * 5000}}, "limit", "is too large"),
        ({"url": "/v3/payoutAccounts"}, "owner", "is required"),
        (
            {"url": "/v3/payoutAccounts", "params": {"owner": "a b"}},
            "owner",
            "must have 1 to 64 of A-Z, a-z, 0-9, _ and -",
        ),
        (
            {"method": "DELETE", "url": f"{REQUESTS_PATH}/x", "headers": {"Idempotency-Key": ""}},
            "Idempotency-Key",
            "is empty",
        ),
        (
            {
                "method": "PUT",
                "url": f"{REQUESTS_PATH}/x/payments/y",
                "json": {"notifyPayer": "no"},
            },
            "notifyPayer",
            "must be true or false",
        ),
    ):
        answer = await service.seller.request(**({"method": "GET"} | call))
        assert answer.status_code == 400, call
        assert answer.json()["info"] == [{"field": field, "message": sentence}], call
