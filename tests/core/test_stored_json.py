"""Columns of JSON: a value is written and read by the annotations of its type, and checked."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from bot.core import stored_json
from bot.core.errors import Unreadable
from bot.core.money.amounts import MAX_MINOR


@dataclass(frozen=True, slots=True)
class Part:
    units: stored_json.Whole
    price: Decimal = Decimal(1)


@dataclass(frozen=True, slots=True)
class Order:
    parts: tuple[Part, ...]
    note: str | None = None
    facts: dict[str, Any] | None = None


ORDER = Order((Part(2, Decimal("0.050")), Part(MAX_MINOR)), facts={"rate": Decimal("1.10")})
STORED = (
    f'{{"parts":[{{"units":2,"price":0.050}},{{"units":{MAX_MINOR}}}],"facts":{{"rate":1.10}}}}'
)


def test_a_value_is_written_with_exact_numbers_and_without_defaults() -> None:
    assert stored_json.write(Order, ORDER) == STORED


def test_a_written_value_is_read_again() -> None:
    assert stored_json.read(Order, STORED) == ORDER
    assert str(stored_json.read(Order, STORED).parts[0].price) == "0.050"
    shares = (1, 2)
    assert stored_json.read(tuple[int, ...], stored_json.write(tuple[int, ...], shares)) == shares


def test_fields_of_a_newer_version_are_ignored() -> None:
    newer = '{"parts":[{"units":2,"price":0.050,"tax":1}],"colour":"red"}'
    assert stored_json.read(Order, newer) == Order(ORDER.parts[:1])


@pytest.mark.parametrize("name", ["half \ud800 a character", "ü ☕", "<b>&\x00"])
def test_an_object_of_another_server_is_read_again(name: str) -> None:
    found = {name: [name, {"deep": None, name: Decimal("1.50")}]}
    assert stored_json.read(dict, stored_json.write(dict, found)) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 201 + "]" * 201, "not JSON"),
        ("[]", ": Input should be a dictionary or an instance of Order"),
        ("{}", "parts: Field required"),
        ('{"parts":[{"units":0}]}', "parts.0.units: Input should be greater than or equal to 1"),
        ('{"parts":[{"units":true}]}', "parts.0.units: Input should be a valid integer"),
        (
            f'{{"parts":[{{"units":{MAX_MINOR + 1}}}]}}',
            f"parts.0.units: Input should be less than or equal to {MAX_MINOR}",
        ),
    ],
)
def test_any_other_text_is_unreadable(text: str, why: str) -> None:
    with pytest.raises(Unreadable) as raised:
        stored_json.read(Order, text)

    assert str(raised.value) == why
