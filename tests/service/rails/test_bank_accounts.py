"""Bank accounts: what banks would refuse is refused at once, with what to do."""

from __future__ import annotations

import random
import re
import string
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import iban, numdb

from bot.core.errors import InvalidBody
from bot.interface import vocabulary
from bot.service.rails import bank_accounts
from bot.service.rails.bank_accounts import (
    PIX_CHARACTERS,
    SEPA_CHARACTERS,
    SWISS_CHARACTERS,
    KeyKind,
    fold,
)
from bot.service.rails.rail import BadDetail

SEPA = {"scheme": "sepa", "iban": "DE89 3704 0044 0532 0130 00", "name": "Zoë Müller"}
PIX = {"scheme": "pix", "key": "123.456.789-09", "name": "José Conceição", "city": "Maceió"}
UPI = {"scheme": "upi", "id": "asha.1@okaxis", "name": "आशा"}
ADDRESS = {"street": "Rue du Lac", "houseNumber": "12a", "postalCode": "8001", "town": "Zürich"}
SWISS = {"scheme": "swiss", "iban": "CH58 0079 1123 0008 8901 2", "name": "Zoë", "address": ADDRESS}


def problems(details: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(InvalidBody) as refused:
        bank_accounts.connect(details)
    return {problem.field: problem.message for problem in refused.value.info}


@pytest.mark.parametrize(
    ("details", "currencies", "label"),
    [
        (SEPA, ("EUR",), "DE89 … 3000"),
        (PIX, ("BRL",), "CPF … 8909"),
        (PIX | {"key": "+55 (11) 98765-4321"}, ("BRL",), "… 4321"),
        (PIX | {"key": "Anna@Example.BR"}, ("BRL",), "an … @example.br"),
        (PIX | {"key": "12.ABC.345/01DE-35"}, ("BRL",), "CNPJ … DE35"),
        (UPI, ("INR",), "as … @okaxis"),
        (SWISS, ("CHF", "EUR"), "CH58 … 9012"),
    ],
)
def test_an_account_has_currencies_and_a_masked_label(
    details: dict[str, Any], currencies: tuple[str, ...], label: str
) -> None:
    connected = bank_accounts.connect(details)
    assert (connected.kind, connected.scheme) == ("bank", details["scheme"])
    assert (connected.currencies, connected.label) == (currencies, label)
    assert not connected.automatic
    assert bank_accounts.connect(connected.details).details == connected.details


@pytest.mark.parametrize("details", [SEPA, PIX, UPI, SWISS])
def test_a_field_that_no_account_has_is_named(details: dict[str, Any]) -> None:
    assert list(problems(details | {"ibn": "DE"})) == ["details.ibn"]


def test_a_field_that_no_address_has_is_named() -> None:
    address = ADDRESS | {"planet": "Earth"}
    assert list(problems(SWISS | {"address": address})) == ["details.address.planet"]


def test_details_are_kept_in_one_spelling() -> None:
    assert bank_accounts.connect(
        SEPA | {"iban": " de89\u00a03704 0044-0532 0130 00\u200e"}
    ).details == {
        "scheme": "sepa",
        "iban": "DE89370400440532013000",
        "name": "Zoë Müller",
    }
    bic = bank_accounts.connect(SEPA | {"bic": "cobade ffxxx"}).details["bic"]
    assert bic == "COBADEFFXXX"
    address = bank_accounts.connect(SWISS).details["address"]
    assert address == ADDRESS | {"country": "CH"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Enter the account's IBAN, as on a bank statement."),
        ("DE8937040044053201300", "That IBAN has 21 characters; IBANs from Germany have 22."),
        ("DE88 3704 0044 0532 0130 00", "That IBAN has a typo: its check digits don't match."),
        ("ZZ68539007547034", "No country's IBANs start with ZZ."),
        ("hello", "An IBAN starts with two letters and two digits: DE89 3704 0044 …"),
        ("DE89\n3704", "That IBAN has 8 characters; IBANs from Germany have 22."),
        ("TR330006100519786457841326", "Accounts in Türkiye can't receive SEPA transfers."),
        (
            "CH4431999123000889012",
            "That's a QR-IBAN, which only takes invoices with a QR reference.",
        ),
    ],
)
def test_a_wrong_iban_is_refused_with_what_to_do(text: str, message: str) -> None:
    found = problems(SEPA | {"iban": text})
    assert found.keys() == {"details.iban"}
    assert found["details.iban"].startswith(message)


@pytest.mark.parametrize(
    ("text", "bic"),
    [
        ("BE68 5390 0754 7034", {}),
        ("GB82 WEST 1234 5698 7654 32", {"bic": "NWBKGB2L"}),
        ("FR1420041010050500013M02606", {}),
    ],
)
def test_an_iban_needs_no_known_bank(text: str, bic: dict[str, str]) -> None:
    """The textbook's Belgian one is of a bank that a list of banks would not have."""
    details = bank_accounts.connect(SEPA | {"iban": text} | bic).details
    assert details["iban"] == text.replace(" ", "")


def test_every_sepa_country_has_ibans() -> None:
    assert len(bank_accounts.SEPA_COUNTRIES) == 42
    for country in bank_accounts.SEPA_COUNTRIES:
        assert numdb.get("iban").info(country)[0][1], country
        assert bank_accounts.country_name(country) != country


@given(st.sampled_from(sorted(bank_accounts.SEPA_COUNTRIES)), st.randoms(use_true_random=False))
def test_every_valid_iban_is_taken_and_a_mistyped_character_is_not(
    country: str, chance: random.Random
) -> None:
    made = _valid_iban(country, chance)
    assert bank_accounts.check_iban(iban.format(made).lower()) == made
    place = chance.randrange(4, len(made))
    alike = string.digits if made[place].isdigit() else string.ascii_uppercase
    other = chance.choice(alike.replace(made[place], ""))
    with pytest.raises(BadDetail, match="typo"):
        bank_accounts.check_iban(made[:place] + other + made[place + 1 :])


@pytest.mark.parametrize("country", sorted(bank_accounts.SEPA_COUNTRIES))
def test_only_within_the_eea_a_bic_may_be_left_out(country: str) -> None:
    """EPC069-12: version 002 of the code may leave it out within the European Economic Area."""
    details = SEPA | {"iban": _valid_iban(country, random.Random(country))}
    with_bic = bank_accounts.connect(details | {"bic": "cobade ff"})
    assert with_bic.details["bic"] == "COBADEFF"
    wrong = problems(details | {"bic": "COBADE_F"})["details.bic"]
    if country not in vocabulary.OUTSIDE_EEA:
        assert "bic" not in bank_accounts.connect(details).details
        assert wrong.endswith("You can leave it out.")
        assert problems(details | {"bic": 5})["details.bic"].endswith("leave it out.")
    else:
        asked = "Enter the bank's BIC, as on a bank statement: outside the EEA, transfers need it."
        assert problems(details) == {"details.bic": asked}
        assert wrong == "A BIC has 8 or 11 letters and digits."


def test_the_eea_has_thirty_countries_in_sepa() -> None:
    assert len(bank_accounts.SEPA_COUNTRIES - vocabulary.OUTSIDE_EEA) == 30
    assert vocabulary.OUTSIDE_EEA < bank_accounts.SEPA_COUNTRIES


def _valid_iban(country: str, chance: random.Random) -> str:
    """Make an IBAN of the country's structure, such as `8!n10!n`."""
    kinds = {"n": string.digits, "a": string.ascii_uppercase}
    kinds["c"] = kinds["n"] + kinds["a"]
    structure = numdb.get("iban").info(country)[0][1]["bban"]
    parts = [part.split("!") for part in _parts(structure)]
    body = "".join(chance.choice(kinds[kind]) for length, kind in parts for _ in range(int(length)))
    digits = iban.calc_check_digits(f"{country}00{body}")
    return f"{country}{digits}{body}"


def _parts(structure: str) -> list[str]:
    found, start = [], 0
    for at, char in enumerate(structure):
        if char.isalpha():
            found.append(structure[start : at + 1])
            start = at + 1
    return found


@pytest.mark.parametrize(
    ("text", "kind", "key"),
    [
        ("123.456.789-09", KeyKind.CPF, "12345678909"),
        ("１２３４５６７８９０９", KeyKind.CPF, "12345678909"),
        ("11.222.333/0001-81", KeyKind.CNPJ, "11222333000181"),
        ("12abc34501de35", KeyKind.CNPJ, "12ABC34501DE35"),
        ("+55 11 98765-4321", KeyKind.PHONE, "+5511987654321"),
        ("+551133334444", KeyKind.PHONE, "+551133334444"),
        ("Anna@Example.com.br", KeyKind.EMAIL, "anna@example.com.br"),
        (
            "123E4567-E12B-12D1-A456-426655440000",
            KeyKind.RANDOM,
            "123e4567-e12b-12d1-a456-426655440000",
        ),
        (
            "123e4567e12b12d1a456426655440000",
            KeyKind.RANDOM,
            "123e4567-e12b-12d1-a456-426655440000",
        ),
    ],
)
def test_each_kind_of_pix_key_is_told_apart(text: str, kind: KeyKind, key: str) -> None:
    assert bank_accounts.check_pix_key(text) == (kind, key)
    assert bank_accounts.check_pix_key(key) == (kind, key)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("11111111111", "That isn't a CPF"),
        ("11987654321", "start it with +55"),
        ("00000000000000", "A Pix key is"),
        ("+49 170 1234567", "Enter the phone number with +55"),
        ("+55 11 98765-43210", "Enter the phone number with +55"),
        ("@example.br", "That isn't an email address"),
        (f"{'a' * 60}@{'b' * 20}.br", "That's 84 characters; the limit is 77."),
        ("coffee", "A Pix key is"),
    ],
)
def test_a_wrong_pix_key_is_refused_with_what_to_do(text: str, message: str) -> None:
    with pytest.raises(BadDetail, match=re.escape(message)):
        bank_accounts.check_pix_key(text)


@pytest.mark.parametrize("text", ["asha", "@okaxis", "asha@", "a sha@ok", "asha@ok@ok", "asha@o k"])
def test_a_wrong_upi_id_is_refused(text: str) -> None:
    assert problems(UPI | {"id": text}).keys() == {"details.id"}


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"iban": "DE89370400440532013000"}, {"details.iban"}),
        ({"iban": "CH4431999123000889012"}, {"details.iban"}),
        ({"name": "Фирма 王"}, {"details.name"}),
        ({"name": "x" * 71}, {"details.name"}),
        ({"address": None}, {"details.address.postalCode", "details.address.town"}),
        ({"address": "Rue du Lac 12"}, {"details.address.postalCode", "details.address.town"}),
        ({"address": ADDRESS | {"postalCode": " "}}, {"details.address.postalCode"}),
        ({"address": ADDRESS | {"street": "王小明"}}, {"details.address.street"}),
        ({"address": ADDRESS | {"street": 5}}, {"details.address.street"}),
        ({"address": ADDRESS | {"country": "1?"}}, {"details.address.country"}),
        ({"address": ADDRESS | {"country": "Switzerland"}}, {"details.address.country"}),
    ],
)
def test_a_swiss_account_is_checked_with_its_address(
    change: dict[str, Any], fields: set[str]
) -> None:
    assert problems(SWISS | change).keys() == fields


@pytest.mark.parametrize(
    ("details", "fields"),
    [
        ({}, {"details.scheme"}),
        ({"scheme": ["sepa"]}, {"details.scheme"}),
        ({"scheme": "swift"}, {"details.scheme"}),
        ({"scheme": "sepa"}, {"details.iban", "details.name"}),
        ({"scheme": "pix"}, {"details.key", "details.name", "details.city"}),
        ({"scheme": "upi", "id": 5, "name": None}, {"details.id", "details.name"}),
        (SEPA | {"name": "王小明"}, {"details.name"}),
        (SEPA | {"name": "x" * 71}, {"details.name"}),
        (SEPA | {"name": "A\x1b[2J"}, {"details.name"}),
        (SEPA | {"name": "A\ud800"}, {"details.name"}),
        (SEPA | {"name": "🍰"}, {"details.name"}),
        (SEPA | {"bic": "COBADE_F"}, {"details.bic"}),
        (PIX | {"city": "Bogotá 東京"}, {"details.city"}),
    ],
)
def test_all_problems_are_named_at_once(details: dict[str, Any], fields: set[str]) -> None:
    assert problems(details).keys() == fields


@given(
    st.dictionaries(
        st.sampled_from(["iban", "name", "bic", "key", "city", "id", "address"]),
        st.none() | st.integers() | st.text(max_size=80) | st.lists(st.text(max_size=3)),
    ),
    st.sampled_from([*bank_accounts.SCHEMES]),
)
def test_no_details_raise_anything_but_a_refusal(details: dict[str, Any], scheme: str) -> None:
    with suppress(InvalidBody):
        bank_accounts.connect(details | {"scheme": scheme})


@pytest.mark.parametrize(
    ("text", "sepa", "pix", "swiss"),
    [
        ("Müller & Söhne", "Muller + Sohne", "Muller + Sohne", "Müller & Söhne"),
        ("Ελένη Παπαδοπούλου", *["Eleni Papadopoulou"] * 3),
        ("Иван Щерев", *["Ivan Shterev"] * 3),
        ("Ђорђе Њиво", *["Dorde Njivo"] * 3),
        ("José Conceição", "Jose Conceicao", "Jose Conceicao", "José Conceição"),
        ("Łukasz Żółć", "Lukasz Zolc", "Lukasz Zolc", "Łukasz Żółć"),
        ("Zoë’s Café №3 – 🍰", "Zoe's Cafe No3 -", "Zoe s Cafe No3 -", "Zoë's Café No3 -"),
        ("İstanbul ẞ ı", "Istanbul Ss i", "Istanbul Ss i", "İstanbul Ss ı"),
        ("e\u0301\u200d a\nb", "e a b", "e a b", "é a b"),
        ("１２", *["12"] * 3),
        ("a\u202fb\u00a0c", *["a b c"] * 3),
    ],
)
def test_letters_are_converted_to_what_the_format_takes(
    text: str, sepa: str, pix: str, swiss: str
) -> None:
    assert (
        fold(text, SEPA_CHARACTERS),
        fold(text, PIX_CHARACTERS),
        fold(text, SWISS_CHARACTERS),
    ) == (sepa, pix, swiss)


@pytest.mark.parametrize(
    "text", ["王小明", "आशा", "محمد", "ソニー", "Anna 王", "٣", "", " ", "🍰", "---", "\u0301"]
)
def test_a_text_that_would_lose_letters_is_refused(text: str) -> None:
    """A name with half of its letters would be another person's."""
    assert fold(text, SEPA_CHARACTERS) is None
    assert fold(text, PIX_CHARACTERS) is None
    assert fold(text, SWISS_CHARACTERS) is None


def test_umlauts_become_two_letters_where_people_write_them_so() -> None:
    assert fold("Jürgen ÖÄ ß", SEPA_CHARACTERS, german=True) == "Juergen OeAe ss"


@given(st.text(max_size=30), st.sampled_from([SEPA_CHARACTERS, PIX_CHARACTERS, SWISS_CHARACTERS]))
def test_only_the_characters_of_the_format_remain(text: str, taken: re.Pattern[str]) -> None:
    folded = fold(text, taken)
    if folded is not None:
        assert all(map(taken.fullmatch, folded))
        assert folded == " ".join(folded.split())
        assert fold(folded, taken) == folded


def test_every_conversion_is_plain_ascii() -> None:
    assert all(
        SEPA_CHARACTERS.fullmatch(one) for part in bank_accounts._table().values() for one in part
    )
    assert all(key == key.lower() for key in bank_accounts._table())
