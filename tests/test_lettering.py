"""Words in pictures: what the font has, and how words are made to fit."""

from __future__ import annotations

import pytest

from bot.core import lettering
from bot.core.lettering import ELLIPSIS, FONTS, Fitted

WIDTH = 300


def lines(text: str, *, most: int = 2, sizes: tuple[int, ...] = (40, 20)) -> tuple[str, ...]:
    return lettering.fitted(text, WIDTH, sizes, most=most).lines


@pytest.mark.parametrize(
    "text",
    ["Coffee", "Crème brûlée", "Кофе", "Ωμέγα", "5,00 €", "₿ ₴ ₹ ¥ £ ₺ ₽ zł", "“x” \u2013 y…"],
)
def test_the_font_has_what_europe_writes_and_its_money(text: str) -> None:
    assert lettering.writable(text)


@pytest.mark.parametrize(
    "text",
    [
        "☕",
        "קפה",
        "قهوة",
        "コーヒー",
        "कॉफ़ी",
        "a\u0301\u0302",
        "\u202eabc",
        "a\nb",
        "\ue000",
        "\u0665",
    ],
)
def test_what_it_has_not_or_would_set_wrongly_is_said(text: str) -> None:
    assert not lettering.writable(text)


def test_a_text_is_composed_and_its_spaces_are_plain() -> None:
    assert lettering.tidied(" e\u0301\u00a0 5\u202f€ ") == "é 5 €"


def test_the_largest_size_at_which_all_fits_is_taken() -> None:
    short, long = (
        lettering.fitted(text, WIDTH, (60, 40, 20), most=2)
        for text in ("Coffee", "Coffee for the whole team")
    )
    assert (short.lines, short.font.size) == (("Coffee",), 60)
    assert (len(long.lines), long.font.size) == (2, 40)


@pytest.mark.parametrize("text", ["word " * 30, "x" * 200, "a " + "long" * 40, "W" * 60])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_what_does_not_fit_ends_with_an_ellipsis(text: str, most: int) -> None:
    """No line is wider than allowed, none is too many, and it is the text's start."""
    found = lettering.fitted(text.strip(), WIDTH, (40, 30), most=most)
    assert len(found.lines) == most
    assert all(found.font.getlength(line) <= WIDTH for line in found.lines)
    assert found.lines[-1].endswith(ELLIPSIS)
    said = "".join(found.lines).removesuffix(ELLIPSIS).replace(" ", "")
    assert text.replace(" ", "").startswith(said)
    assert len(said) > most


def test_a_text_is_broken_between_words_where_it_can_be() -> None:
    assert lines("Coffee for the whole team", sizes=(36,)) == ("Coffee for the", "whole team")


def test_a_word_that_no_line_holds_is_broken_and_lost_nowhere() -> None:
    word = "Donaudampfschifffahrt"
    broken = lines(word, sizes=(36,))
    assert ("".join(broken), len(broken)) == (word, 2)


def test_repeated_words_are_cut_at_the_right_place() -> None:
    found: Fitted = lettering.fitted("ab ab ab cd ef", 90, (40,), most=2)
    assert found.lines[0] == "ab"
    assert found.lines[1].startswith("ab")


def test_the_fonts_travel_with_their_licence() -> None:
    assert "SIL OPEN FONT LICENSE Version 1.1" in (FONTS / "OFL.txt").read_text("utf-8")
    assert {path.name for path in FONTS.glob("*.ttf")} == {
        "NotoSans-Bold.ttf", "NotoSans-Regular.ttf",
    }  # fmt: skip
