"""Text of strangers, before it is stored or shown."""

from __future__ import annotations

import unicodedata

import pytest

from bot.chat.forms import goods_form, seller_texts, typed_text
from bot.chat.forms.shares_and_amounts import read_portions
from bot.chat.model import payment
from bot.chat.model.drafts import Portion
from bot.chat.model.replies import Problem, inert, inert_lines, plain
from bot.chat.pictures.typesetting import drawable_lines
from bot.core.text import sanitize
from bot.service.goods import contents
from bot.service.pages import payer_form
from tests.service.pages.test_payer_form import terms
from tests.support.mail import letter

BAD = "\ufffd"

BREAKS = ["\n", "\r\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029", "\x1c", "\x1d", "\x1e"]


@pytest.mark.parametrize("sign", BREAKS)
def test_a_line_break_of_any_kind_keeps_lines_apart(sign: str) -> None:
    """A break in what has lines, a blank in what is one line, in service, chat and pictures."""
    lines = f"one{sign}two"
    assert sanitize.lines(lines) == sanitize.text(lines) == sanitize.words(lines) == "one\ntwo"
    assert sanitize.line(lines) == sanitize.typed(lines) == "one two"
    order = payer_form.read_order(terms(), [], {"name": lines, "message": lines})
    assert (order.words.name, order.words.message) == ("one two", "one\ntwo")
    assert payment.kept_text(lines, 280) == "one\ntwo"
    assert inert_lines(lines) == "one\ntwo"
    assert inert(lines) == plain(lines) == "one two"
    assert typed_text.read_name(lines) == typed_text.read_description(lines) == "one two"
    assert typed_text.read_thanks(lines) == typed_text.read_poster_text(lines) == "one\ntwo"
    message, listed = goods_form.read_message(lines), goods_form.read_codes(lines)
    assert isinstance(message, tuple)
    assert message[0].text == "one\ntwo"
    assert listed == goods_form.CodeList(("one", "two"))
    shares = read_portions(f"$anna 60%{sign}$ben 40%", "USD")
    assert shares == (Portion("$anna", "60%"), Portion("$ben", "40%"))
    assert drawable_lines(lines) == ["one", "two"]
    codes = contents.CodeFile()
    for char in lines:
        codes.feed(char.encode())
    assert codes.finish() == ("one", "two")


@pytest.mark.parametrize("sign", BREAKS)
def test_a_letter_has_a_blank_for_each_line_break(sign: str) -> None:
    text = letter(name=f"Anna{sign}Ott", message=f"one{sign}two").get_body(("plain",))
    assert text is not None
    assert "Anna Ott" in text.get_content()
    assert "one two" in text.get_content()


@pytest.mark.parametrize(
    ("raw", "text", "line"),
    [
        ("plain", "plain", "plain"),
        ("", "", ""),
        ("a\r\nb\nc\td", "a\nb\nc\td", "a b c d"),
        ("\x1b]0;owned\x07", f"{BAD}]0;owned{BAD}", f"{BAD}]0;owned{BAD}"),
        ("nul\x00", f"nul{BAD}", f"nul{BAD}"),
        ("c1\x9b", f"c1{BAD}", f"c1{BAD}"),
        ("\u202egpj", f"{BAD}gpj", f"{BAD}gpj"),
        ("half\ud800", f"half{BAD}", f"half{BAD}"),
        ("grüße 日本 😀", "grüße 日本 😀", "grüße 日本 😀"),
    ],
)
def test_no_character_that_controls_a_terminal_is_left(raw: str, text: str, line: str) -> None:
    assert (sanitize.text(raw), sanitize.line(raw)) == (text, line)
    text.encode()


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain שלום", "plain שלום"),
        ("photo\u202egpj.exe", "photogpj.exe"),
        ("\u202aa\u202bb\u202cc\u202dd", "abcd"),
        ("\u2066a\u2069 \u2067b\u2069", "a b"),
        ("\u2068a\u2068b\u2069", "a\u2068b\u2069"),
        ("a\u2069\u2068b\u2069\u2069", "a\u2068b\u2069"),
        ("\u2067\u2068a\u2069b\u2069", "\u2068a\u2069b"),
        ("ا\u200fa\u200e", "ا\u200fa\u200e"),
    ],
)
def test_a_text_does_not_reorder_the_text_around_it(raw: str, shown: str) -> None:
    """Marks beside a letter and closed isolates are what people paste; they harm nothing."""
    assert sanitize.in_order(raw) == shown


def test_titles_that_sellers_type_are_in_order() -> None:
    name, text = "Tea \u202eeerf\u2066", "One\u202e\nTwo\u2067"
    assert typed_text.read_name(name) == "Tea eerf"
    assert typed_text.read_description(name) == "Tea eerf"
    assert seller_texts.READERS["sellername"](name) == "Tea eerf"
    assert seller_texts.name_at_telegram("Sam\u202e", "\u2066Lee") == "Sam Lee"
    assert (typed_text.read_thanks(text), typed_text.read_poster_text(text)) == ("One\nTwo",) * 2
    assert typed_text.read_name("\u202e\u2066") == Problem("problem-name-empty")


def test_long_text_is_cut() -> None:
    assert (sanitize.text("a\r\n" * 9, 3), sanitize.line("a  b  c", 4)) == ("a\na", "a b ")


def test_direction_marks_are_the_characters_that_unicode_gives_bidi_control() -> None:
    """Unicode TR 9: the embeddings, overrides and isolates, and three marks of their own."""
    turns = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    found = {code for code in range(0x110000) if unicodedata.bidirectional(chr(code)) in turns}
    marks = {ord("\N{LEFT-TO-RIGHT MARK}"), ord("\N{RIGHT-TO-LEFT MARK}")}
    assert found | marks | {ord("\N{ARABIC LETTER MARK}")} == sanitize.DIRECTION_MARKS.keys()
