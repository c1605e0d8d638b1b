"""One rule of email addresses: pay page, interface, chat, contacts, sender and mailer agree."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import TypeAdapter, ValidationError

from bot.chat.forms.seller_texts import read_contact
from bot.chat.forms.typed_text import read_email
from bot.core.errors import ConfigProblem, MailRefused
from bot.core.net.mail import parse_sender
from bot.core.text.contacts import ascii_address, check_contact
from bot.interface.fields import Email
from bot.service.checkouts.order import check_payer_data
from tests.support.mail import letter

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
