"""The texts of a request: card, list, inline result."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bot.chat.cards.card_text import (
    deep_link,
    inline_article,
    list_page,
    mark_possibly_repeated,
    public_card,
    seller_card,
    stamp_text,
    visitor_card,
)
from bot.chat.cards.request_card import Card
from bot.chat.model.replies import SUCCESS, Button, Reply, escaped, shortened, units
from bot.chat.store.payment_rows import RevenueTotals
from tests.support.service_harness import NOON
from tests.support.telegram_limits import actions, check, labels, parsed

LINK = "abcdefghij"
URL = "https://pay.example.com/pay/0123456789abcdef01234567"
DROP = Card(
    LINK, "drop", "Sticker pack", "Ten <b>stickers</b>", 250, "USD", 10, 7, 3, "active", URL
)
DONATION = Card(LINK, "donation", "Coffee", None, 500, "USD", None, None, 2, "active", URL)
ONE_OFF = Card(LINK, "oneoff", "Painting", None, 12000, "EUR", None, None, 0, "active", URL)
DAY = 24 * 3600 * 1000
STAMPS = {
    "soldOut": ("SOLD OUT", "AUSVERKAUFT"),
    "expired": ("EXPIRED", "ABGELAUFEN"),
    "stopped": ("PAUSED", "PAUSIERT"),
    "completed": ("PAID", "BEZAHLT"),
    "deleted": ("DELETED", "GELÖSCHT"),
}
SOLD_OUT = replace(DROP, remaining_units=0, status="soldOut")
STATES = [
    (DROP, "🟢 7 of 10 left"),
    (replace(DROP, total_units=None), "🟢 7 left"),
    (replace(DROP, reserved_units=2), "🟢 7 of 10 left\n2 payments in progress"),
    (
        replace(DROP, remaining_units=0, reserved_units=1),
        "🟡 0 of 10 left\n1 payment in progress",
    ),
    (
        replace(DROP, status="stopped"),
        "⏸ Paused: can't be paid until you resume it · 7 of 10 left",
    ),
    (replace(DROP, status="scheduled"), "🕒 Scheduled: not open yet · 7 of 10 left"),
    (SOLD_OUT, "🏁 SOLD OUT: all 10 sold"),
    (replace(SOLD_OUT, total_units=1), "🏁 SOLD OUT: the only one sold"),
    (replace(SOLD_OUT, total_units=None), "🏁 SOLD OUT"),
    (DONATION, "🟢 Active\n2 payments"),
    (replace(DONATION, paid_count=0), "🟢 Active\nNo payments yet"),
    (replace(DONATION, paid_count=1), "🟢 Active\n1 payment"),
    (replace(DONATION, paid_count=None), "🟢 Active"),
    (
        replace(DONATION, status="expired", paid_count=None),
        "⌛ Expired: can't be paid any more",
    ),
    (ONE_OFF, "🟢 Active: closes once it's paid"),
    (replace(DONATION, email="a@b.example"), "🟢 Active\n2 payments"),
    (
        replace(DONATION, email="a@b.example", email_state="unconfirmed"),
        (
            "🟢 Active\n2 payments\n✉ a@b.example isn't confirmed yet. Open the link in the"
            " email sent to that address. Payments made before then will arrive in one summary."
        ),
    ),
    (
        replace(
            DONATION,
            email="a@b.example",
            email_state="confirmed",
            email_confirmed_at=NOON,
        ),
        (
            "🟢 Active\n2 payments\n✉ Payments are also emailed to a@b.example"
            " (confirmed Fri, 15 Jan 2027, 08:00 (UTC))"
        ),
    ),
    (
        replace(DONATION, email="a@b.example", email_state="ended"),
        "🟢 Active\n2 payments\n✉ a@b.example has unsubscribed from payment emails.",
    ),
    (replace(DONATION, email="a@b.example", email_state="new"), "🟢 Active\n2 payments"),
    (replace(ONE_OFF, status="completed", paid_count=1), "✅ Paid and closed"),
]


@pytest.mark.parametrize(("shown", "state"), STATES)
def test_a_card_shows_the_status_of_the_request(shown: Card, state: str) -> None:
    text = check(seller_card(shown, "en"))
    assert text.endswith(f"\n{state}\n{URL}")


def test_a_cards_address_for_notices_shows_where_it_leads() -> None:
    shown = replace(DONATION, email="a@\u0440aypal.example", email_state="unconfirmed")
    assert "✉ a@xn--aypal-uye.example isn't confirmed" in seller_card(shown, "en").text


def test_a_card_shows_the_request_with_its_qr() -> None:
    reply = seller_card(DROP, "en")
    assert check(reply) == (
        "Sticker pack\nTen <b>stickers</b>\n\n"
        f"Limited drop · $2.50\n🟢 7 of 10 left\n{URL}"
    )  # fmt: skip
    assert reply.picture == LINK
    assert reply.rows == (
        (Button("🔗 Open", url=URL), Button("📄 Copy link", copy=URL)),
        (Button("📣 Share", share=LINK), Button("✏ Edit", action=("edit", LINK))),
        (Button("⋯ More", action=("more", LINK)),),
    )


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("active", ["more"]),
        ("scheduled", ["more"]),
        ("stopped", ["resume", "more"]),
        ("expired", ["resume", "more"]),
        ("completed", ["duplicate", "more"]),
        ("soldOut", ["duplicate", "more"]),
    ],
)
def test_a_card_that_cannot_be_paid_offers_the_way_back_beside_more(
    status: str, expected: list[str]
) -> None:
    """A request that can be resumed offers that, one that has ended for good a duplicate."""
    reply = seller_card(replace(DROP, status=status), "en")
    check(reply)
    assert expected == [word for word, *_ in actions(reply.rows[-1:])]


def test_revenue_are_shown_by_currency_with_the_number_of_payments() -> None:
    both = replace(DROP, totals=RevenueTotals(((625, "USD"), (100, "EUR")), 3))
    assert "\n3 payments · $6.25 + €1.00\n" in check(seller_card(both, "en"))
    assert "\n3 Zahlungen · 6,25 $ + 1,00 €\n" in check(seller_card(both, "de"))
    one = replace(ONE_OFF, status="completed", totals=RevenueTotals(((12000, "EUR"),), 1))
    assert "\n1 payment · €120.00\n" in check(seller_card(one, "en"))


def test_oversold_money_is_not_earned_and_is_shown_apart_on_the_card() -> None:
    earned = RevenueTotals(((12000, "EUR"),), 1, ((12000, "EUR"),), 1)
    one = replace(ONE_OFF, status="completed", paid_count=2, totals=earned)
    text = check(seller_card(one, "en"))
    assert "\n1 payment · €120.00\n⚠️ To refund: €120.00 (1 payment)\n" in text
    nothing = replace(DONATION, totals=RevenueTotals((), 0, ((500, "USD"), (200, "EUR")), 2))
    lines = check(seller_card(nothing, "de")).splitlines()
    assert lines[-2] == "⚠️ Zu erstatten: 5,00 $ + 2,00 € (2 Zahlungen)"
    assert not [line for line in lines if "Zahlungen ·" in line]


def test_the_fullest_card_fits_into_a_caption() -> None:
    """The link then is on the button alone."""
    sums = tuple((10**17, code) for code in ("USD", "EUR", "JPY", "BTC", "GBP", "CHF"))
    full = replace(
        DROP,
        name="😀" * 100,
        url=f"{URL}?{'x' * 440}",
        totals=RevenueTotals(sums, 10**9, sums, 10**9),
        email=f"{'x' * 60}@b.example",
        email_state="unconfirmed",
        reserved_units=9,
        ends_at=NOON,
    )
    assert URL not in check(seller_card(full, "de"))


@pytest.mark.parametrize(
    ("status", "zone", "line"),
    [
        ("active", None, "Ends Sat, 16 Jan 2027, 08:00 (UTC)"),
        ("active", "Europe/Berlin", "Ends Sat, 16 Jan 2027, 09:00 (Berlin)"),
        ("active", "Nowhere/Land", "Ends Sat, 16 Jan 2027, 08:00 (UTC)"),
        ("scheduled", "Europe/Berlin", "Opens Fri, 15 Jan 2027, 09:00 (Berlin)"),
    ],
)
def test_a_future_start_or_end_is_shown_in_the_sellers_zone(
    status: str, zone: str | None, line: str
) -> None:
    timed = replace(DROP, status=status, zone=zone, starts_at=NOON, ends_at=NOON + DAY)
    assert f"\n{line}\n" in check(seller_card(timed, "en"))
    assert f"\n{line}" in parsed(public_card(timed, "en").text).text


@pytest.mark.parametrize("status", ["soldOut", "expired", "stopped", "completed", "deleted"])
def test_an_ended_request_shows_no_time_and_is_stamped(status: str) -> None:
    over = replace(DROP, status=status, ends_at=NOON)
    assert "2027" not in check(seller_card(over, "en"))
    assert (stamp_text(over, "en"), stamp_text(over, "de")) == STAMPS[status]
    assert stamp_text(DROP, "en") is None


def test_a_time_beyond_all_calendars_is_not_shown() -> None:
    assert "Ends" not in check(seller_card(replace(DROP, ends_at=10**18), "en"))


@pytest.mark.parametrize(("url", "picture"), [(URL, LINK), ("", None)])
def test_a_deleted_request_shows_it_and_offers_nothing(url: str, picture: str | None) -> None:
    """Its picture is stamped; without a link it has no picture."""
    gone = replace(DROP, status="deleted", url=url)
    own = "<b>Sticker pack</b> has been deleted. Its link no longer works."
    assert seller_card(gone, "en") == Reply(own, picture=picture)
    others = Reply("<b>Sticker pack</b> is no longer available.", picture=picture)
    assert (public_card(gone, "en"), visitor_card(gone, "en")) == (others, others)


def test_the_deep_link_names_the_request_within_telegrams_limit() -> None:
    link = deep_link("PaymentRequestBot", LINK)
    assert link == "https://t.me/PaymentRequestBot?start=r_abcdefghij"
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", link.partition("=")[2])


def test_a_card_without_an_address_has_no_links_yet() -> None:
    reply = seller_card(replace(DROP, url=""), "en")
    check(reply)
    assert reply.picture is None
    assert labels(reply.rows) == ["🔄 Refresh", "⋯ More"]
    assert check(reply).endswith("7 of 10 left")


def test_a_long_description_is_cut_but_never_within_an_escape() -> None:
    reply = seller_card(replace(DROP, name="&" * 100, description="<😀" * 400), "en")
    text = check(reply)
    assert "&" * 100 in text
    assert "…\n\nLimited drop" in text
    assert text.endswith(URL)


def test_a_card_can_always_be_marked_as_repeated() -> None:
    longest = replace(DROP, name="😀" * 100, description="😀" * 500)
    text = seller_card(longest, "en").text
    marked = mark_possibly_repeated(text, "en")
    assert marked != text
    assert parsed(marked, 1024).text.startswith("You may have seen this already.")


def test_a_link_too_long_for_the_text_is_only_on_the_button() -> None:
    url = URL + "?" + "x" * 1500
    reply = seller_card(replace(DROP, url=url), "en")
    assert url not in check(reply)
    assert (reply.picture, reply.rows[0][0].url) == (LINK, url)


def test_the_list_shows_each_request_as_a_button_to_its_card() -> None:
    reply = list_page([DROP, DONATION, replace(ONE_OFF, status="completed")], 0, 1, "en")
    check(reply)
    assert labels(reply.rows) == [
        "🟢 Sticker pack · $2.50 · 7 of 10 left",
        "🟢 Coffee · $5.00",
        "✅ Painting · €120.00",
        "\N{HEAVY PLUS SIGN} New payment link",
    ]


def test_the_list_does_not_call_a_reserved_drop_open() -> None:
    """Nobody else can pay it now, but it is not sold out either."""
    held = replace(DROP, remaining_units=0, reserved_units=1)
    reply = list_page([held, replace(held, remaining_units=1)], 0, 1, "en")
    assert [label[:1] for label in labels(reply.rows)[:2]] == ["🟡", "🟢"]


@pytest.mark.parametrize(
    ("page", "turns"),
    [(0, [("list", "1")]), (1, [("list", "0"), ("list", "2")]), (2, [("list", "1")])],
)
def test_the_list_has_buttons_only_to_existing_pages(
    page: int, turns: list[tuple[str, str]]
) -> None:
    reply = list_page([DROP], page, 3, "en")
    assert f"(page {page + 1} of 3)" in check(reply)
    assert turns == [action for action in actions(reply.rows) if action[0] == "list"]


def test_an_empty_list_offers_a_new_request() -> None:
    reply = list_page([], 0, 1, "en")
    assert "/new" in check(reply)
    assert actions(reply.rows) == [("new",)]


def test_the_list_names_requests_that_are_being_created() -> None:
    waiting = "⏳ Coffee is still being created. I'll let you know as soon as it's ready."
    assert check(list_page([], 0, 1, "en", pending=["Coffee"])) == waiting
    assert check(list_page([DROP], 0, 1, "en", pending=["Coffee"])).endswith(f"\n{waiting}")


def test_others_see_the_request_with_a_pay_button_and_no_revenue() -> None:
    article = inline_article(replace(DONATION, description="For <us>"), "en")
    assert article.title == "Coffee"
    assert article.description == "$5.00 · For <us>"
    assert parsed(article.text).text == f"Coffee\nFor <us>\n\nDonation · $5.00\n{URL}"
    assert article.rows == ((Button("Pay $5.00", url=URL, style=SUCCESS),),)


def test_a_shared_request_on_localhost_has_its_link_as_text() -> None:
    article = inline_article(replace(DROP, url="http://localhost:8080/pay/1"), "en")
    assert article.rows == ()
    assert parsed(article.text).text.endswith("7 of 10 left\nhttp://localhost:8080/pay/1")


@pytest.mark.parametrize(
    ("status", "expected", "brief"),
    [
        ("soldOut", "SOLD OUT", "SOLD OUT"),
        ("stopped", "This can't be paid right now.", "PAUSED"),
        ("expired", "Expired: can't be paid any more", "EXPIRED"),
        ("completed", "Paid and closed", "PAID"),
    ],
)
def test_others_see_an_unpayable_request_without_a_pay_button(
    status: str, expected: str, brief: str
) -> None:
    article = inline_article(
        replace(DROP, status=status, totals=RevenueTotals(((5, "USD"),), 1)), "en"
    )
    assert expected in parsed(article.text).text
    assert article.description.startswith(f"$2.50 · {brief}")
    assert article.rows == ()
    assert "Taken" not in article.text


def test_a_scheduled_request_can_be_opened_but_not_paid() -> None:
    reply = public_card(replace(DROP, status="scheduled"), "en")
    assert "Scheduled: not open yet" in reply.text
    assert reply.rows == ((Button("🔗 Open", url=URL),),)


def test_a_visitor_can_refresh_the_card() -> None:
    reply = visitor_card(DONATION, "en")
    check(reply)
    assert (labels(reply.rows), actions(reply.rows)) == (
        ["Pay $5.00", "🔄 Refresh"],
        [("look", LINK)],
    )


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


def test_right_to_left_text_affects_nothing_after_it() -> None:
    """A name that changes the direction, even without ending it, changes nothing after it."""
    shalom, rlm = "\u05e9\u05dc\u05d5\u05dd", "\u200f"
    assert escaped(shalom) == f"\u2068{shalom}\u2069"
    assert escaped(f"5{rlm}") == f"\u20685{rlm}\u2069"
    assert escaped(f"a\u202e\u2067{shalom}\u2069", 5) == f"\u2068a{shalom[0]}…\u2069"
    assert escaped("\u2067" * 500 + "a") == "a"
    assert escaped("<a\x00b\ud800>\n c") == "&lt;a b &gt; c"
