"""A payment as a letter: what it says, and that nobody's words can make it say more."""

from __future__ import annotations

import re
from email.policy import SMTP
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.core.errors import ConfigProblem, MailRefused
from bot.core.smtp import SmtpServer, ascii_address, parse_sender, passwords
from bot.service.mail import compose, parse_server
from tests.mailing import BODY, SENDER, parsed

if TYPE_CHECKING:
    from email.message import EmailMessage

PAY = "https://pay.example.org"
WHY = "This e-mail was sent because the payment request names this address to be told of payments."
HOSTILE = [
    "Coffee\r\nBcc: thief@example.org",
    "Coffee\n\n<script>alert(1)</script>",
    "\u202eeffoC\u202c \u2066isolated",
    "</td></table><img src=https://thief.example/x.png>",
    "{{ 7 * 7 }} {% raw %}",
    "Kaffee für 日本 ☕ 👩‍👩‍👧",
    "=?utf-8?q?Not_what_it_says?=",
    "\ud800 alone",
    "a" * 100,
    "é" * 100,
    ".\r\n.\r\nQUIT",
]


def letter(sender: str = SENDER, url: str = PAY, **changes: Any) -> EmailMessage:
    """The letter as it arrives: written, sent over the wire, read."""
    return parsed(compose({**BODY, **changes}, "mail-7", sender, url).as_bytes(policy=SMTP))


def text(message: EmailMessage) -> str:
    part = message.get_body(("plain",))
    assert part
    return str(part.get_content())


def html(message: EmailMessage) -> str:
    part = message.get_body(("html",))
    assert part
    return str(part.get_content())


class Page(HTMLParser):
    """What of a page would be loaded, run or shown."""

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
    message = letter(userData={"email": "pat@example.org", "phoneNumber": "+442079460958"})
    assert message["subject"] == "$5.00 for Coffee"
    assert (message["from"], message["to"]) == (SENDER, "seller@example.org")
    assert message["date"] == "Mon, 21 Sep 2026 14:13:20 +0000"
    assert message["message-id"] == "<mail-7@pay.example.org>"
    assert message["auto-submitted"] == "auto-generated"
    assert message.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    assert text(message).splitlines() == [
        "$5.00 received",
        "",
        "For: Coffee",
        "When: September 21, 2026, 2:13:20\u202fPM UTC",
        "E-mail address: pat@example.org",
        "Phone number: +442079460958",
        "Transaction: a1b2c3",
        "Payment request: 0123456789abcdef01234567",
        "",
        "Open the receipt: https://pay.example.org/pay/0123456789abcdef01234567/receipt/a1b2c3",
        "",
        "-- ",
        WHY,
    ]


def test_text_and_html_say_the_same() -> None:
    message = letter(remainingUnits=7, paidAmount=5_000_000, paidCurrency="BSV")
    told = text(message).replace(": ", " ").split()
    shown = Page(html(message)).words
    assert {"7", "0.05", "a1b2c3"} <= {*told}
    assert {*told} - {*shown} == {"--", f"{PAY}/pay/{BODY['requestId']}/receipt/a1b2c3"}


@pytest.mark.parametrize(
    ("left", "line"), [(7, "Left: 7"), (0, "Left: None: sold out"), (1200, "Left: 1,200")]
)
def test_what_is_left_of_a_drop_is_told(left: int, line: str) -> None:
    assert line in text(letter(remainingUnits=left)).splitlines()


def test_what_the_payer_paid_is_told_where_it_was_another_currency() -> None:
    assert "Paid as" not in text(letter(paidAmount=None, paidCurrency=None))
    paid = text(letter(paidAmount=7_654_321, paidCurrency="BSV"))
    assert "Paid as: 0.07654321\u00a0BSV" in paid.splitlines()


def test_a_payment_that_came_too_late_is_said_to_be_owed_back() -> None:
    message = letter(oversold=True, remainingUnits=0)
    assert message["subject"] == "$5.00 for Coffee: to be paid back"
    warning = "This payment came when no unit was left. The money is owed back to the payer:"
    assert warning in text(message)
    assert warning in html(message)
    assert warning not in text(letter()) + html(letter())


def test_the_same_payment_is_the_same_letter() -> None:
    """So that a letter sent twice, its first answer lost, is known again by its Message-ID."""
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
def test_the_message_id_is_of_a_name_that_is_ours_alone(url: str, origin: str) -> None:
    assert letter(url=url)["message-id"] == f"<mail-7@{origin}>"


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_name_cannot_break_the_letter(name: str) -> None:
    message = letter(product=name, userData={"paymail": name})
    plain = letter()
    assert message.keys() == plain.keys()
    assert not message.defects
    assert message["to"] == "seller@example.org"
    assert not re.search("[\u202a-\u202e\u2066-\u2069\r\n]", message["subject"])
    assert len(text(message).splitlines()) == len(text(plain).splitlines()) + 1
    shown, usual = Page(html(message)), Page(html(plain))
    assert shown.addresses == usual.addresses
    assert set(shown.tags) == set(usual.tags)


@given(st.text(max_size=100))
@example("0𐀀𐀀𐀀𐀀𐀀𐀀𐀀𐀀 ¡ ¡")  # a space that Python's own subjects lose
@settings(max_examples=100, deadline=None)
def test_any_name_comes_through_the_headers(name: str) -> None:
    message = letter(product=name)
    kept = text(message).split("For: ")[-1].splitlines()[0] if "For: " in text(message) else ""
    assert message["subject"].split() == f"$5.00 for {kept}".split()
    assert not message.defects


def test_the_letter_is_seven_bits_and_in_short_lines() -> None:
    """Every server takes that as it is (RFC 5321 section 4.5.3.1.6)."""
    raw = compose({**BODY, "product": "日本" * 50}, "mail-7", SENDER, PAY).as_bytes(policy=SMTP)
    assert raw.isascii()
    assert max(map(len, raw.split(b"\r\n"))) <= 100


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    page = Page(html(letter(oversold=True)))
    assert page.addresses == [f"{PAY}/pay/{BODY['requestId']}/receipt/a1b2c3"]
    assert not {"script", "img", "link", "iframe", "form"} & set(page.tags)
    assert "url(" not in html(letter())


@pytest.mark.parametrize(
    "address",
    ["", "seller", "a@b@c.example", "a@example.org, b@example.org", "a b@example.org", "a@-x.org",
     "<a@example.org>", "a@example.org\r\nBcc: b@example.org", "sellér@example.org",
     "a@[127.0.0.1]", "a@127.0.0.1", ".a@example.org", "a..b@example.org", '"a"@b.example',
     f"{'a' * 65}@example.org", f"a@{'b.' * 130}example"],
)  # fmt: skip
def test_what_is_no_address_is_refused_for_good(address: str) -> None:
    with pytest.raises(MailRefused) as caught:
        compose({**BODY, "address": address}, "mail-7", SENDER, PAY)
    assert (caught.value.final, caught.value.code) == (True, None)


@pytest.mark.parametrize(
    ("address", "sent"),
    [
        ("a.b+c@example.org", "a.b+c@example.org"),
        ("O'Hara@Example.ORG", "O'Hara@Example.ORG"),
        ("a@münchen.example", "a@xn--mnchen-3ya.example"),
        ("root@localhost", "root@localhost"),
    ],
)
def test_an_address_is_sent_as_mail_servers_know_it(address: str, sent: str) -> None:
    assert letter(address=address)["to"] == ascii_address(address) == sent


@pytest.mark.parametrize(
    ("text", "name", "address"),
    [
        ("shop@example.org", "", "shop@example.org"),
        (" Our shop <shop@example.org> ", "Our shop", "shop@example.org"),
        ('"Shop, Inc." <shop@example.org>', "Shop, Inc.", "shop@example.org"),
        ("Bücher <a@bücher.example>", "Bücher", "a@xn--bcher-kva.example"),
        ("<shop@example.org>", "", "shop@example.org"),
    ],
)
def test_a_sender_is_an_address_with_or_without_a_name(text: str, name: str, address: str) -> None:
    sender = parse_sender(text)
    assert (sender.display_name, sender.addr_spec) == (name, address)
    assert letter(sender=text)["from"].addresses == (sender,)


@pytest.mark.parametrize(
    "text",
    ["", "shop", "Shop", "a@b.example, c@d.example", "A\nB <a@b.example>", "A <a@b", "a b@c.d"],
)
def test_what_is_no_sender_is_told(text: str) -> None:
    with pytest.raises(ConfigProblem, match="write an address such as"):
        parse_sender(text)


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example.org", SmtpServer("mail.example.org", 587, tls=False, near=False)),
        ("smtps://mail.example.org/", SmtpServer("mail.example.org", 465, tls=True, near=False)),
        ("smtp://localhost:25", SmtpServer("localhost", 25, tls=False, near=True)),
        ("smtp://127.0.0.2:25", SmtpServer("127.0.0.2", 25, tls=False, near=True)),
        ("smtp://[::1]:25", SmtpServer("::1", 25, tls=False, near=True)),
        ("smtp://10.0.0.1:25", SmtpServer("10.0.0.1", 25, tls=False, near=False)),
        ("smtp://localhost.example", SmtpServer("localhost.example", 587, tls=False, near=False)),
        (
            "smtp://me%40shop:p%C3%A4ss%2F%3A@bücher.example:2525",
            SmtpServer(
                "xn--bcher-kva.example", 2525,
                tls=False, near=False, user="me@shop", password="päss/:",
            ),
        ),
    ],
)  # fmt: skip
def test_the_server_is_read_from_its_address(url: str, server: SmtpServer) -> None:
    assert parse_server(url) == server
    assert "päss" not in repr(parse_server(url))


@pytest.mark.parametrize(
    "url",
    ["", "mail.example.org", "http://mail.example.org", "smtp://", "smtp://:25", "smtp://mail:0",
     "smtp://mail:70000", "smtp://mail:x", "smtp://a b", "smtp://mail\n", "smtp://mail/box",
     "smtp://mail?x=1", "smtp://mail#x", "smtp://u:se/same@mail", "smtp://u:%ff@mail", "smtp://-x",
     "smtp://u:a%00b@mail", "smtp://user@mail", "smtp://:sesame@mail", "smtp://user:@mail",
     "smtp://[::1", "smtp://127.0.0.1.5"],
)  # fmt: skip
def test_what_is_no_server_is_told_without_repeating_it(url: str) -> None:
    with pytest.raises(ConfigProblem) as caught:
        parse_server(url)
    assert "sesame" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_password_is_known_in_every_spelling() -> None:
    assert passwords("smtp://mail") == []
    assert passwords("smtp://u:sesame@mail") == ["sesame"]
    assert passwords("smtp://u:open%2Fsesame@mail") == ["open%2Fsesame", "open/sesame"]
