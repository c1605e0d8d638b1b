"""Letters about payments: their texts, and that no name or message can add to them."""

from __future__ import annotations

import re
from dataclasses import replace
from email.header import decode_header, make_header
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markupsafe import escape

from bot.core import exact_json
from bot.core.brand import COLOURS, DEFAULT_COLOUR
from bot.core.errors import MailRefused
from bot.core.net.mail import encode_mailbox, encoded_headers
from bot.interface.bodies import WebhookEvent
from bot.service.notifications.letter_texts import LetterOrigin, LetterTarget, _line, payment_letter
from bot.service.payments import payment_reports
from bot.service.payments.payment_reports import LetterReport
from bot.service.requests.request import SellerProfile
from tests.support.mail import (
    LETTER_REPORT,
    PAY,
    SENDER,
    WEBHOOK_REPORT,
    composed_letter,
    letter,
    parse_letter,
    seller_letter,
)

WHY = (
    "You're getting this email because a payment link sends its payment notifications to this"
    " address."
)
HOSTILE = [
    "Coffee\r\nBcc: thief@example.org",
    "Coffee\n\n<script>alert(1)</script>",
    "\u202eeffoC\u202c \u2066isolated",
    "</td></table><img src=https://thief.example/x.png>",
    "{{ 7 * 7 }} {% raw %}",
    "Kaffee für 日本 ☕ 👩‍👩‍👧",
    "=?utf-8?q?Not_what_it_says?=",
    "=?utf-8?q?=0D=0A=0D=0A<h1>Pay_here</h1>?=",
    "=?utf-8?q?=0D=0AFrom_:_ceo@bank.org=0D=0ATo:_you?= now",
    "=?utf-8?q?=0D=0ABcc:_x@y?=",
    "Kaffee ☕ =?utf-8?b?DQpCY2M6IHhAeQ==?=",
    "=?unicode_escape?q?=5Cud800?=",
    "=?utf-7?q?+2AA-?=",
    "=?utf-8?q?=00?=",
    "=?utf-8?q?a?= =?utf-8?q?b?=",
    "=?utf-8*en?q?a?==?x?b?!?=",
    "=?" * 40,
    "a =?\u202eutf-8?q?=0D=0A?=",
    "\ud800 alone",
    "a" * 100,
    "é" * 100,
    ".\r\n.\r\nQUIT",
]
SHORT = replace(LETTER_REPORT, underpaid=True, paid_amount=300, paid_currency="USD")
STOP = "Stop these emails: https://pay.example.org/email/stop/stop-7"


HEADERS = [
    *("Subject", "From", "To", "Date", "Message-ID", "Auto-Submitted"),
    *("List-Unsubscribe", "List-Unsubscribe-Post", "MIME-Version", "Content-Type"),
]
ENCODED = st.builds(
    "=?{}?{}?{}?=".format,
    st.sampled_from(["utf-8", "us-ascii", "utf-7", "utf-16", "unicode_escape", "idna", "x", ""]),
    st.sampled_from("qQbBx"),
    st.sampled_from(
        ["=0D=0A", "=0D=0ABcc:_x@y", "=0D=0A=0D=0A<p>", "DQpCY2M6IHhAeQ==", "=00", "=5Cud800", ""]
    ),
)
"""Words of RFC 2047, with what nobody may smuggle into a header."""


def text(message: EmailMessage) -> str:
    part = message.get_body(("plain",))
    assert part
    return str(part.get_content())


def html(message: EmailMessage) -> str:
    part = message.get_body(("html",))
    assert part
    return str(part.get_content())


class Page(HTMLParser):
    """The tags, addresses and words of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        known = dict(attrs)
        self.addresses += [known[name] or "" for name in ("src", "href") if name in known]

    def handle_data(self, data: str) -> None:
        self.words += data.split()


def test_the_letter_of_a_payment() -> None:
    message = letter(user_data={"email": "pat@example.org", "phoneNumber": "+442079460958"})
    assert message["subject"] == "$5.00 for Coffee"
    assert (message["from"], message["to"]) == (SENDER, "seller@example.org")
    assert message["date"] == "Mon, 21 Sep 2026 14:13:20 +0000"
    assert message["message-id"] == "<mail-7@pay.example.org>"
    assert message["auto-submitted"] == "auto-generated"
    assert message["list-unsubscribe"] == f"<{PAY}/email/stop/stop-7>"
    assert message["list-unsubscribe-post"] == "List-Unsubscribe=One-Click"
    assert message.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    assert text(message).splitlines() == [
        "$5.00 received",
        "",
        "For: Coffee",
        "Date: September 21, 2026, 2:13\u202fPM UTC",
        "Email address: pat@example.org",
        "Phone number: +442079460958",
        "Transaction number: a1b2c3",
        "Payment link: 0123456789abcdef01234567",
        "",
        "View receipt: https://pay.example.org/pay/0123456789abcdef01234567/receipt/a1b2c3",
        "",
        "-- ",
        WHY,
        STOP,
    ]


def test_text_and_html_say_the_same() -> None:
    message = letter(remaining_units=7, paid_amount=5_000_000, paid_currency="BSV")
    told = text(message).replace(": ", " ").split()
    shown = Page(html(message)).words
    assert {"7", "0.05", "a1b2c3"} <= {*told}
    links = {f"{PAY}/pay/{LETTER_REPORT.request_id}/receipt/a1b2c3", f"{PAY}/email/stop/stop-7"}
    assert {*told} - {*shown} == {"--", *links}


@pytest.mark.parametrize(
    ("left", "reserved", "line"),
    [
        (7, 0, "Left: 7"),
        (0, 0, "Left: 0, sold out"),
        (0, None, "Left: 0, sold out"),
        (1200, None, "Left: 1,200"),
        (0, 1, "Left: 0, plus 1 being paid for right now"),
        (0, 2, "Left: 0, plus 2 being paid for right now"),
        (3, 1200, "Left: 3, plus 1,200 being paid for right now"),
    ],
)
def test_a_letter_has_the_remaining_units_of_a_drop(
    left: int, reserved: int | None, line: str
) -> None:
    """A drop with reserved units is not sold out."""
    told = letter(remaining_units=left, reserved_units=reserved)
    assert line in text(told).splitlines()
    assert line.partition(": ")[2].split()[-1] in Page(html(told)).words
    if reserved is None:
        assert line in text(letter(remaining_units=left)).splitlines()


def test_a_letter_has_the_amount_paid_in_another_currency() -> None:
    assert "Paid as" not in text(letter(paid_amount=None, paid_currency=None))
    paid = text(letter(paid_amount=7_654_321, paid_currency="BSV"))
    assert "Paid as: 0.07654321\u00a0BSV" in paid.splitlines()


def test_a_letter_about_an_oversold_payment_asks_to_pay_it_back() -> None:
    message = letter(oversold=True, remaining_units=0)
    assert message["subject"] == "$5.00 for Coffee: please refund"
    warning = "This payment arrived when you didn't have enough left. Please refund the payer."
    assert warning in text(message)
    assert escape(warning) in html(message)
    assert "enough left" not in text(letter()) + html(letter())


def test_a_letter_about_too_little_money_says_how_much_came() -> None:
    message = letter(underpaid=True, paid_amount=300, paid_currency="USD")
    assert message["subject"] == "Coffee: only $3.00 of $5.00 received"
    assert "Only $3.00 of $5.00 received" in text(message).splitlines()
    warning = (
        "That's less than the price, so it doesn't count as a sale. Please send it back, and ask"
        " the payer for the full amount."
    )
    assert warning in text(message)
    assert "View receipt" not in text(message) + html(message)


def several(*reports: LetterReport) -> EmailMessage:
    target = LetterTarget("mail-7", LETTER_REPORT.address, "stop-7")
    message = payment_letter(reports, target, LetterOrigin(SENDER, PAY))
    return parse_letter(message.as_bytes(policy=SMTP))


def test_too_little_money_that_became_a_sale_is_not_to_be_sent_back() -> None:
    """Both are one payment: whoever reads of it once doesn't refund it."""
    assert text(several(SHORT, LETTER_REPORT)) == text(several(LETTER_REPORT))


def test_too_little_money_that_was_raised_is_told_once() -> None:
    raised = replace(SHORT, paid_amount=400)
    assert text(several(SHORT, raised)) == text(several(raised))


def test_too_little_money_is_not_in_the_total_of_a_letter() -> None:
    said = text(several(LETTER_REPORT, replace(SHORT, transaction_id="another")))
    assert "Total: $5.00" in said
    assert "only $3.00 of $5.00 · Coffee" in said
    assert "One payment was less than the price, so it doesn't count as a sale." in said


def test_the_same_payment_is_the_same_letter() -> None:
    """Mail programs recognize a letter sent twice by its Message-ID."""
    first, second = letter(), letter()
    assert first.items()[:6] == second.items()[:6]
    assert (text(first), html(first)) == (text(second), html(second))


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://pay.example.org:8443/shop", "pay.example.org"),
        ("https://bücher.example", "xn--bcher-kva.example"),
        ("http://127.0.0.1:8080", "example.org"),
        ("http://[::1]:8080", "example.org"),
        ("http://localhost:8080", "example.org"),
    ],
)
def test_the_message_id_has_a_domain_that_is_unique(url: str, origin: str) -> None:
    assert letter(url=url)["message-id"] == f"<mail-7@{origin}>"


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_name_cannot_break_the_letter(name: str) -> None:
    message = letter(product=name, user_data={"paymail": name})
    plain = letter()
    assert message.keys() == plain.keys()
    assert not message.defects
    assert message["to"] == "seller@example.org"
    assert not re.search("[\u202a-\u202e\u2066-\u2069\r\n]", message["subject"])
    assert len(text(message).splitlines()) == len(text(plain).splitlines()) + 1
    shown, usual = Page(html(message)), Page(html(plain))
    assert shown.addresses == usual.addresses
    assert set(shown.tags) == set(usual.tags)


def written(sender: str = SENDER, **changes: Any) -> tuple[list[str], dict[str, str]]:
    """Return the headers as a server gets them: their names in order, and their values by name."""
    raw = composed_letter(sender, **changes).as_bytes(policy=SMTP)
    lines = raw.partition(b"\r\n\r\n")[0].decode("ascii").replace("\r\n ", " ").split("\r\n")
    assert not re.search(r"[\r\n\0]", "".join(lines))
    told = dict(line.split(": ", 1) for line in lines)
    assert len(told) == len(lines)
    return [line.split(":", 1)[0] for line in lines], told


@given(
    st.lists(ENCODED | st.text(max_size=20) | st.sampled_from(HOSTILE), max_size=5).map(" ".join)
)
@example("=?utf-8?q?=0D=0A=0D=0A<h1>Pay_here</h1>?=")
@example("=?utf-8?q?=0D=0AFrom_:_ceo@bank.org=0D=0A?=")
@example("=?utf-8?q?=0D=0ABcc:_x@y?=")
def test_a_products_name_cannot_write_headers(name: str) -> None:
    """Also a name of encoded words, which mail programs would decode."""
    names, told = written(product=name)
    assert names == HEADERS
    kept = _line(name)
    subject = f"$5.00 for {kept}".rstrip()
    message = letter(product=name)
    assert str(make_header(decode_header(told["Subject"]))).rstrip() == subject
    assert (message["subject"].rstrip(), message.defects) == (subject, [])
    assert len([*message.iter_parts()]) == 2


@pytest.mark.parametrize(
    "name",
    [
        "=?utf-8?q?=0D=0ABcc:_x@y?=",
        "A, B =?utf-8?q?=0D=0A=0D=0AHi?=",
        "=?unicode_escape?q?=5Cud800?=",
        'Ça "va" =?utf-8?q?=00?=',
        "Bücher, Tee",
        "Tea & more " * 9,
    ],
)
def test_the_senders_name_cannot_write_headers(name: str) -> None:
    names, told = written(f"{name} <shop@example.org>")
    assert names == HEADERS
    assert str(make_header(decode_header(told["From"]))) == f"{name.strip()} <shop@example.org>"
    (address,) = letter(f"{name} <shop@example.org>")["from"].addresses
    assert (address.display_name, address.addr_spec) == (name.strip(), "shop@example.org")


@pytest.mark.parametrize("end", "\r\n\0")
def test_no_header_has_a_line_end(end: str) -> None:
    make_header = encoded_headers().header_factory
    with pytest.raises(ValueError, match="would end its header"):
        make_header("Subject", f"a{end}b")
    with pytest.raises(ValueError, match=r"would end its header|CR or LF"):
        make_header("From", encode_mailbox(Address(f"a{end}b", "a", "example.org"), "From"))


def test_a_letter_that_cannot_be_written_is_refused_for_good() -> None:
    """The attempt is stored; another one would fail again."""
    with pytest.raises(MailRefused, match=r"can't be written \(ValueError\)") as caught:
        letter(completed_at=10**18)
    assert caught.value.final


@given(st.text(max_size=100))
@example("0𐀀𐀀𐀀𐀀𐀀𐀀𐀀𐀀 ¡ ¡")  # a space that Python's own subjects lose
def test_any_name_arrives_unchanged(name: str) -> None:
    message = letter(product=name)
    kept = text(message).split("For: ")[-1].splitlines()[0] if "For: " in text(message) else ""
    assert message["subject"].split() == f"$5.00 for {kept}".split()
    assert not message.defects


def test_the_letter_is_seven_bits_and_in_short_lines() -> None:
    """Every server takes that as it is (RFC 5321 section 4.5.3.1.6)."""
    raw = composed_letter(product="日本" * 50).as_bytes(policy=SMTP)
    assert raw.isascii()
    assert max(map(len, raw.split(b"\r\n"))) <= 100


def test_a_letter_is_headed_by_who_is_paid_in_their_colour() -> None:
    """A picture would tell its server when the letter is opened."""
    anna = seller_letter(
        SellerProfile("Anna's Bakery", "https://i.example/a.png", "@anna_bakes", accent="teal")
    )
    assert text(anna).splitlines()[:3] == ["Anna's Bakery", "", "$5.00 received"]
    page = html(anna)
    assert {"AB", "Anna's", "Bakery"} <= {*Page(page).words}
    assert {COLOURS["teal"].light, COLOURS["teal"].dark} <= {*re.findall("#[0-9a-f]{6}", page)}
    assert not [one for one in ("a.png", "anna_bakes") if one in page + text(anna)]
    plain = html(seller_letter(None))
    assert COLOURS[DEFAULT_COLOUR].light in plain
    assert text(seller_letter(None)) == text(letter())


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_sellers_name_cannot_break_the_letter(name: str) -> None:
    message, plain = seller_letter(SellerProfile(name)), seller_letter(SellerProfile("Anna"))
    assert message.items()[:-1] == plain.items()[:-1]  # the last has a random boundary
    assert not message.defects
    assert len(text(message).splitlines()) == len(text(plain).splitlines())
    assert Page(html(message)).tags == Page(html(plain)).tags
    assert Page(html(message)).addresses == Page(html(plain)).addresses


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    page = Page(html(letter(oversold=True)))
    receipt, stop = (
        f"{PAY}/pay/{LETTER_REPORT.request_id}/receipt/a1b2c3",
        f"{PAY}/email/stop/stop-7",
    )
    assert page.addresses == [receipt, stop]
    assert not {"script", "img", "link", "iframe", "form"} & set(page.tags)
    assert "url(" not in html(letter())


def test_the_words_of_a_payer_are_told_and_do_nothing() -> None:
    """No mail program makes a link of them: an invisible mark stands within."""
    joined = "\u2060"
    message = letter(name="Mia", message="See https://evil.example\nor mail x@evil.example")
    rows = text(message).splitlines()
    assert "From: Mia" in rows
    (told,) = (row for row in rows if row.startswith("Message: "))
    assert "evil.example" not in told
    assert told.replace(joined, "") == "Message: See https://evil.example or mail x@evil.example"
    assert [one for one in Page(html(message)).addresses if "evil" in one] == []


JOINER = "\N{WORD JOINER}"
ADDRESSES = [
    "https://thief.example/pay",
    "thief.example",
    "write to ceo@bank.example now",
    "www.bank.example:8080/login",
    "bank。example",
    "javascript:alert(1)",
]


def test_a_letter_has_the_units_and_the_payer_s_words() -> None:
    lines = text(
        letter(amount=1500, quantity=3, name="Mia", message="For the drums!\nAnd more")
    ).splitlines()
    assert lines[0] == "$15.00 received"
    for line in ("Quantity: 3", "From: Mia", "Message: For the drums! And more"):
        assert line in lines


def test_a_letter_of_one_unit_without_words_says_nothing_of_them() -> None:
    for label in ("Quantity", "From", "Message", "code"):
        assert label not in text(letter())


@pytest.mark.parametrize("written", ADDRESSES)
def test_no_mail_program_finds_an_address_in_a_payer_s_words(written: str) -> None:
    for field in ("name", "message"):
        shown = text(letter(**{field: written}))
        assert written not in shown
        assert written in shown.replace(JOINER, "")
        assert written not in html(letter(**{field: written}))


@given(st.text(max_size=280))
def test_a_payer_s_words_add_no_line_and_no_mark_up(written: str) -> None:
    words = {"name": written, "message": written}
    extra = len(text(letter(**words)).splitlines()) - len(text(letter()).splitlines())
    assert extra in {0, 2}
    assert html(letter(**words)).count("<a ") == html(letter()).count("<a ")


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        (
            {"remaining_units": 0},
            "This payment arrived when you didn't have enough left. Please refund the payer.",
        ),
        (
            {"remaining_units": 2, "quantity": 3},
            "This payment was for 3 items, but only 2 were left. Please refund the payer.",
        ),
        (
            {"remaining_units": 1, "quantity": 3},
            "This payment was for 3 items, but only 1 was left. Please refund the payer.",
        ),
    ],
)
def test_a_letter_says_why_an_order_was_oversold(changes: dict[str, Any], warning: str) -> None:
    assert warning in text(letter(oversold=True, **changes)).splitlines()


@pytest.mark.parametrize(
    ("count", "line"),
    [
        (1, "One item you've sold still needs a code. Please add one."),
        (1200, "1,200 items you've sold still need codes. Please add more."),
    ],
)
def test_a_letter_asks_for_the_codes_that_lack(count: int, line: str) -> None:
    assert line in text(letter(codes_waiting=count)).splitlines()


def test_a_summary_has_orders_on_one_line_and_asks_once_for_codes() -> None:
    first = replace(LETTER_REPORT, codes_waiting=5)
    second = replace(
        LETTER_REPORT, transaction_id="d4", amount=1500, quantity=3, name="Mia",
        message="see x.example", codes_waiting=8,
    )  # fmt: skip
    told = text(several(first, second))
    assert f"$15.00 · 3 × Coffee · Mia · see x.{JOINER}example" in told
    waiting = "8 items you've sold still need codes. Please add more."
    assert waiting in told.splitlines()


def event(**changes: Any) -> dict[str, Any]:
    report = replace(WEBHOOK_REPORT, transaction_id="0" * 24, **changes)
    body: dict[str, Any] = exact_json.loads(payment_reports.event(report).json_text())
    WebhookEvent.model_validate(body)
    return body


def test_a_webhook_has_the_order_only_where_it_says_something() -> None:
    plain = event()
    assert not {"quantity", "name", "message", "codesWaiting"} & plain.keys()
    order = {"quantity": 3, "name": "Mia", "message": "Hi!\nBye"}
    assert event(**order, codes_waiting=2) == plain | order | {"codesWaiting": 2}
