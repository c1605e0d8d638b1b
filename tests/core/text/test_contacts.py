"""Contacts: email addresses, phone numbers, links and @usernames, however typed."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import TypeAdapter, ValidationError

from bot.chat.forms.seller_texts import read_contact
from bot.chat.forms.typed_text import read_email
from bot.core import erasure
from bot.core.errors import ConfigProblem, MailRefused
from bot.core.net.mail import parse_sender
from bot.core.text import contacts
from bot.core.text.contacts import ascii_address, check_contact, contact_link, contact_text
from bot.interface.fields import Email
from bot.service.checkouts import order
from bot.service.checkouts.order import check_payer_data
from tests.support.mail import letter


@pytest.mark.parametrize(
    ("contact", "link", "shown"),
    [
        ("@anna_shop", "https://t.me/anna_shop", "@anna_shop"),
        ("help@example.org", "mailto:help@example.org", "help@example.org"),
        ("o'h+x@mail.example", "mailto:o'h+x@mail.example", "o'h+x@mail.example"),
        ("ich@münchen.example", "mailto:ich@xn--mnchen-3ya.example", "ich@münchen.example"),
        ("https://example.org/", "https://example.org/", "example.org"),
        ("HTTP://example.org/help?a=1", "HTTP://example.org/help?a=1", "example.org/help?a=1"),
        ("http://[2001:db8::1]/", "http://[2001:db8::1]/", "[2001:db8::1]"),
        (
            "https://\u0440aypal.example:8443/\u0430",
            "https://\u0440aypal.example:8443/\u0430",
            "xn--aypal-uye.example:8443/\u0430",
        ),
        (
            "ich@\u0440aypal.example",
            "mailto:ich@xn--aypal-uye.example",
            "ich@xn--aypal-uye.example",
        ),
        ("https://пример.example", "https://пример.example", "пример.example"),
    ],
)
def test_a_contact_is_kept_as_typed_and_opens_a_link(contact: str, link: str, shown: str) -> None:
    assert check_contact(contact) == contact
    assert (contact_link(contact), contact_text(contact)) == (link, shown)


@pytest.mark.parametrize(
    ("contact", "link"),
    [
        ("a?bcc=b@example.org", "mailto:a%3Fbcc%3Db@example.org"),
        ("a&b%0a@example.org", "mailto:a%26b%250a@example.org"),
        ("a/b#c@example.org", "mailto:a%2Fb%23c@example.org"),
    ],
)
def test_an_address_adds_no_field_to_the_letter(contact: str, link: str) -> None:
    """RFC 6068 section 2: a browser would read the rest as recipients, subject or text."""
    assert contact_link(check_contact(contact)) == link


@pytest.mark.parametrize(
    "typed",
    ["", "@", "@bob", "@anna-shop", f"@a{'b' * 32}", "anna", "example.org", "+49 30 1", "a b@c.org",
     "a@b@c.example", "a@127.0.0.1", f"{'a' * 65}@example.org", f"a@{'b.' * 130}example",
     "a@-x.org", "<a@example.org>", "a@example.org\nb", " a@example.org", "mailto:a@example.org",
     "javascript:alert(1)//example.org", "tg://resolve?domain=anna",
     f"https://example.org/{'a' * 254}"],
)  # fmt: skip
def test_anything_else_is_refused_with_what_it_must_be(typed: str) -> None:
    with pytest.raises(ValueError, match=r"^must be an @username of Telegram"):
        check_contact(typed)


@pytest.mark.parametrize("typed", ["https://", "https://a b.org", "https://user@example.org"])
def test_a_link_that_leads_nowhere_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match=r"is no|has no|may not"):
        check_contact(typed)


# One rule for phone numbers: `erase` finds any that the pay page accepts, however typed.


NUMBERS = ["+44 20 7946 0958", "(020) 7946-0958", "1234567", "123456789012345", "+49.30/901820"]
OTHERS = ["123456", "1234567890123456", "44+2079460958", "020 7946 0958 x1", ""]
OTHERS += ["+49 170 1234567\u00b2", "+49 170 123456\u2460"]  # the mark of a footnote is no digit

DIALLED = [
    ("\u202a+49 170 1234567\u202c", "+491701234567"),
    ("\u200e+49\u00a0170\u202f123\u20114567\u200f", "+491701234567"),
    ("+49 170 – 1234567", "+491701234567"),
    ("\u2066+44 \u2212 20\u2012794\u20140958\u2069", "+44207940958"),
    ("\uff0b\uff14\uff19\uff08\uff10\uff09\uff11\uff17\uff10 1234567", "+491701234567"),
    ("\uff10\uff13\u30fc1234\u30fc5678", "0312345678"),
    ("+966 \u0665\u0660 \u0661\u0662\u0663 \u0664\u0665\u0666\u0667", "+966501234567"),
    ("\u0968\u0967\u0966\u0969\u0967\u0966\u0967\u0966", "21031010"),
    ("tel:+49-170-1234567", "+491701234567"),
    ("Tel.: 0170/123 45 67", "01701234567"),
    ("+49 (0)170 1234567", "+491701234567"),
    ("+49(0) 170 1234567", "+491701234567"),
    ("(+49) [0] 170.1234567", "+491701234567"),
    ("0049 (0)170 1234567", "00491701234567"),
    ("49 (0)170 1234567", "+491701234567"),
    ("+39 06 1234567", "+39061234567"),
    ("+39 (06) 1234567", "+39061234567"),
    ("+39 (0)6 1234567", "+39061234567"),
    ("+49 0170 1234567", "+4901701234567"),
    ("(0)170 1234567", "01701234567"),
    ("+1 (555) 010-9999", "+15550109999"),
    ("+49\u2022170\u00b7123\u2027456\uff657", "+491701234567"),
]


@pytest.mark.parametrize(("text", "number"), DIALLED)
def test_a_pasted_number_is_stored_as_it_is_dialled(text: str, number: str) -> None:
    """Contact lists add marks, dashes and spaces; a zero in brackets is for callers at home."""
    data, wrong = order.check_payer_data(["phoneNumber"], {"phoneNumber": text})
    assert (data, wrong) == ({"phoneNumber": number}, ())
    assert erasure.match_key(text) == erasure.match_key(number)


@pytest.mark.parametrize("text", NUMBERS)
def test_a_phone_number_is_accepted_and_found(text: str) -> None:
    data, wrong = order.check_payer_data(["phoneNumber"], {"phoneNumber": text})
    assert wrong == ()
    assert (
        erasure.match_key(text)
        == erasure.match_key(data["phoneNumber"])
        == contacts.phone_digits(text)
    )


@pytest.mark.parametrize("text", OTHERS)
def test_other_text_is_refused_and_searched_as_a_word(text: str) -> None:
    assert contacts.phone_digits(text) is None
    assert order.check_payer_data(["phoneNumber"], {"phoneNumber": text}) == (
        {},
        ("phoneNumber",),
    )
    assert erasure.match_key(text) == text


# One rule of email addresses: pay page, interface, chat, contacts, sender and mailer agree.


SENT = {
    "anna@example.org": "anna@example.org",
    "anna@münchen.de": "anna@xn--mnchen-3ya.de",
    "anna@xn--mnchen-3ya.de": "anna@xn--mnchen-3ya.de",
    "anna@faß.de": "anna@xn--fa-hia.de",
    "info@例え.jp": "info@xn--r8jz45g.jp",
    "O'Hara+x.y@Mail.Example": "O'Hara+x.y@mail.example",
    f"{'a' * 64}@{'b' * 60}.{'c' * 60}.example": f"{'a' * 64}@{'b' * 60}.{'c' * 60}.example",
}
"""Valid addresses, and how they are sent."""

REFUSED = [
    "anna", "anna@", "@example.org", "anna@example", "anna@localhost", "anna@127.0.0.1",
    "anna@[127.0.0.1]", "anna@1.2", "anna@12345", "an..na@example.org", ".anna@example.org",
    "anna.@example.org", "anna@example..org", "anna@-example.org", "anna@example.org.",
    "sellér@example.org", "a b@example.org", "a@b@example.org", "=?utf-8?q?a?=@example.org",
    "anna@printer.local", "anna@shop.invalid", "anna@shop.test", '"anna"@example.org',
    f"{'a' * 65}@example.org", f"anna@{'b.' * 130}example", "Anna <anna@example.org>",
    "", "anna@example.org, ben@example.org", "anna@example.org\r\nBcc: ben@example.org",
    "anna=?b@example.org", "anna@xn--zz--.example", "anna@xn--a.example",
    "anna@foo-.bücher.example",
]  # fmt: skip
"""Addresses that get no letter."""

PASTED = [
    "\u200eanna@example.org\u200f",
    " anna@example.org\u00a0",
    "\ufeffan\u200bna@example.org",
    "\uff41nna\uff20example\uff0eorg",
    "mailto:anna@example.org",
    "MAILTO: anna@example.org",
]
"""What people type and paste for `anna@example.org`."""


@pytest.mark.parametrize(("address", "sent"), SENT.items())
def test_a_valid_address_is_taken_everywhere(address: str, sent: str) -> None:
    assert ascii_address(address) == letter(address=address)["to"] == sent
    assert check_payer_data(["email"], {"email": address}) == ({"email": sent}, ())
    assert check_payer_data(["paymail"], {"paymail": address}) == ({"paymail": sent}, ())
    assert TypeAdapter(Email).validate_python(address) == address
    assert read_email(address) == read_contact(address) == check_contact(address) == address
    assert parse_sender(f"Shop <{address}>").addr_spec == sent


@pytest.mark.parametrize("address", REFUSED)
def test_an_invalid_address_is_refused_everywhere(address: str) -> None:
    """None is accepted by one part and dropped by another, so that its letter never comes."""
    assert ascii_address(address) is None
    assert check_payer_data(["email", "paymail"], {"email": address, "paymail": address}) == (
        {},
        ("email", "paymail"),
    )
    assert not isinstance(read_email(address), str)
    assert not isinstance(read_contact(address), str)
    with pytest.raises(ValidationError):
        TypeAdapter(Email).validate_python(address)
    with pytest.raises(MailRefused) as refused:
        letter(address=address)
    assert (refused.value.final, refused.value.code) == (True, None)
    with pytest.raises(ConfigProblem):
        parse_sender(f"Shop <{address}>")


@pytest.mark.parametrize("pasted", PASTED)
def test_what_people_paste_around_an_address_is_dropped(pasted: str) -> None:
    assert check_payer_data(["email"], {"email": pasted}) == ({"email": "anna@example.org"}, ())
    assert read_email(pasted) == read_contact(pasted) == "anna@example.org"


def test_an_address_is_checked_without_asking_a_name_server() -> None:
    """Commands that know no address don't load the rule; nothing loads dnspython."""
    code = (
        "import sys; import bot.config;"
        "from bot.core.text.contacts import ascii_address;"
        "assert 'email_validator' not in sys.modules;"
        "assert ascii_address('anna@example.org');"
        "assert not [name for name in sys.modules if name.split('.')[0] == 'dns']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
