"""What people paste is read as what they mean, at every field that takes a value."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from bot.chat.forms import typed_text
from bot.chat.forms.one_line import read_line
from bot.chat.forms.seller_texts import read_contact
from bot.chat.forms.shares_and_amounts import read_amounts, read_portions
from bot.chat.model.moments import read_clock, read_hours, read_moment
from bot.chat.model.payment import fold_number, fold_reference
from bot.chat.model.zones import read_zone
from bot.core import erasure
from bot.core.money.amounts import find_currency, read_amount
from bot.core.net.webhook_addresses import AllowList
from bot.core.text import sanitize
from bot.core.text.contacts import dialled
from bot.service.checkouts.order import check_payer_data
from bot.service.pages.payer_form import read_order
from bot.service.rails import bank_accounts, lightning
from bot.service.rails.nostr_wallet import parse_connection
from tests.service.pages.test_payer_form import terms as open_terms
from tests.support.form_harness import CONNECTION, IBAN, KEY

NOW = 1_795_348_800_000
WIDE = {ord(char): ord(char) + 0xFEE0 for char in map(chr, range(0x21, 0x7F))} | {0x20: 0x3000}

PASTED: dict[str, Callable[[str], str]] = {
    "marks": lambda text: f"\u202a\u200e{text}\u202c\ufeff",
    "marks inside": lambda text: f"{text[:3]}\u200b\u2060\u00ad{text[3:]}",
    "isolates": lambda text: f" \u2068{text}\u2069\u2028",
    "typesetting": lambda text: text.replace(" ", "\u00a0").replace("-", "\u2011"),
    "dashes": lambda text: text.replace(" ", "\u202f").replace("-", "\u2013"),
    "full width": lambda text: text.translate(WIDE),
}
"""How clipboards, messengers, documents and keyboards of East Asia spell a text."""


def connected(scheme: str, **details: Any) -> Any:
    return bank_accounts.connect({"scheme": scheme, "name": "Anna Ott", **details}).details


def price_in_line(text: str) -> Any:
    line = read_line(text.split(), may_choose=True)
    return line[0] if isinstance(line, tuple) else line


FIELDS: dict[str, tuple[Callable[[str], Any], str]] = {
    "payer's phone": (lambda text: check_payer_data(["phoneNumber"], {"phoneNumber": text}),
                      "+49 (0)170 - 123 45 67"),
    "payer's email": (lambda text: check_payer_data(["email"], {"email": text}),
                      "anna-ott@example.org"),
    "payer's paymail": (lambda text: check_payer_data(["paymail"], {"paymail": text}),
                        "anna@handcash.io"),
    "payer's quantity": (lambda text: read_order(open_terms(max_quantity=30), [],
                                                 {"quantity": text}).quantity, "12"),
    "payer's amount": (lambda text: read_order(open_terms(), [text], {}).chosen, "12.50"),
    "phone": (dialled, "tel:+1-555-010-9999"),
    "amount": (lambda text: read_amount(text, "EUR"), "12.50 EUR"),
    "amounts": (lambda text: read_amounts(text, None), "3-500 EUR"),
    "price in a line": (price_in_line, "3 - 500 EUR Tips"),
    "amounts in a line": (price_in_line, "3+ 5/10/20 USD Tips"),
    "currency": (find_currency, "usd"),
    "units": (typed_text.read_units, "1000000"),
    "destination": (typed_text.read_destination, "$anna-ott"),
    "shares": (lambda text: read_portions(text, "USD"), "$anna 60%;$ben 40%"),
    "redirect": (typed_text.read_redirect, "https://my-shop.example"),
    "email": (typed_text.read_email, "anna-ott@example.org"),
    "contact": (read_contact, "@anna_ott"),
    "contact's link": (read_contact, "https://my-shop.example"),
    "moment": (lambda text: read_moment(text, NOW, "Europe/Berlin", end=True), "2026-12-31 18:00"),
    "time": (read_clock, "18:30"),
    "hours": (read_hours, "22-7"),
    "zone": (read_zone, "UTC-3"),
    "place": (read_zone, "Europe/Berlin"),
    "IBAN": (lambda text: typed_text.read_field("bank-sepa", "iban", text),
             "DE89 3704 0044 0532 0130 00"),
    "Pix key": (lambda text: typed_text.read_field("bank-pix", "key", text),
                "+55 11 98765-4321"),
    "UPI id": (lambda text: typed_text.read_field("bank-upi", "id", text), "anna-ott@okbank"),
    "country": (lambda text: typed_text.read_field("bank-swiss", "country", text), "CH"),
    "postcode": (lambda text: typed_text.read_field("bank-swiss", "postalCode", text), "8001"),
    "Lightning address": (lambda text: typed_text.read_field("lightning", "address", text),
                          "anna-ott@example.org"),
    "LNbits' address": (lambda text: typed_text.read_field("lnbits", "url", text),
                        "https://my-lnbits.example"),
    "LNbits' key": (lambda text: typed_text.read_field("lnbits", "key", text), KEY),
    "connection": (lambda text: typed_text.read_field("nwc", "connection", text), CONNECTION),
    "connection by chance": (typed_text.is_connection, CONNECTION),
    "key by chance": (typed_text.has_key, KEY),
    "service's IBAN": (lambda text: connected("sepa", iban=text), IBAN),
    "service's BIC": (lambda text: connected("sepa", iban=IBAN, bic=text), "COBADEFFXXX"),
    "service's Pix key": (lambda text: connected("pix", key=text, city="Recife"),
                          "+55 11 98765-4321"),
    "service's Pix email": (lambda text: connected("pix", key=text, city="Recife"),
                            "anna-ott@example.org"),
    "service's UPI id": (lambda text: connected("upi", id=text), "anna-ott@okbank"),
    "service's Lightning address": (lightning.parse_address, "lightning:anna-ott@example.org"),
    "service's connection": (lambda text: parse_connection(text, AllowList.parse("")).label,
                             CONNECTION),
    "reference": (fold_reference, "RF56 4K7M-XQ"),
    "transaction number": (fold_number, "61714577-b1de"),
    "operator's WHO": (erasure.match_key, "+49 (0)170 - 123 45 67"),
}  # fmt: skip
"""By field: how it is read, and a plain value."""


def test_a_pasted_value_is_read_as_a_typed_one() -> None:
    wrong = []
    for field, (read, plain) in FIELDS.items():
        # Otherwise a pasted value that is refused would equal it.
        assert not re.search("Problem|problem=<|None, \\(|None$|\\{\\}, ", repr(read(plain)))
        assert read(plain) not in (None, False)
        for spelling, paste in PASTED.items():
            if read(paste(plain)) != read(plain):
                wrong.append((field, spelling, read(paste(plain))))
    assert not wrong


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("\u0661\u06f2\u0967\uff13", "1213"),
        ("a\u2010b\u2011c\u2012d\u2013e\u2014f\u2015g", "a-b-c-d-e-f-g"),
        ("a\u2212b\uff0dc\ufe58d\ufe63e\u2043f", "a-b-c-d-e-f"),
        (" a\u00a0\u2009\u3000b\v\x85\u2028c\r\n", "a b c"),
        ("\u202a\u2066a\u200e\u200d\u00ad\ufe0f\ufffcb\u2069\u202c\U000e0067", "ab"),
        ("\uff21\uff42\uff20\ufb01", "Ab@fi"),
    ],
)  # fmt: skip
def test_a_typed_code_is_made_plain(raw: str, plain: str) -> None:
    assert sanitize.typed(raw, digits=True) == plain


def test_a_domains_digits_stay_in_their_script() -> None:
    """Another digit is another domain."""
    assert sanitize.typed("a@\u0645\u062b\u0627\u0644\u0661.example").endswith("\u0661.example")


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("https://ja.example/wiki/\uff21\uff22", "https://ja.example/wiki/\uff21\uff22"),
        ("https://de.example/1939\u20131945", "https://de.example/1939\u20131945"),
        ("\uff48ttps\uff1a\uff0f\uff0fshop\uff0eexample\uff0fpaid", "https://shop.example/paid"),
        ("\u200bshop.example/paid\u200b\u2028", "https://shop.example/paid"),
        ("https://fa.example/\u0645\u06cc\u200c\u0631\u0648\u062f",
         "https://fa.example/\u0645\u06cc\u200c\u0631\u0648\u062f"),
        ("fa\u200c.example/\U0001f469\u200d\U0001f4bb",
         "https://fa.example/\U0001f469\u200d\U0001f4bb"),
    ],
)  # fmt: skip
def test_a_web_addresss_path_is_kept_as_it_is(typed: str, kept: str) -> None:
    assert typed_text.read_redirect(typed) == kept
