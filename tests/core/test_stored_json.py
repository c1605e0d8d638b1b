"""Typed values as JSON: written and read by the annotations of their types, and checked."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from bot.core import stored_json
from bot.core.errors import Unreadable
from bot.core.money.amounts import MAX_MINOR
from bot.core.stored_json import PayloadKinds


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


# Payloads of queues: each is stored with its kind.


@dataclass(frozen=True, slots=True)
class Letter:
    text: str


@dataclass(frozen=True, slots=True)
class Animal:
    kind: str


KINDS = PayloadKinds(order=Order, letter=Letter)


def test_a_payload_is_a_json_object_with_its_kind() -> None:
    written = KINDS.encode(ORDER)
    assert written == f'{{"kind":"order",{STORED[1:]}'
    assert KINDS.decode(written) == ORDER
    assert KINDS.decode(KINDS.encode(Letter("Hi"))) == Letter("Hi")
    assert KINDS.decode('{"kind":"letter","text":"Hi","newer":1}') == Letter("Hi")


def test_a_payload_of_another_queue_is_a_bug() -> None:
    with pytest.raises(KeyError):
        KINDS.encode(Part(1))


def test_a_payload_with_a_field_kind_is_refused_when_the_queue_is_defined() -> None:
    """The field would overwrite the stored kind, so the message could never be read again."""
    with pytest.raises(TypeError, match=r"Animal\.kind"):
        PayloadKinds(letter=Letter, animal=Animal)


def test_the_name_of_a_kind_may_be_stored_in_another_field() -> None:
    named = PayloadKinds("species", letter=Letter, animal=Animal)
    assert named.encode(Animal("cat")) == '{"species":"animal","kind":"cat"}'
    assert named.decode('{"species":"animal","kind":"cat"}') == Animal("cat")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "its kind is not known"),
        ('{"kind":["letter"]}', "its kind is not known"),
        ('{"kind":"letter"}', "text: Field required"),
        ('{"kind":"letter","text":55}', "text: Input should be a valid string"),
    ],
)
def test_an_unreadable_payload_is_refused_without_its_values(text: str, why: str) -> None:
    with pytest.raises(Unreadable) as raised:
        KINDS.decode(text)

    assert str(raised.value) == why
