"""Texts of strangers in Telegram: nothing in them can be tapped, and nothing moves other text."""

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.model.replies import MOST_MARKS, WORD_JOINER, inert, inert_lines, units
from tests.support.telegram_limits import parsed
from tests.support.telegram_links import active_parts

LURES = [
    "example.com",
    "see example.com/pay?x=1 now",
    "https://evil.example/login",
    "HTTP://EVIL.EXAMPLE",
    "tg://resolve?domain=evil",
    "t.me/evil",
    "пример.рф",
    "192.168.10.12",
    "@evil_bot",
    "ask @evil or mail me@evil.example",
    "/forget",
    "press /start@evil_bot",
    "#crypto $BTC",
    "+49 170 1234567",
    "call (030) 123-45-67",
    "4111 1111 1111 1111",
    "a.b@c.de.fr",
]


@pytest.mark.parametrize("lure", LURES)
def test_nothing_in_a_strangers_text_can_be_tapped(lure: str) -> None:
    assert active_parts(lure)
    assert active_parts(html.unescape(inert(lure))) == {}
    assert active_parts(html.unescape(inert_lines(lure))) == {}


@pytest.mark.parametrize("lure", LURES)
def test_it_reads_as_it_was_typed(lure: str) -> None:
    assert html.unescape(inert(lure)).replace(WORD_JOINER, "") == lure


@pytest.mark.parametrize(
    "text", ["for the drums!", "Thanks. See you…", "1 + 1", "a/b", "50 % off", "No. 7", "😀👍🏽"]
)
def test_plain_words_stay_as_they_are(text: str) -> None:
    assert html.unescape(inert(text)).replace(WORD_JOINER, "") == text
    assert inert("for the drums!") == "for the drums!"


@given(st.text(max_size=280))
def test_any_text_is_one_line_that_telegram_parses(text: str) -> None:
    shown = inert(text, 560)
    assert "\n" not in shown
    if shown.strip():
        assert not parsed(f"x{shown}").entities


@given(st.text("ab1@/.:#$_-+() ", max_size=60))
def test_no_mix_of_signs_can_be_tapped(text: str) -> None:
    assert active_parts(html.unescape(inert(text))) == {}


def test_html_stays_text() -> None:
    assert inert('<a href="tg://user?id=1">x</a>').startswith("&lt;a href=")


def test_marks_of_direction_are_gone_and_right_to_left_text_is_isolated() -> None:
    assert inert("abc\u202etxt\u2066") == "abctxt"
    assert inert("שלום") == "\u2068שלום\u2069"


def test_piled_accents_are_bounded_and_those_of_languages_stay() -> None:
    assert inert("e" + "\u0301\u0489" * 60).count("\u0489") <= MOST_MARKS
    for word in ("Việt Nam", "हिन्दी", "ภาษาไทย", "שָׁלוֹם"):
        assert inert(word).strip("\u2068\u2069") == word


def test_a_long_text_is_cut_within_its_limit() -> None:
    shown = inert("😀" * 281, 560)
    assert units(shown) <= 560
    assert shown.endswith("…")
    assert inert("😀" * 280, 560) == "😀" * 280


def test_lines_stay_apart_and_empty_ones_go() -> None:
    assert inert_lines("one\n\n\n two \r\n\u2028/three") == f"one\ntwo\n/{WORD_JOINER}three"
