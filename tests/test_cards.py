"""A request as messages: card, list, article."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.cards import (
    Card,
    card,
    delete_question,
    list_page,
    possibly_repeated,
    shared_article,
)
from bot.chat.replies import Button, escaped, shortened, units
from tests.saying import actions, check, check_rows, labels, parsed

LISTING = "abcdefghij"
URL = "https://pay.example.com/pay/0123456789abcdef01234567"
DROP = Card(
    LISTING, "drop", "Sticker pack", "Ten <b>stickers</b>", 250, "USD", 10, 7, 3, "active", URL
)
DONATION = Card(LISTING, "donation", "Coffee", None, 500, "USD", None, None, 2, "active", URL)
ONE_OFF = Card(LISTING, "oneoff", "Painting", None, 12000, "EUR", None, None, 0, "active", URL)
EVIL = "<b>&amp;</i>\u202e\u200f\u0000\ud800\n" * 300

SOLD_OUT = replace(DROP, remaining_units=0, status="soldOut")
STATES = [
    (DROP, "🟢 7 of 10 left"),
    (replace(DROP, total_units=None), "🟢 7 left"),
    (replace(DROP, reserved_units=2), "🟢 7 of 10 left\n2 are being paid right now"),
    (
        replace(DROP, remaining_units=0, reserved_units=1),
        "🟢 0 of 10 left\n1 is being paid right now",
    ),
    (
        replace(DROP, status="stopped"),
        "⏸ Stopped: it can't be paid until you resume it · 7 of 10 left",
    ),
    (replace(DROP, status="scheduled"), "🕒 Scheduled: not open yet · 7 of 10 left"),
    (SOLD_OUT, "🏁 SOLD OUT: all 10 are gone"),
    (replace(SOLD_OUT, total_units=1), "🏁 SOLD OUT: the only one is sold"),
    (replace(SOLD_OUT, total_units=None), "🏁 SOLD OUT"),
    (DONATION, "🟢 Active\nPaid 2 times"),
    (replace(DONATION, paid_count=0), "🟢 Active\nNot paid yet"),
    (replace(DONATION, paid_count=1), "🟢 Active\nPaid once"),
    (replace(DONATION, paid_count=None), "🟢 Active"),
    (
        replace(DONATION, status="expired", paid_count=None),
        "⌛ Expired: it can't be paid any more",
    ),
    (ONE_OFF, "🟢 Active: closes once it is paid"),
    (replace(ONE_OFF, status="completed", paid_count=1), "✅ Paid: closed"),
]


@pytest.mark.parametrize(("shown", "state"), STATES)
def test_a_card_says_how_the_request_stands(shown: Card, state: str) -> None:
    text = check(card(shown, "en"))
    assert text.endswith(f"\n{state}\n{URL}")


def test_a_card_shows_the_request_with_its_qr() -> None:
    reply = card(DROP, "en")
    assert check(reply) == (
        "Sticker pack\nTen <b>stickers</b>\n\n"
        f"Limited drop · $2.50\n🟢 7 of 10 left\n{URL}"
    )  # fmt: skip
    assert reply.picture == URL
    assert reply.rows == (
        (Button("🔗 Open", url=URL),),
        (Button("📄 Copy link", copy=URL), Button("📣 Share", share=LISTING)),
        (
            Button("🔄 Refresh", action=("refresh", LISTING)),
            Button("⏸ Stop", action=("stop", LISTING)),
        ),
        (Button("🗑 Delete", action=("delete", LISTING)),),
    )


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("active", ["refresh", "stop", "delete"]),
        ("scheduled", ["refresh", "stop", "delete"]),
        ("stopped", ["refresh", "resume", "delete"]),
        ("expired", ["refresh", "resume", "delete"]),
        ("completed", ["refresh", "delete"]),
        ("soldOut", ["refresh", "delete"]),
    ],
)
def test_only_what_can_be_stopped_or_resumed_offers_it(status: str, expected: list[str]) -> None:
    reply = card(replace(DROP, status=status), "en")
    check(reply)
    assert expected == [word for word, _ in actions(reply.rows)]


def test_a_card_without_an_address_has_no_links_yet() -> None:
    reply = card(replace(DROP, url=""), "en")
    check(reply)
    assert reply.picture is None
    assert labels(reply.rows) == ["🔄 Refresh", "⏸ Stop", "🗑 Delete"]


def test_a_long_description_gives_way_to_the_rest_never_within_an_escape() -> None:
    reply = card(replace(DROP, name="&" * 100, description="<😀" * 400), "en")
    text = check(reply)
    assert "&" * 100 in text
    assert "…\n\nLimited drop" in text
    assert text.endswith(URL)


def test_a_card_can_always_be_marked_as_repeated() -> None:
    longest = replace(DROP, name="😀" * 100, description="😀" * 500)
    text = card(longest, "en").text
    marked = possibly_repeated(text, "en")
    assert marked != text
    assert parsed(marked, 1024).text.startswith("Possibly repeated")


def test_a_link_too_long_to_show_is_left_to_the_button() -> None:
    url = URL + "?" + "x" * 1500
    reply = card(replace(DROP, url=url), "en")
    assert url not in check(reply)
    assert reply.picture == url


def test_deleting_is_asked_about_saying_what_is_lost() -> None:
    reply = delete_question(DROP, "en")
    text = check(reply)
    assert "Delete “Sticker pack”?" in text
    assert "link and QR code stop working for good" in text
    assert text.endswith("The 3 payments already made stay paid.")
    assert actions(reply.rows) == [("delete-yes", LISTING), ("refresh", LISTING)]
    one = check(delete_question(replace(DROP, paid_count=1), "en"))
    assert one.endswith("The one payment already made stays paid.")
    assert "already made" not in check(delete_question(replace(DROP, paid_count=0), "en"))


def test_the_list_shows_each_request_as_a_button_to_its_card() -> None:
    reply = list_page([DROP, DONATION, replace(ONE_OFF, status="completed")], 0, 1, "en")
    check(reply)
    assert labels(reply.rows) == [
        "🟢 Sticker pack · $2.50 · 7 of 10 left",
        "🟢 Coffee · $5.00",
        "✅ Painting · €120.00",
        "\N{HEAVY PLUS SIGN} New request",
    ]


@pytest.mark.parametrize(
    ("page", "turns"),
    [(0, [("list", "1")]), (1, [("list", "0"), ("list", "2")]), (2, [("list", "1")])],
)
def test_the_list_turns_where_there_is_a_page(page: int, turns: list[tuple[str, str]]) -> None:
    reply = list_page([DROP], page, 3, "en")
    assert f"(page {page + 1} of 3)" in check(reply)
    assert turns == [action for action in actions(reply.rows) if action[0] == "list"]


def test_an_empty_list_offers_to_make_one() -> None:
    reply = list_page([], 0, 1, "en")
    assert "/new" in check(reply)
    assert actions(reply.rows) == [("new",)]


def test_the_list_names_what_is_still_being_made() -> None:
    waiting = "⏳ Coffee is still being made: I tell you as soon as it is ready."
    assert check(list_page([], 0, 1, "en", pending=["Coffee"])) == waiting
    assert check(list_page([DROP], 0, 1, "en", pending=["Coffee"])).endswith(f"\n{waiting}")


def test_others_see_the_request_with_a_pay_button_and_no_takings() -> None:
    article = shared_article(replace(DONATION, description="For <us>"), "en")
    assert article.title == "Coffee"
    assert article.description == "$5.00 · For <us>"
    assert parsed(article.text).text == f"Coffee\nFor <us>\n\nDonation · $5.00\n{URL}"
    assert article.rows == ((Button("Pay $5.00", url=URL),),)


def test_a_shared_request_on_localhost_has_its_link_as_text() -> None:
    article = shared_article(replace(DROP, url="http://localhost:8080/pay/1"), "en")
    assert article.rows == ()
    assert parsed(article.text).text.endswith("7 of 10 left\nhttp://localhost:8080/pay/1")


@pytest.mark.parametrize(
    ("status", "expected"),
    [("soldOut", "SOLD OUT"), ("stopped", "It can't be paid right now.")],
)
def test_others_see_that_it_can_not_be_paid(status: str, expected: str) -> None:
    assert expected in parsed(shared_article(replace(DROP, status=status), "en").text).text


@given(st.text(max_size=300), st.text(max_size=700), st.text(max_size=50))
def test_no_words_break_a_message(name: str, description: str, other: str) -> None:
    """Whatever a person or another server writes, Telegram takes the message."""
    shown = replace(DROP, name=name, description=description, url=URL + other)
    check(card(shown, "en"))
    check(delete_question(shown, "en"))
    check(list_page([shown] * 8, 1, 3, "en"))
    article = shared_article(shown, "en")
    parsed(article.text)
    check_rows(article.rows)
    assert units(article.title) <= 120


def test_the_worst_words_break_nothing() -> None:
    worst = replace(DROP, name=EVIL, description=EVIL)
    for reply in (
        card(worst, "en"),
        delete_question(worst, "en"),
        list_page([worst] * 8, 0, 2, "en"),
    ):
        assert "<b>&amp;" in "\n".join([check(reply), *labels(reply.rows)])


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("😀😀😀", 6, "😀😀😀"),
        ("😀😀😀", 5, "😀😀…"),
        ("ab 👨\u200d👩", 7, "ab 👨…"),
        ("one two", 5, "one…"),
    ],
)
def test_shortening_counts_as_telegram_does(text: str, limit: int, expected: str) -> None:
    assert shortened(text, limit) == expected
    assert units(expected) <= limit


def test_writing_from_right_to_left_stays_in_its_place() -> None:
    """A name that turns the direction, also one that leaves it open, turns nothing after it."""
    shalom, rlm = "\u05e9\u05dc\u05d5\u05dd", "\u200f"
    assert escaped(shalom) == f"\u2068{shalom}\u2069"
    assert escaped(f"5{rlm}") == f"\u20685{rlm}\u2069"
    assert escaped(f"a\u202e\u2067{shalom}\u2069", 5) == f"\u2068a{shalom[0]}…\u2069"
    assert escaped("\u2067" * 500 + "a") == "a"
    assert escaped("<a\x00b\ud800>\n c") == "&lt;a b &gt; c"
