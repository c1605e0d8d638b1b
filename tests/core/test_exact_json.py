"""JSON whose numbers stay exact."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.exact_json import dumps, loads

DECIMALS = st.decimals(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | st.integers() | DECIMALS | st.text()
VALUES = st.recursive(LEAVES, lambda v: st.lists(v) | st.dictionaries(st.text(), v), max_leaves=20)


@given(VALUES)
def test_what_is_written_reads_the_same(value: Any) -> None:
    assert loads(dumps(value)) == value


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Decimal("0.3"), "0.3"),
        (Decimal("0.1") + Decimal("0.2"), "0.3"),
        (Decimal("5.00"), "5.00"),
        (Decimal("0.00000001"), "1E-8"),
        (Decimal("1000000000.12345678"), "1000000000.12345678"),
        (Decimal(1_000_000_000), "1000000000"),
        ({"a": [1, "ü", None, True]}, '{"a":[1,"ü",null,true]}'),
    ],
)
def test_a_decimal_is_a_number_with_the_digits_it_has(value: Any, written: str) -> None:
    assert dumps(value) == written


def test_no_number_becomes_a_float() -> None:
    read = loads("[0.1, 1e-8, 1E400, 12345678901234567890.5, 7]")
    assert read == [
        Decimal("0.1"),
        Decimal("1e-8"),
        Decimal("1E400"),
        Decimal("12345678901234567890.5"),
        7,
    ]
    assert not any(isinstance(number, float) for number in read)


@pytest.mark.parametrize(
    "text",
    ["", "{", "NaN", "[Infinity]", "-Infinity", "{'a': 1}", b"\xff", "[" * 100_000, "1" * 5000],
)
def test_what_is_no_json_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        loads(text)


def test_half_a_character_stays_an_escape_so_that_it_can_be_stored() -> None:
    written = dumps({"name": "a\ud83dö"})
    assert written.encode() == '{"name":"a\\ud83dö"}'.encode()
    assert loads(written) == {"name": "a\ud83dö"}


def test_a_value_that_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError):
        dumps({"a": object()})


@pytest.mark.parametrize("text", ['{"a":1e99999999999999999999}', "[" * 100_000])
def test_what_no_machine_holds_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="beyond all machines"):
        loads(text)
