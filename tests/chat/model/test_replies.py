"""Buttons as Telegram wants them, and what they carry back."""

from __future__ import annotations

import html

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from telegram import InlineKeyboardMarkup

from bot.chat.model.payloads import CardMessage, TextMessage, new_message, replacement
from bot.chat.model.replies import (
    MOST_MARKS,
    SUCCESS,
    WORD_JOINER,
    Action,
    Button,
    Reply,
    decode_data,
    encode_data,
    inert,
    inert_lines,
    linkable,
    markup,
    units,
)
from bot.sandbox.web.contents import inline_keyboard
from bot.sandbox.world.formatting import web_address
from tests.support.telegram_limits import active_parts, parsed

ACTIONS: list[Action] = [
    *[("draft", "ab2c3d", "kind", kind) for kind in ("donation", "oneoff", "drop")],
    *[("draft", "ab2c3d", verb) for verb in ("skip", "keep", "cancel", "continue", "restart")],
    ("draft", "ab2c3d", "back", "description"),
    ("draft", "ab2c3d", "amount", "1.234"),
    ("draft", "ab2c3d", "amount", "9999999999999999.9999999999999999", "MNEE"),
    ("draft", "ab2c3d", "currency", "USD"),
    ("draft", "ab2c3d", "create", "00ff00ff"),
    *[("draft", "ab2c3d", verb) for verb in ("options", "done")],
    ("draft", "ab2c3d", "open", "receivers"),
    ("draft", "ab2c3d", "clear", "postertext"),
    ("draft", "ab2c3d", "off", "summary"),
    ("draft", "ab2c3d", "instrument", "MNEE"),
    ("draft", "ab2c3d", "ask", "phoneNumber", "off"),
    ("draft", "ab2c3d", "zone", "America/Argentina/Buenos_Aires"),
    ("draft", "ab2c3d", "zone", "Etc/GMT+12"),
    ("draft", "ab2c3d", "moment", "starts", "1800000000000"),
    ("draft", "ab2c3d", "hours", "1320-420"),
    ("draft", "ab2c3d", "minute", "0"),
    *[(w, "abcdefghij") for w in ("card", "refresh", "stop", "resume", "delete", "delete-yes")],
    ("more", "abcdefghij"),
    ("list", "0"),
    ("list", "999999"),
    ("new",),
    ("help",),
    ("settings",),
    ("settings", "destination"),
]

RUBBISH = [
    "",
    ":",
    "card",
    "card:",
    "card:abc",
    "card:ABCDEFGHIJ",
    "card:abcdefghij:",
    "card:abcdefghij\n",
    "card:abcdefghijk",
    "cards:abcdefghij",
    "list:-1",
    "list:1.5",
    "list:\u0661",
    "draft:ab2c3d",
    "draft:ab2c3d:kind:gift",
    "draft:ab2c3d:amount:-1:USD",
    "draft:ab2c3d:amount:1e9:USD",
    "draft:ab2c3d:create:xyz",
    "draft:ab2c3d:ask:name:on",
    "draft:ab2c3d:moment:name:1",
    "draft:ab2c3d:moment:ends:-1",
    "draft:ab2c3d:zone:" + "x" * 60,
    "settings:everything",
    "new:" + "x" * 100,
    "draft:ab2c3d:\ud800",
]

LINKS = [
    ("https://pay.example.com/pay/1", True),
    ("http://127.0.0.1:8080/pay/1", True),
    ("https://пример.рф/", True),
    ("https://xn--e1afmkfd.xn--p1ai/", True),
    ("http://localhost:8080/pay/1", False),
    ("http://bot/pay", False),
    ("http://example.com:port/", False),
    ("https://user name@example.com/a b", False),
    ("https://example.com/\n", False),
    ("http://[::1", False),
    ("javascript:alert(1)", False),
    ("ftp://example.com/", False),
    ("pay.example.com", False),
    ("https://example.com/" + "x" * 3000, False),
    ("", False),
]


def test_every_action_comes_back_as_it_went_in_64_bytes() -> None:
    data = [encode_data(action) for action in ACTIONS]
    assert [decode_data(each) for each in data] == ACTIONS
    assert max(len(each.encode()) for each in data) <= 64


def test_unknown_callback_data_is_no_action() -> None:
    assert [data for data in RUBBISH if decode_data(data) is not None] == []


@given(st.text(max_size=80))
@example("draft:ab2c3d:skip")
def test_whatever_is_decoded_encodes_to_the_same(data: str) -> None:
    action = decode_data(data)
    assert action is None or encode_data(action) == data


@pytest.mark.parametrize("action", [(), ("",), ("card",), ("card", "a:b"), ("card", "x" * 64)])
def test_an_action_outside_the_grammar_is_a_bug(action: Action) -> None:
    with pytest.raises(ValueError, match="not in the grammar"):
        encode_data(action)


def test_only_what_telegram_opens_is_linkable() -> None:
    assert [(url, linkable(url)) for url, _ in LINKS] == LINKS
    opened = [url for url, is_linkable in LINKS if is_linkable and "xn--" not in url]
    assert [url for url in opened if web_address(url) is None] == []


def test_markup_is_what_telegram_reads() -> None:
    """Each kind of button becomes its field; Telegram's own types read it back the same."""
    rows = (
        (Button("Open", url="https://pay.example.com/1"), Button("Copy", copy="text")),
        (Button("Share", share="abcdefghij"), Button("Card", action=("card", "abcdefghij"))),
        (Button("Pay", url="https://pay.example.com/1", style=SUCCESS),),
    )
    keyboard = markup(rows)
    expected = {
        "inline_keyboard": [
            [
                {"text": "Open", "url": "https://pay.example.com/1"},
                {"text": "Copy", "copy_text": {"text": "text"}},
            ],
            [
                {"text": "Share", "switch_inline_query": "abcdefghij"},
                {"text": "Card", "callback_data": "card:abcdefghij"},
            ],
            [{"text": "Pay", "style": "success", "url": "https://pay.example.com/1"}],
        ]
    }
    assert keyboard == expected == inline_keyboard(keyboard)
    assert InlineKeyboardMarkup.de_json(expected, None).to_dict() == expected


def test_what_telegram_refuses_is_left_out() -> None:
    """A link to localhost and a text of 257 characters go; a row without buttons goes too."""
    rows = (
        (Button("Open", url="http://localhost/pay"),),
        (Button("Copy", copy="x" * 257), Button("Copy", copy="x" * 256)),
        (Button("Copy", copy="😀" * 129), Button("Copy", copy="")),
    )
    assert markup(rows) == {
        "inline_keyboard": [[{"text": "Copy", "copy_text": {"text": "x" * 256}}]]
    }


@pytest.mark.parametrize("rows", [(), ((),), ((Button("Open", url="http://localhost/"),),)])
def test_no_buttons_is_no_markup(rows: tuple[tuple[Button, ...], ...]) -> None:
    assert markup(rows) is None


def test_long_labels_and_queries_are_shortened() -> None:
    keyboard = markup(((Button("😀" * 200, share="x" * 300),),))
    assert keyboard is not None
    button = keyboard["inline_keyboard"][0][0]
    assert button == {"text": "😀" * 31 + "…", "switch_inline_query": "x" * 255 + "…"}


# Texts of strangers in Telegram: nothing in them can be tapped, and nothing moves other text.


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


PLAIN = ("for the drums!", "Thanks. See you…", "1 + 1", "a/b", "50 % off", "No. 7", "😀👍🏽")


def test_nothing_in_a_strangers_text_can_be_tapped() -> None:
    for lure in LURES:
        assert active_parts(lure)
        assert active_parts(html.unescape(inert(lure))) == {}
        assert active_parts(html.unescape(inert_lines(lure))) == {}


def test_a_strangers_text_reads_as_it_was_typed() -> None:
    for text in (*LURES, *PLAIN):
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


# Payloads: what a reply becomes in the queue, as a new message or in the place of another.


LINK = "abcdefghij"
ROWS = ((Button("Go", action=("new",)),),)
KEYBOARD = {"inline_keyboard": [[{"text": "Go", "callback_data": "new"}]]}


def test_a_text_is_sent_as_a_message() -> None:
    assert new_message(Reply("Hi", ROWS), "en") == TextMessage("Hi", "en", KEYBOARD)


def test_without_buttons_there_is_no_keyboard() -> None:
    assert new_message(Reply("Hi"), "en") == TextMessage("Hi", "en")


def test_a_card_is_named_by_its_link_and_drawn_when_it_is_sent() -> None:
    assert new_message(Reply("Hi", ROWS, LINK), "en") == CardMessage(LINK, "en")


@pytest.mark.parametrize(
    ("message_id", "is_picture", "reply", "method"),
    [
        (5, False, Reply("Hi"), "editMessageText"),
        (5, True, Reply("Hi"), "editMessageCaption"),
        (5, True, Reply("Hi", picture=LINK), "editMessageCaption"),
        (5, False, Reply("Hi", picture=LINK), "sendPhoto"),
        (None, False, Reply("Hi"), "sendMessage"),
        (None, True, Reply("Hi", picture=LINK), "sendPhoto"),
    ],
)
def test_a_reply_takes_the_place_of_a_message_where_telegram_lets_it(
    message_id: int | None, reply: Reply, method: str, *, is_picture: bool
) -> None:
    assert replacement(reply, "en", message_id, is_picture=is_picture).method == method


def test_an_edit_names_its_message_and_takes_buttons_away() -> None:
    edit = replacement(Reply("Hi"), "en", 5, is_picture=False)

    assert edit == TextMessage("Hi", "en", keyboard=None, message_id=5)
