"""JSON with exact numbers, within limits."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import exact_json
from bot.core.exact_json import JsonError, dumps, loads

DECIMALS = st.decimals(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | st.integers() | DECIMALS | st.text()
VALUES = st.recursive(LEAVES, lambda v: st.lists(v) | st.dictionaries(st.text(), v), max_leaves=20)


@given(VALUES)
def test_written_values_are_read_unchanged(value: Any) -> None:
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


def test_a_lone_surrogate_stays_an_escape_so_that_it_can_be_stored() -> None:
    written = dumps({"name": "a\ud83dö"})
    assert written.encode() == '{"name":"a\\ud83dö"}'.encode()
    assert loads(written) == {"name": "a\ud83dö"}


def test_a_value_that_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError):
        dumps({"a": object()})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a":1e99999999999999999999}', "The JSON holds a number that is out of range."),
        ("1" * 5000, "The JSON holds a number that is out of range."),
        ("[" * 100_000, "The JSON is nested deeper than 100 levels."),
        ("[" * 101 + "]" * 101, "The JSON is nested deeper than 100 levels."),
        ("[-Infinity]", "-Infinity is not a JSON number."),
        (b"\xff", "The JSON is not valid UTF-8."),
        ("", "The JSON is not valid: Expecting value at"),
        ("NaN", "NaN is not a JSON number."),
        ("{'a': 1}", "The JSON is not valid: Expecting property name enclosed in double quotes at"),
    ],
)
def test_an_error_is_a_sentence_that_names_the_problem(text: str | bytes, message: str) -> None:
    with pytest.raises(JsonError, match=f"^{re.escape(message)}"):
        loads(text)


def test_a_hundred_levels_are_read_and_brackets_in_texts_do_not_count() -> None:
    assert loads("[" * 99 + '{"a": 1}' + "]" * 99)
    assert loads(dumps("[{" * 1000)) == "[{" * 1000
    assert len(loads("[" + "[]," * 9999 + "[]]")) == 10_000


def test_a_text_beyond_the_size_limit_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_json, "MAX_SIZE", 5)
    assert loads("12345") == 12345
    with pytest.raises(JsonError, match="The JSON is longer than 5 characters"):
        loads("[3, 4]")


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '["\\ud800"]', '{"\\uD800": 1}'])
def test_strict_reading_refuses_names_given_twice_and_lone_surrogates(text: str) -> None:
    loads(text)
    with pytest.raises(JsonError):
        loads(text, strict=True)


def test_strict_reading_accepts_surrogate_pairs_and_escaped_backslashes() -> None:
    assert loads(r'["\ud83d\ude00", "\\ud800"]', strict=True) == ["\U0001f600", "\\ud800"]
