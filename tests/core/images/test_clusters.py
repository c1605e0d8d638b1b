"""What a reader takes for one character, and where lines of East Asian scripts may end."""

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
