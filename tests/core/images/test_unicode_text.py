"""What a reader takes for one character, where lines may end, and the order of a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.images import unicode_text
from bot.core.text import sanitize


@pytest.mark.parametrize(
    "cluster",
    [
        *("a", "a\u0301\u0302", "שָׁ", "नि", "क्ष", "क्षि", "น้ำ", "가", "\u1100\u1161\u11a8"),
        *("🇩🇪", "👍🏽", "👩🏽\u200d🚀", "👨\u200d👩\u200d👧\u200d👦", "❤️\u200d🔥", "1️⃣"),
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    ],
)
def test_a_cluster_stays_whole(cluster: str) -> None:
    assert sanitize.graphemes(f"x{cluster}x") == ["x", cluster, "x"]


def test_flags_are_pairs_of_letters() -> None:
    assert sanitize.graphemes("🇩🇪🇫🇷🇯") == ["🇩🇪", "🇫🇷", "🇯"]


@given(text=st.text(st.characters() | st.sampled_from("\u200d🇩👩🏽\u0301्क가"), max_size=80))
def test_clusters_are_the_text(text: str) -> None:
    found = sanitize.graphemes(text)
    assert "".join(found) == text
    assert all(found)


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("Coffee", ["Coffee"]),
        ("コーヒー豆", ["コー", "ヒー", "豆"]),
        ("「深煎り」豆。", ["「深", "煎", "り」", "豆。"]),
        ("커피콩", ["커피콩"]),
        ("咖啡200g豆", ["咖", "啡", "200g", "豆"]),
        ("قهوة", ["قهوة"]),
        ("👩🏽\u200d🚀🇩🇪", ["👩🏽\u200d🚀", "🇩🇪"]),
    ],
)
def test_lines_end_between_ideographs_and_not_before_closing_signs(
    word: str, pieces: list[str]
) -> None:
    assert [*unicode_text.break_word(word)] == pieces


@given(word=st.text(st.characters(exclude_categories=["Zs"]), min_size=1, max_size=60))
def test_pieces_are_the_word(word: str) -> None:
    assert "".join(unicode_text.break_word(word)) == word


# The order in which a line is shown. Capitals stand for Hebrew letters, as in the standard.


HEBREW = {ord("A") + number: chr(0x5D0 + number) for number in range(26)}
MIRRORED = str.maketrans("()", ")(")


def shown(text: str) -> str:
    """Return a line as it is seen, with capitals for Hebrew letters."""
    hebrew = text.translate(HEBREW)
    runs = [*zip(text, unicode_text.levels(hebrew), strict=True)]
    ordered = unicode_text.in_visual_order(runs, lambda run: run[1])
    return "".join(char.translate(MIRRORED) if level % 2 else char for char, level in ordered)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tea for two", "tea for two"),
        ("ABC", "CBA"),
        ("ABC DEF", "FED CBA"),
        ("tea ABC DEF!", "tea FED CBA!"),
        ("ABC tea DEF", "FED tea CBA"),
        ("ABC!", "!CBA"),
        ("ABC…", "…CBA"),
        ("ABC 25", "25 CBA"),
        ("ABC 5.50 DEF", "FED 5.50 CBA"),
        ("ABC 25%", "25% CBA"),
        ("ABC (DEF)", "(FED) CBA"),
        ("ABC (tea)", "(tea) CBA"),
        ("tea (ABC) x", "tea (CBA) x"),
        ("tea ABC (25)", "tea (25) CBA"),
        ("tea 25 ABC", "tea 25 CBA"),
        ("25 ABC", "CBA 25"),
        ("- ABC", "CBA -"),
    ],
)
def test_a_line_is_shown_in_the_order_of_its_scripts(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_arabic_letters_make_arabic_numbers_of_digits() -> None:
    """A colon between such numbers is part of them, a hyphen is not (W2, W4)."""
    assert unicode_text.levels("ا 1:2") == [1, 1, 2, 2, 2]
    assert unicode_text.levels("ا 1-2") == [1, 1, 2, 1, 2]
    assert unicode_text.levels("א 1-2") == [1, 1, 2, 2, 2]


@pytest.mark.parametrize("control", "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
def test_no_character_overrides_a_direction(control: str) -> None:
    assert set(unicode_text.levels(f"{control}tea{control} 5")) == {0}


@given(text=st.text(max_size=60))
def test_every_text_has_an_order_with_each_character_once(text: str) -> None:
    levels = unicode_text.levels(text)
    assert len(levels) == len(text)
    runs = [*enumerate(levels)]
    assert sorted(unicode_text.in_visual_order(runs, lambda run: run[1])) == runs


@given(text=st.text(st.characters(categories=["Ll", "Nd"], max_codepoint=0x24F)))
def test_latin_words_and_numbers_keep_their_order(text: str) -> None:
    assert set(unicode_text.levels(text)) <= {0}
