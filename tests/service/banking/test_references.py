"""References: short, checked by banks, and readable after a person copied them."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from stdnum import iso11649

from bot.service.banking import references

REFERENCE = "RF19234567"
BODIES = st.text(references.ALPHABET, min_size=references.LENGTH, max_size=references.LENGTH)


def test_a_reference_is_a_creditor_reference_of_ten_characters() -> None:
    made = {references.new_reference() for _ in range(500)}
    assert len(made) == 500
    for one in made:
        assert iso11649.is_valid(one)
        assert re.fullmatch(rf"RF[0-9]{{2}}[{references.ALPHABET}]{{6}}", one)
        assert references.read(one) == one


def test_no_two_characters_of_the_alphabet_look_alike() -> None:
    alike = ["0O", "1IL", "2Z", "5S", "8B", "6G", "UV"]
    counts = [sum(one in references.ALPHABET for one in group) for group in alike]
    assert counts == [0, 0, 1, 1, 1, 1, 1]
    assert not set("AEIOU") & set(references.ALPHABET)


@pytest.mark.parametrize(
    "copied",
    [
        "rf19234567",
        " RF19 2345 67 ",
        "RF19-234567",
        "RF19 Z3 4S G7",
        "RF19\u00a0234567",
        "RFI9234567",
    ],
)
def test_a_reference_is_read_as_people_copy_it(copied: str) -> None:
    assert references.read(copied) == REFERENCE


@pytest.mark.parametrize(
    "wrong", ["", "RF", "19234567", "RF18234567", "RF192345670", "RF19234576", "Coffee 35"]
)
def test_a_wrong_reference_is_not_read(wrong: str) -> None:
    assert references.read(wrong) is None


@given(BODIES, st.integers(0, references.LENGTH - 1), st.sampled_from(references.ALPHABET))
def test_one_mistyped_letter_or_digit_is_noticed(body: str, place: int, other: str) -> None:
    """A letter for another and a digit for another always; a letter counts as two digits."""
    assume(body[place].isdigit() == other.isdigit() and body[place] != other)
    right = references._with_check_digits(body)
    at = place + 4
    assert references.read(right) == right
    assert references.read(right[:at] + other + right[at + 1 :]) is None
