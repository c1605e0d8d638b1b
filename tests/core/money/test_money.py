"""Money: amounts and currencies, how they are read and written."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.core.errors import MoneyError
from bot.core.money import amounts

NBSP, NARROW, THIN = "\u00a0", "\u202f", "\u2009"
SEPARATORS = ".,'\u2019\u066b\u066c" + NBSP + NARROW
AMBIGUOUS = (Decimal(1), Decimal(1000))
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


@pytest.mark.parametrize(("decimals", "codes"), EXPONENTS.items())
def test_each_currency_has_its_decimals(decimals: int, codes: str) -> None:
    """Each currency has its own decimals."""
    for code in codes.split():
        assert decimals == amounts.exponent(code)
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


READ = [
    # plain, and decimal marks
    ("5", "5", None),
    ("  5  ", "5", None),
    ("007", "7", None),
    ("2.50", "2.50", None),
    ("2,50", "2.50", None),
    ("2.5", "2.5", None),
    ("0.125", "0.125", None),
    ("0,001", "0.001", None),
    ("00.125", "0.125", None),
    (".5", "0.5", None),
    (",50", "0.50", None),
    (".500", "0.5", None),
    ("0.00000001 BSV", "0.00000001", "BSV"),
    ("1.0000", "1", None),
    ("1234.567", "1234.567", None),
    ("0", "0", None),
    # thousands
    ("1 000", "1000", None),
    (f"1{NBSP}000", "1000", None),
    (f"1{NARROW}000", "1000", None),
    (f"1{THIN}000", "1000", None),
    ("1'000", "1000", None),
    ("1\u2019000", "1000", None),
    ("1\u066c000", "1000", None),
    ("12 345 678", "12345678", None),
    ("1,000,000", "1000000", None),
    ("1.000.000", "1000000", None),
    ("1,00,000", "100000", None),
    ("12,34,567.50", "1234567.50", None),
    # both
    ("1,000.50", "1000.50", None),
    ("1.000,50", "1000.50", None),
    ("1 000,50", "1000.50", None),
    ("1 000.50", "1000.50", None),
    ("1 000,500", "1000.500", None),
    ("1'000.50", "1000.50", None),
    ("1,000,000.5", "1000000.5", None),
    ("1.000,500", "1000.500", None),
    # whole amounts with a dash
    ("5,-", "5", None),
    ("5.-", "5", None),
    ("5,--", "5", None),
    ("5,\u2013", "5", None),
    ("1.000,-", "1000", None),
    ("5,- €", "5", "EUR"),
    ("CHF 5.-", "5", "CHF"),
    # currencies
    ("$5", "5", "USD"),
    ("5$", "5", "USD"),
    ("$ 5", "5", "USD"),
    ("€ 5", "5", "EUR"),
    ("5,50 €", "5.50", "EUR"),
    ("£1,000.50", "1000.50", "GBP"),
    ("¥500", "500", "JPY"),
    ("₹1,00,000", "100000", "INR"),
    ("₿0.001", "0.001", "BTC"),
    ("5 usd", "5", "USD"),
    ("5usd", "5", "USD"),
    ("USD 5", "5", "USD"),
    ("usd5", "5", "USD"),
    ("$5 USD", "5", "USD"),
    ("CA$5", "5", "CAD"),
    ("1 000 Eur", "1000", "EUR"),
    ("21 sats", "21", "SAT"),
    ("2.5 mnee", "2.5", "MNEE"),
    # other scripts and invisible marks
    ("\u0661\u0662\u066b\u0665", "12.5", None),
    ("\u0661\u066c\u0662\u0663\u0664\u066b\u0665", "1234.5", None),
    ("\u0661\u066b\u0665\u0660\u0660", "1.500", None),
    ("\u06f1\u06f2", "12", None),
    ("\u0967\u0968", "12", None),
    ("\uff11\uff12\uff0e\uff15", "12.5", None),
    ("\uff04\uff15", "5", "USD"),
    (f"\u200f5.00{NBSP}US$", "5.00", "USD"),
]


@pytest.mark.parametrize(("text", "amount", "currency"), READ)
def test_amounts_are_read_as_people_write_them(
    text: str, amount: str, currency: str | None
) -> None:
    """Separators, symbols and digits of many languages."""
    assert (Decimal(amount), currency) == amounts.read_amount(text, None)
    assert (Decimal(amount), currency or "NOK") == amounts.read_amount(text, "NOK")
    assert currency == amounts.read_currency(text, None)


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        ("1.000", AMBIGUOUS),
        ("1,000", AMBIGUOUS),
        ("1,000$", AMBIGUOUS),
        ("USD 1.000", AMBIGUOUS),
        ("\u0661,\u0660\u0660\u0660", AMBIGUOUS),
        ("\u0661\u060c\u0660\u0660\u0660", AMBIGUOUS),
        ("12.345", (Decimal("12.345"), Decimal(12345))),
        ("100,000 JPY", (Decimal(100), Decimal(100_000))),
        ("999.999 KWD", (Decimal("999.999"), Decimal(999_999))),
        ("1,500", (Decimal("1.5"), Decimal(1500))),
    ],
)
def test_ambiguous_amounts_are_asked_about(text: str, choices: tuple[Decimal, ...]) -> None:
    """One mark before three digits is ambiguous in every currency."""
    with pytest.raises(MoneyError) as caught:
        amounts.read_amount(text, "USD")
    assert caught.value.reason == "ambiguous"
    assert choices == caught.value.choices
    assert all("E" not in str(choice) for choice in caught.value.choices)


# What holds no amount, or more than one.
NO_AMOUNTS = (
    "usd|$|five|.|,-|1e5|1E+5|0x10|NaN|Infinity|1 2|1 00|1 0000|0 500|1000 000|1'00|"
    "1.00.00|1.00.000|1,000.000,5|1,000,00|1.000 000|1,000 000.5|1..5|..5|5.|5,"
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "notAnAmount"),
        ("   ", "notAnAmount"),
        *((text, "notAnAmount") for text in NO_AMOUNTS.split("|")),
        ("\u0661\u066b\u0665\u066b\u0660", "notAnAmount"),
        ("1/2", "notAnAmount"),
        ("\u00bd", "notAnAmount"),
        ("5\u00b2", "notAnAmount"),
        ("\u2460", "notAnAmount"),
        ("5%", "notAnAmount"),
        ("(5)", "notAnAmount"),
        ("+5", "notAnAmount"),
        ("5-", "notAnAmount"),
        ("1_000", "notAnAmount"),
        ("5-10", "notAnAmount"),
        ("5 usd 6", "notAnAmount"),
        ("1\u0662", "notAnAmount"),
        ("$5 EUR", "notAnAmount"),
        ("€5$", "notAnAmount"),
        ("5\n6", "notAnAmount"),
        ("9" * 65, "notAnAmount"),
        ("5\x00", "notAnAmount"),
        ("-5", "notPositive"),
        ("\u22125", "notPositive"),
        ("$-5", "notPositive"),
        ("-$5", "notPositive"),
        ("-1.000", "notPositive"),
        ("5 kr", "unknownCurrency"),
        ("5 abc", "unknownCurrency"),
        ("5 usd eur", "unknownCurrency"),
        ("5k", "unknownCurrency"),
        ("about 5", "unknownCurrency"),
        ("<b>5</b>", "unknownCurrency"),
    ],
)
def test_a_text_that_is_no_amount_is_refused(text: str, reason: str) -> None:
    """A text must be one amount with at most one currency."""
    with pytest.raises(MoneyError) as caught:
        amounts.read_amount(text, "USD")
    assert reason == caught.value.reason
    assert caught.value.choices == ()
    assert str(caught.value)


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
