"""References: short, checked by banks, and readable after a person copied them."""

from __future__ import annotations

import re

from stdnum import iso11649

from bot.service.rails import bank


def test_a_reference_is_a_creditor_reference_of_ten_characters() -> None:
    made = {bank.new_reference() for _ in range(500)}
    assert len(made) == 500
    for one in made:
        assert iso11649.is_valid(one)
        assert re.fullmatch(rf"RF[0-9]{{2}}[{bank.REFERENCE_ALPHABET}]{{6}}", one)


def test_no_two_characters_of_the_alphabet_look_alike() -> None:
    alike = ["0O", "1IL", "2Z", "5S", "8B", "6G", "UV"]
    counts = [sum(one in bank.REFERENCE_ALPHABET for one in group) for group in alike]
    assert counts == [0, 0, 1, 1, 1, 1, 1]
    assert not set("AEIOU") & set(bank.REFERENCE_ALPHABET)
