"""Texts in the characters that bank formats take: converted, never silently emptied."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.service.rails import bank_accounts
from bot.service.rails.bank_accounts import PIX_CHARACTERS, SEPA_CHARACTERS, SWISS_CHARACTERS, fold


@pytest.mark.parametrize(
    ("text", "sepa", "pix", "swiss"),
    [
        ("Müller & Söhne", "Muller + Sohne", "Muller + Sohne", "Müller & Söhne"),
        ("Ελένη Παπαδοπούλου", *["Eleni Papadopoulou"] * 3),
        ("Иван Щерев", *["Ivan Shterev"] * 3),
        ("Ђорђе Њиво", *["Dorde Njivo"] * 3),
        ("José Conceição", "Jose Conceicao", "Jose Conceicao", "José Conceição"),
        ("Łukasz Żółć", "Lukasz Zolc", "Lukasz Zolc", "Łukasz Żółć"),
        ("Zoë’s Café №3 – 🍰", "Zoe's Cafe No3 -", "Zoe s Cafe No3 -", "Zoë's Café No3 -"),
        ("İstanbul ẞ ı", "Istanbul Ss i", "Istanbul Ss i", "İstanbul Ss ı"),
        ("e\u0301\u200d a\nb", "e a b", "e a b", "é a b"),
        ("１２", *["12"] * 3),
        ("a\u202fb\u00a0c", *["a b c"] * 3),
    ],
)
def test_letters_are_converted_to_what_the_format_takes(
    text: str, sepa: str, pix: str, swiss: str
) -> None:
    assert (
        fold(text, SEPA_CHARACTERS),
        fold(text, PIX_CHARACTERS),
        fold(text, SWISS_CHARACTERS),
    ) == (sepa, pix, swiss)


@pytest.mark.parametrize(
    "text", ["王小明", "आशा", "محمد", "ソニー", "Anna 王", "٣", "", " ", "🍰", "---", "\u0301"]
)
def test_a_text_that_would_lose_letters_is_refused(text: str) -> None:
    """A name with half of its letters would be another person's."""
    assert fold(text, SEPA_CHARACTERS) is None
    assert fold(text, PIX_CHARACTERS) is None
    assert fold(text, SWISS_CHARACTERS) is None


def test_umlauts_become_two_letters_where_people_write_them_so() -> None:
    assert fold("Jürgen ÖÄ ß", SEPA_CHARACTERS, german=True) == "Juergen OeAe ss"


@given(st.text(max_size=30), st.sampled_from([SEPA_CHARACTERS, PIX_CHARACTERS, SWISS_CHARACTERS]))
def test_only_the_characters_of_the_format_remain(text: str, taken: re.Pattern[str]) -> None:
    folded = fold(text, taken)
    if folded is not None:
        assert all(map(taken.fullmatch, folded))
        assert folded == " ".join(folded.split())
        assert fold(folded, taken) == folded


def test_every_conversion_is_plain_ascii() -> None:
    assert all(
        SEPA_CHARACTERS.fullmatch(one) for part in bank_accounts._table().values() for one in part
    )
    assert all(key == key.lower() for key in bank_accounts._table())
