"""What sellers type about a payout account, checked without a server."""

from __future__ import annotations

from uuid import UUID

import pytest

from bot.chat.forms.typed_text import is_connection, read_field
from bot.chat.model.replies import Problem
from tests.support.payout_forms import CONNECTION, IBAN, KEY, SWISS_IBAN


@pytest.mark.parametrize(
    ("way", "field", "text", "value"),
    [
        ("bank-sepa", "iban", " de89 3704-0044 0532 0130 00 ", IBAN),
        ("bank-sepa", "iban", f"IBAN: {IBAN}", IBAN),
        ("bank-sepa", "iban", SWISS_IBAN, SWISS_IBAN),
        ("bank-swiss", "iban", "CH93 0076 2011 6238 5295 7", SWISS_IBAN),
        ("bank-sepa", "name", " Anna  Ott ", "Anna Ott"),
        ("bank-pix", "key", " 529.982.247-25 ", "529.982.247-25"),
        ("bank-pix", "key", "12.345.678/0001-95", "12.345.678/0001-95"),
        ("bank-pix", "key", "+55 (11) 98765-4321", "+55 (11) 98765-4321"),
        ("bank-pix", "key", "anna.ott@example.org", "anna.ott@example.org"),
        *(("bank-pix", "key", key, key) for key in (KEY, str(UUID(KEY)))),
        ("bank-upi", "id", " anna@okbank ", "anna@okbank"),
        ("bank-swiss", "country", "ch", "CH"),
        ("bank-sepa", "bic", " nwbk gb2l xxx\u200e", "NWBKGB2LXXX"),
        ("lightning", "address", "⚡ Anna@Example.org", "anna@example.org"),
        ("lightning", "address", "lightning:anna+tips@example.org", "anna+tips@example.org"),
        ("lightning", "address", "anna@localhost:8080", "anna@localhost:8080"),
        ("lightning", "address", "Lightning://anna@example.org", "anna@example.org"),
        ("lightning", "address", "mailto: anna@example.org", "anna@example.org"),
        ("lnbits", "url", "lnbits.example.org", "https://lnbits.example.org"),
        ("lnbits", "url", "http://127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("lnbits", "url", "Https://demo.example.org", "Https://demo.example.org"),
        ("lnbits", "key", f" {KEY}\n", KEY),
        ("nwc", "connection", f" {CONNECTION} ", CONNECTION),
    ],
)
def test_a_value_is_read_as_people_write_it(way: str, field: str, text: str, value: str) -> None:
    assert read_field(way, field, text) == value


@pytest.mark.parametrize(
    ("way", "field", "text", "key"),
    [
        ("bank-sepa", "iban", "Anna Ott", "payout-wrong-ibanForm"),
        ("bank-sepa", "iban", "DE89370400440532013001", "payout-wrong-ibanTypo"),
        ("bank-swiss", "iban", IBAN, "payout-wrong-notSwiss"),
        ("bank-sepa", "name", "\u2800", "problem-payout-empty"),
        ("bank-sepa", "name", "x" * 141, "problem-payout-long"),
        *(("bank-sepa", "name", typed, "payout-wrong-name") for typed in (IBAN, f"IBAN: {IBAN}")),
        *(
            ("bank-pix", "key", typed, "payout-wrong-pixKey")
            for typed in ("12345", "Anna Ott", "@")
        ),
        ("bank-upi", "id", "anna", "payout-wrong-upiForm"),
        *(("bank-sepa", "bic", typed, "payout-wrong-bicForm") for typed in ("NWBK", IBAN, "")),
        ("bank-swiss", "country", "Schweiz", "payout-wrong-countryForm"),
        ("lightning", "address", "anna", "payout-wrong-addressForm"),
        ("lightning", "address", "anna@a b", "payout-wrong-addressForm"),
        ("lightning", "address", "LNURL1DP68GURN8GHJ7", "payout-wrong-lnurl"),
        ("lightning", "address", "lightning:lnbc20n1pj", "payout-wrong-invoice"),
        ("lnbits", "url", "ftp://example.org", "payout-wrong-urlForm"),
        ("lnbits", "url", "not an address", "payout-wrong-urlForm"),
        ("lnbits", "key", "two words", "payout-wrong-keyForm"),
        ("lnbits", "key", "schlüssel", "payout-wrong-keyForm"),
        ("nwc", "connection", "nostr+walletconnect://abc", "payout-wrong-connectionForm"),
        ("nwc", "connection", "", "payout-wrong-connectionForm"),
    ],
)
def test_a_wrong_value_is_answered_by_what_is_wrong(
    way: str, field: str, text: str, key: str
) -> None:
    found = read_field(way, field, text)
    assert isinstance(found, Problem)
    assert found.key == key


def test_a_connection_string_is_recognized_within_a_text() -> None:
    assert is_connection(f"here: {CONNECTION}")
    assert not is_connection("nostr+walletconnect:// is how it starts")
