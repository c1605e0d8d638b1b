"""Money: amounts and currencies, how they are read and written."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.core.errors import MoneyError
from bot.core.money import amounts

NBSP, NARROW = "\u00a0", "\u202f"
SEPARATORS = ".,'\u2019\u066b\u066c" + NBSP + NARROW
CODES = st.sampled_from(sorted(amounts.currencies()))


def readings(text: str) -> tuple[Decimal, ...]:
    """Return the meanings of a text: one amount, or the choices."""
    try:
        return (amounts.read_amount(text, None)[0],)
    except MoneyError as error:
        return error.choices


@st.composite
def sums(draw: st.DrawFn) -> tuple[int, str]:
    """Draw any valid price: minor units and their currency."""
    code = draw(CODES)
    most = amounts.MAX_AMOUNT * 10 ** amounts.exponent(code)
    return draw(st.integers(1, most)), code


EXPONENTS = {
    0: "JPY KRW CLP SAT",
    2: "USD EUR",
    3: "KWD BHD TND",
    4: "CLF XAG XAU",
    5: "MNEE",
    8: "BSV BTC",
}


def test_each_currency_has_its_decimals() -> None:
    for decimals, codes in EXPONENTS.items():
        for code in codes.split():
            assert decimals == amounts.exponent(code), code
            assert code in amounts.currencies()


@pytest.mark.parametrize(
    "code", ["usd", "ZZZ", "", "XXX", "XTS", "XPT", "DEM", "US", "$", "EUR ", "cnh"]
)
def test_unknown_currencies_are_refused(code: str) -> None:
    """The interface takes codes in use, in upper case."""
    with pytest.raises(MoneyError) as caught:
        amounts.exponent(code)
    assert caught.value.reason == "unknownCurrency"
    assert code not in amounts.currencies()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("usd", "USD"),
        (" Eur ", "EUR"),
        ("€", "EUR"),
        ("$", "USD"),
        ("US$", "USD"),
        ("ca$", "CAD"),
        ("¥", "JPY"),
        ("\uffe5", "JPY"),
        ("₿", "BTC"),
        ("sats", "SAT"),
        ("\uff35\uff33\uff24", "USD"),
        ("mnee", "MNEE"),
    ],
)
def test_a_name_of_one_currency_is_found(name: str, code: str) -> None:
    """In any case and language."""
    assert code == amounts.find_currency(name)


@pytest.mark.parametrize("name", ["kr", "", "dollar", "US", "$$", "USDT", "x" * 10_000])
def test_names_of_no_single_currency_are_refused(name: str) -> None:
    """A shared or unknown name raises unknownCurrency."""
    with pytest.raises(MoneyError) as caught:
        amounts.find_currency(name)
    assert caught.value.reason == "unknownCurrency"
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("amount", "code", "minor"),
    [
        ("5", "USD", 500),
        ("5.000", "USD", 500),
        ("0.01", "USD", 1),
        ("2.50", "EUR", 250),
        ("1E+3", "JPY", 1000),
        ("0.00000001", "BSV", 1),
        ("1000000000", "BSV", 10**17),
        ("1000000000.00", "USD", 10**11),
        ("1.234", "KWD", 1234),
        ("0.00001", "MNEE", 1),
        ("5." + "0" * 60_000, "USD", 500),
    ],
)
def test_amounts_become_exact_minor_units(amount: str, code: str, minor: int) -> None:
    """Every spelling of an amount gives the same minor units."""
    assert minor == amounts.to_minor(Decimal(amount), code)


@pytest.mark.parametrize(
    ("amount", "code", "reason"),
    [
        ("0", "USD", "notPositive"),
        ("-0.00", "USD", "notPositive"),
        ("-1", "USD", "notPositive"),
        ("-1E+1000000", "USD", "notPositive"),
        ("0.001", "USD", "tooManyDecimals"),
        ("5.005", "USD", "tooManyDecimals"),
        ("1.5", "JPY", "tooManyDecimals"),
        ("0.000000001", "BSV", "tooManyDecimals"),
        ("1E-1000000", "USD", "tooManyDecimals"),
        ("1000000000.01", "USD", "tooLarge"),
        ("1E+1000000", "USD", "tooLarge"),
        ("1E+999999999", "BSV", "tooLarge"),
        ("NaN", "USD", "notAnAmount"),
        ("sNaN", "USD", "notAnAmount"),
        ("Infinity", "USD", "notAnAmount"),
        ("-Infinity", "USD", "notAnAmount"),
        ("1", "usd", "unknownCurrency"),
    ],
)
def test_impossible_amounts_are_refused(amount: str, code: str, reason: str) -> None:
    """Not positive, too large, too precise or no number; without slow arithmetic."""
    began = time.process_time()
    with pytest.raises(MoneyError) as caught:
        amounts.to_minor(Decimal(amount), code)
    assert reason == caught.value.reason
    assert time.process_time() - began < 1


@given(sums())
def test_minor_units_and_amounts_convert_back_and_forth(sum_: tuple[int, str]) -> None:
    """from_minor and to_minor are inverse functions for every currency."""
    minor, code = sum_
    assert minor == amounts.to_minor(amounts.from_minor(minor, code), code)


@given(st.integers(-(10**40), 10**40), CODES)
def test_sums_of_any_size_are_exact(minor: int, code: str) -> None:
    """from_minor does not round, and has all decimals."""
    amount = amounts.from_minor(minor, code)
    assert -amounts.exponent(code) == amount.as_tuple().exponent
    assert str(abs(minor)) == "".join(map(str, amount.as_tuple().digits))


@pytest.mark.parametrize(
    ("minor", "code", "language", "shown"),
    [
        (500, "USD", "en", "$5.00"),
        (12_000, "EUR", "en", "€120.00"),
        (12_000, "EUR", "de", f"120,00{NBSP}€"),
        (123_456_789, "USD", "en", "$1,234,567.89"),
        (123_456, "CHF", "fr-CH", f"1{NARROW}234,56{NBSP}CHF"),
        (5, "JPY", "en", "¥5"),
        (1_500, "KWD", "en", f"KWD{NBSP}1.500"),
        (500, "XCG", "en", f"Cg.{NBSP}5.00"),
        (500, "BRL", "en", "R$5.00"),
        (50_000, "BSV", "en", f"0.0005{NBSP}BSV"),
        (100_000_000, "BSV", "en", f"1{NBSP}BSV"),
        (123_456_789_012, "BTC", "de", f"1.234,56789012{NBSP}BTC"),
        (21_000, "SAT", "en", f"21,000{NBSP}sat"),
        (250_000, "MNEE", "en", f"2.50{NBSP}MNEE"),
        (250_001, "MNEE", "en", f"2.50001{NBSP}MNEE"),
        (500, "USD", "pt-br", f"US${NBSP}5,00"),
        (500, "USD", "xx", "$5.00"),
        (500, "USD", "", "$5.00"),
        (500, "USD", "not a language!", "$5.00"),
    ],
)
def test_amounts_are_written_in_the_readers_format(
    minor: int, code: str, language: str, shown: str
) -> None:
    """Exact, in the format of the language; unknown languages get English."""
    assert shown == amounts.format_money(minor, code, language)


@given(sums(), st.sampled_from(["en", "de", "es", "fr", "ar", "hi", "ru", "pt-br", "fa", "zh"]))
@example((1000, "KWD"), "en")
@example((12_345_678, "INR"), "hi")
def test_a_written_amount_is_read_back(sum_: tuple[int, str], language: str) -> None:
    """Or asked about, never read as another amount."""
    minor, code = sum_
    shown = amounts.format_money(minor, code, language)
    digits = "".join(char for char in shown if char.isdecimal() or char in SEPARATORS)
    assert amounts.from_minor(minor, code) in readings(digits.strip(SEPARATORS))


@given(st.text() | st.text("0123456789.,' -$€e+\u0661\u066b\u00a0", max_size=70))
@example("0" * 64)
def test_reading_any_text_gives_an_amount_or_a_money_error(text: str) -> None:
    """The amount is exact, finite and not negative."""
    try:
        amount, currency = amounts.read_amount(text, "USD")
    except MoneyError:
        return
    assert amount.is_finite()
    assert amount >= 0
    assert currency in amounts.currencies()


@given(st.integers(1, 10**12), st.integers(0, 8), st.sampled_from(".,"))
def test_plain_decimals_are_read_exactly(digits: int, decimals: int, mark: str) -> None:
    """With point or comma, unless the mark may separate thousands."""
    amount = Decimal(digits).scaleb(-decimals)
    written = f"{amount:f}".replace(".", mark)
    assert amount in readings(written)
    assert decimals == 3 or len(readings(written)) == 1
