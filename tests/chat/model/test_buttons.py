"""Buttons as Telegram wants them, and what they carry back."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from telegram import InlineKeyboardMarkup

from bot.chat.model.replies import (
    SUCCESS,
    Action,
    Button,
    decode_data,
    encode_data,
    linkable,
    markup,
)
from bot.sandbox.bot_api.contents import inline_keyboard
from bot.sandbox.world.formatting import web_address

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


@pytest.mark.parametrize("action", ACTIONS, ids=":".join)
def test_every_action_comes_back_as_it_went_in_64_bytes(action: Action) -> None:
    data = encode_data(action)
    assert len(data.encode()) <= 64
    assert decode_data(data) == action


@pytest.mark.parametrize("data", RUBBISH)
def test_unknown_callback_data_is_no_action(data: str) -> None:
    assert decode_data(data) is None


@given(st.text(max_size=80))
@example("draft:ab2c3d:skip")
def test_whatever_is_decoded_encodes_to_the_same(data: str) -> None:
    action = decode_data(data)
    assert action is None or encode_data(action) == data


@pytest.mark.parametrize("action", [(), ("",), ("card",), ("card", "a:b"), ("card", "x" * 64)])
def test_an_action_outside_the_grammar_is_a_bug(action: Action) -> None:
    with pytest.raises(ValueError, match="not in the grammar"):
        encode_data(action)


@pytest.mark.parametrize(("url", "expected"), LINKS)
def test_only_what_telegram_opens_is_linkable(url: str, *, expected: bool) -> None:
    assert linkable(url) is expected
    assert not expected or "xn--" in url or web_address(url) is not None


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
