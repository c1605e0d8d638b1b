"""Text in pictures: the letters of the font, and lines that fit a width."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from PIL import ImageFont

from bot.core.images import text_fitting
from bot.core.images.plain_font import FACES, FONTS, Weight, is_plain, load_face
from bot.core.images.text_fitting import ELLIPSIS, FittedText

WIDTH = 300
LARGEST = 9_000_000
"""Bytes of all fonts."""


def lines(text: str, *, max_lines: int = 2, sizes: tuple[int, ...] = (40, 20)) -> tuple[str, ...]:
    return text_fitting.fit(text, WIDTH, sizes, max_lines=max_lines).lines


@pytest.mark.parametrize(
    "text",
    [
        *("Coffee", "Crème brûlée", "Кофе", "Ωμέγα", "5,00 €", "₿ ₴ ₹ ¥ £ ₺ ₽ zł", "“x” \u2013 y…"),
        *(
            "קפה",
            "שָׁלוֹם",
            "قهوة ١٢٣",
            "می\u200cخواهم",
            "コーヒー豆（深煎り）",
            "咖啡豆",
            "咖啡與茶",
            "커피",
        ),
        *("क्षत्रिय", "কফি", "காபி", "కాఫీ", "ಕಾಫಿ", "กาแฟ", "სუფრა", "սուրճ"),
        *("☕", "👩🏽\u200d🚀", "🇩🇪", "1️⃣", "👨\u200d👩\u200d👧", "★ → ♪", "a\u0301\u0302", "ﷺ"),
    ],
)
def test_texts_of_many_scripts_and_emoji_are_drawn_whole(text: str) -> None:
    assert text_fitting.drawable_text(text) == text_fitting.normalize(text)


def test_a_normalized_text_is_composed_and_has_plain_spaces() -> None:
    assert text_fitting.normalize(" e\u0301\u00a0 5\u202f€ ") == "é 5 €"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tea \U0001faff for two", "Tea for two"),  # an emoji of the future
        ("a\u200bb\u00adc\ufe0f", "abc"),
        ("\u202eCoffee\u2066\n", "Coffee"),
        ("\u202eقهوة\u202c", "قهوة"),
        ("a" + "\u0301" * 50 + "b", "á" + "\u0301" * 6 + "b"),
        ("ש\u05b8\u0301", "ש\u05b8"),
        ("क\u0483", "क"),
        ("ᚠ Tea", None),
        ("\ue000 Tea", None),
        ("- !", None),
        ("\ud800", None),
        ("", None),
    ],
)
def test_the_drawable_part_of_a_text(text: str, expected: str | None) -> None:
    """Symbols and marks without a font are left out; a text with a missing letter is not shown."""
    assert text_fitting.drawable_text(text) == expected


@pytest.mark.parametrize("text", ["x" * 4096, "ab " * 1365, "i" * 100_000])
def test_a_text_of_any_length_is_fitted_with_few_measurements(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line costs a few measurements of no more text than may fit."""
    looks = 0
    measure = ImageFont.FreeTypeFont.getlength

    def counted(font: ImageFont.FreeTypeFont, *given: Any) -> float:
        nonlocal looks
        looks += len(given[0])
        return measure(font, *given)

    monkeypatch.setattr(ImageFont.FreeTypeFont, "getlength", counted)
    assert text_fitting.fit(text, 720, (50, 44, 38), max_lines=2).lines[-1].endswith(ELLIPSIS)
    assert looks < 50_000


def test_the_largest_size_in_which_the_text_fits_is_used() -> None:
    short, long = (
        text_fitting.fit(text, WIDTH, (60, 40, 20), max_lines=2)
        for text in ("Coffee", "Coffee for the whole team")
    )
    assert (short.lines, short.font.size) == (("Coffee",), 60)
    assert (len(long.lines), long.font.size) == (2, 40)


@pytest.mark.parametrize("text", ["word " * 30, "x" * 200, "a " + "long" * 40, "W" * 60])
@pytest.mark.parametrize("max_lines", [1, 2, 3])
def test_a_text_that_does_not_fit_ends_with_an_ellipsis(text: str, max_lines: int) -> None:
    """No line is too wide, there are not too many, and they are the start of the text."""
    found = text_fitting.fit(text.strip(), WIDTH, (40, 30), max_lines=max_lines)
    assert len(found.lines) == max_lines
    assert all(found.font.length(line) <= WIDTH for line in found.lines)
    assert found.lines[-1].endswith(ELLIPSIS)
    said = "".join(line.removesuffix("-") for line in found.lines)
    said = said.removesuffix(ELLIPSIS).replace(" ", "")
    assert text.replace(" ", "").startswith(said)
    assert len(said) > max_lines


def test_a_text_is_split_between_words_where_possible() -> None:
    assert lines("Coffee for the whole team", sizes=(36,)) == ("Coffee for the", "whole team")


def test_a_word_wider_than_a_line_is_split_without_loss() -> None:
    assert lines("Donaudampfschifffahrt", sizes=(36,)) == ("Donaudampfschi-", "fffahrt")


@pytest.mark.parametrize(
    "text",
    [
        "„Donaudampfschifffahrt!“",
        "Διαμερισματοποίησηδια",
        "Превысокомногорассмотр",
        "aujourd\u2019huiaujourd\u2019hui",
        "Nghiêngngảnghiêngngả",
        "საქართველოსაქართველო",
    ],
)
def test_a_word_is_broken_with_a_hyphen(text: str) -> None:
    first, second = lines(text, sizes=(36,))
    assert first.endswith("-")
    assert first[:-1] + second == text


@pytest.mark.parametrize(
    "text",
    [
        "example.org/mia/stickers",
        "mia.prints@example.org",
        "12345678901234567890",
        "1,234,567,890,123.45",
        "@donaudampfschifffahrt",
        "ab_cdefghijklmnopqrst",
        "咖啡豆咖啡豆咖啡豆",
        "กาแฟกาแฟกาแฟกาแฟกาแฟ",
        "ملصقاتملصقاتملصقاتملصقات",
        "מדבקותמדבקותמדבקותמדבקות",
        "스티커스티커스티커스티커",
    ],
)
def test_what_people_type_and_other_scripts_are_broken_without_a_hyphen(text: str) -> None:
    broken = lines(text, sizes=(36,))
    assert "".join(broken) == text
    assert len(broken) == 2


def test_a_hyphen_of_the_word_is_where_it_is_broken() -> None:
    assert lines("Bahnhofs-Restauration", sizes=(36,)) == ("Bahnhofs-", "Restauration")


def test_a_broken_word_leaves_no_lone_letter_on_a_line() -> None:
    found = lines("mmmmmmmmm", sizes=(36,))
    width = max(text_fitting.fit("mmmmmmmmm", 1_000, (36,)).font.length("mmmmmmmmm"), 0)
    narrow = text_fitting.fit("mmmmmmmmm", int(width) - 1, (36,), max_lines=2)
    assert (found, narrow.lines) == (("mmmmmmm-", "mm"), ("mmmmmmm-", "mm"))


def test_repeated_words_are_cut_at_the_right_place() -> None:
    found: FittedText = text_fitting.fit("ab ab ab cd ef", 90, (40,), max_lines=2)
    assert found.lines[0] == "ab"
    assert found.lines[1].startswith("ab")


@pytest.mark.long
@pytest.mark.parametrize("weight", FACES)
def test_no_letter_is_narrower_than_the_minimum_letter_width(weight: Weight) -> None:
    letters = load_face(1000, weight)
    assert min(map(letters.getlength, plain_letters())) > 1000 * text_fitting._MIN_LETTER_WIDTH


@cache
def plain_letters() -> list[str]:
    return [*filter(is_plain, map(chr, range(0x20, 0x3000)))]


def test_the_fonts_travel_with_their_licence() -> None:
    assert "SIL OPEN FONT LICENSE Version 1.1" in (FONTS / "OFL.txt").read_text("utf-8")
    said = "".join(path.read_text("utf-8") for path in FONTS.glob("*.txt"))
    fonts = {path.name for path in FONTS.iterdir() if path.suffix != ".txt"}
    assert all(name in said for name in fonts)
    assert {f"{face}.ttf" for face in FACES.values()} <= fonts
    assert sum(path.stat().st_size for path in FONTS.iterdir()) < LARGEST
