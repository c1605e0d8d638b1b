"""Amounts as people write them, by language: read, asked about or refused, never guessed."""

from __future__ import annotations

from decimal import Decimal
from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from bot.core.errors import MoneyError
from bot.core.money.amounts import (
    MAX_AMOUNT,
    currencies,
    exponent,
    format_money,
    from_minor,
    read_amount,
    read_currency,
    to_minor,
)

NBSP, NARROW, THIN, RLM = "\u00a0", "\u202f", "\u2009", "\u200f"
NONE, MINUS, UNKNOWN = "notAnAmount", "notPositive", "unknownCurrency"
LANGUAGES = ("en", "de", "es", "pt-br", "fr", "ru", "ar", "hi")
CODES = sorted(currencies())

# What holds no amount, or more than one.
NO_AMOUNTS = (
    "|   |usd|$|five|.|,-|1e5|1E+5|0x10|NaN|Infinity|1 2|1 0000|0 500|1000 000|1'00|5²|①|(5)|5-|"
    "1.00.00|1.00.000|1,000.000,5|1,000,00|1.000 000|1,000 000.5|1..5|..5|5,|1_000|€5$"
)


def each(outcome: str, texts: str) -> list[tuple[str, str]]:
    """Return texts with the outcome that they have in common."""
    return [(text, outcome) for text in texts.split("|")]


# What is read: `12.50 EUR`, `5 ?` without a currency; what is asked: `1 or 1000 EUR`;
# what is refused: the reason.
FORMS = {
    "en": [
        ("5", "5 ?"),
        ("2.50", "2.50 ?"),
        (".50", "0.50 ?"),
        ("$.50", "0.50 USD"),
        ("$5", "5 USD"),
        ("5$", "5 USD"),
        ("US$5", "5 USD"),
        ("5 usd", "5 USD"),
        ("$5 USD", "5 USD"),
        ("5 USD.", "5 USD"),
        ("USD$5", "5 USD"),
        ("5 US dollars", "5 USD"),
        ("$1,234.56", "1234.56 USD"),
        ("$1,000.50", "1000.50 USD"),
        ("£1,234.56", "1234.56 GBP"),
        ("10 £", "10 GBP"),
        ("€12.50", "12.50 EUR"),
        ("5 euros", "5 EUR"),
        ("C$5 CAD", "5 CAD"),
        ("CA$5", "5 CAD"),
        ("A$20 AUD", "20 AUD"),
        ("$20 CAD", "20 CAD"),
        ("$5 SGD", "5 SGD"),
        ("20 Canadian dollars", "20 CAD"),
        ("12 Swiss francs", "12 CHF"),
        ("500 yen", "500 JPY"),
        ("¥500", "500 JPY"),
        ("¥100 CNY", "100 CNY"),
        ("100 sats", "100 SAT"),
        ("100 satoshis", "100 SAT"),
        ("0.00000001 BTC", "0.00000001 BTC"),
        ("0.125 KWD", "0.125 KWD"),
        ("1,000,000", "1000000 ?"),
        ("1000000000 USD", "1000000000 USD"),
        ("5\u200b USD", "5 USD"),
        ("1,000", "1 or 1000 ?"),
        ("1,000 BTC", "1 or 1000 BTC"),
        ("$12,345", "12.345 or 12345 USD"),
        ("1.000 EUR", "1 or 1000 EUR"),
        ("1000000000.01 USD", "tooLarge"),
        ("0.005 USD", "tooManyDecimals"),
        ("5.50 JPY", "tooManyDecimals"),
        *each(MINUS, "0|-5|-$5|$-5|\u22125 USD"),
        *each(
            UNKNOWN,
            "5 dollars|5 bucks|C$5|kr 50|5 bitcoin|1 mBTC|5k|1.5M|2.5k USD|5 USD each|"
            "about 5 USD|5 new shirts|5 ft|5 USD!",
        ),
        *each(
            NONE,
            "free|five dollars|1e3|½|5½|1/2|+5|~5|5%|#5|5.|5..0|5,,0|1,2,3|1.2.3|1 00|5-10 USD|"
            "2 x $5|5 USD 6|USD 5 EUR|$5 EUR|USD.5|USD,5|5:30|5$10",
        ),
    ],
    "de": [
        ("12,5 €", "12.5 EUR"),
        ("€ 12,50", "12.50 EUR"),
        ("5€", "5 EUR"),
        ("5 Euro", "5 EUR"),
        ("5,- €", "5 EUR"),
        ("5,-", "5 ?"),
        ("5,–", "5 ?"),
        ("5,-- Euro", "5 EUR"),
        ("1.000,- €", "1000 EUR"),
        ("1.234.567,89", "1234567.89 ?"),
        ("1.000,50 EUR", "1000.50 EUR"),
        ("CHF 12.-", "12 CHF"),
        ("Fr. 12.50", "12.50 CHF"),
        ("Fr.12.50", "12.50 CHF"),
        ("12.50 Fr.", "12.50 CHF"),
        ("SFr. 5.-", "5 CHF"),
        ("1'000.50", "1000.50 ?"),
        ("1\u2019000,\u2013", "1000 ?"),
        ("1´000.50", "1000.50 ?"),
        ("1'000.- CHF", "1000 CHF"),
        ("20 Schweizer Franken", "20 CHF"),
        ("20 Franken", "20 CHF"),
        ("10 US-Dollar", "10 USD"),
        ("1.000 €", "1 or 1000 EUR"),
        *each(
            UNKNOWN,
            "10 Dollar|20 Kronen|ca. 5 €|5 €/Stück|5 € pro Stück|5 Mio €|5 Tsd. Euro|5 k€",
        ),
        *each(NONE, "5-10 €|5 - 10 €|5 bis 10 €|gratis|1.5,0 €"),
    ],
    "es": [
        ("1234,50 €", "1234.50 EUR"),
        ("1.234,50€", "1234.50 EUR"),
        ("$ 50 MXN", "50 MXN"),
        ("MXN$50", "50 MXN"),
        ("$1,500.00 MXN", "1500.00 MXN"),
        ("$ 20.000,00 COP", "20000.00 COP"),
        ("U$S 5", "5 USD"),
        ("S/ 10", "10 PEN"),
        ("S/.10", "10 PEN"),
        ("S/. 10.50", "10.50 PEN"),
        ("10 soles", "10 PEN"),
        ("RD$500", "500 DOP"),
        ("₡500", "500 CRC"),
        ("100 pesos mexicanos", "100 MXN"),
        ("20 dólares estadounidenses", "20 USD"),
        ("20.000 COP", "20 or 20000 COP"),
        *each(UNKNOWN, "100 pesos|20 dólares|1 sol|Bs 50|5 mil pesos"),
    ],
    "pt-br": [
        ("R$ 10,50", "10.50 BRL"),
        ("R$10", "10 BRL"),
        ("10,50 R$", "10.50 BRL"),
        ("10 reais", "10 BRL"),
        ("R$ 1.234,56", "1234.56 BRL"),
        (f"R${NBSP}5,00", "5.00 BRL"),
        ("10 reais brasileiros", "10 BRL"),
        ("US$ 5,00", "5.00 USD"),
        ("R$ 1.000", "1 or 1000 BRL"),
        *each(UNKNOWN, "1 real|10 mil reais|10 conto"),
        ("R$ 5 a 10", NONE),
    ],
    "fr": [
        ("12€50", "12.50 EUR"),
        ("0€99", "0.99 EUR"),
        ("1 234€50", "1234.50 EUR"),
        ("1.234€50", "1234.50 EUR"),
        ("1 000,50 €", "1000.50 EUR"),
        (f"1{NARROW}234{NARROW}567,89{NBSP}€", "1234567.89 EUR"),
        ("20 $ CAD", "20 CAD"),
        ("20 $CA", "20 CAD"),
        ("20 dollars canadiens", "20 CAD"),
        ("5000 FCFA XOF", "5000 XOF"),
        *each(UNKNOWN, "5000 francs CFA|5000 FCFA|20 francs"),
        *each(NONE, "12€5|12€500|1,5€50|12€50€"),
    ],
    "ru": [
        ("100 ₽", "100 RUB"),
        ("1 000,50 ₽", "1000.50 RUB"),
        ("100 руб. RUB", "100 RUB"),
        ("100 российских рублей", "100 RUB"),
        ("100 белорусских рублей", "100 BYN"),
        ("100,50 грн", "100.50 UAH"),
        ("100 ₴", "100 UAH"),
        ("5 евро", "5 EUR"),
        ("5 долларов США", "5 USD"),
        ("500 тенге", "500 KZT"),
        ("20 zł", "20 PLN"),
        ("1 500,- Kč", "1500 CZK"),
        ("1.000 руб. RUB", "1 or 1000 RUB"),
        *each(UNKNOWN, "100 руб|100 р.|5 долларов|10 тыс. ₽"),
    ],
    "ar": [
        ("١٢٫٥", "12.5 ?"),
        ("١٬٢٣٤٫٥٠", "1234.50 ?"),
        ("۱۲٫۵", "12.5 ?"),
        ("٥٠ ر.س", "50 SAR"),
        ("ر.س.\u200f ٥٠", "50 SAR"),
        (f"{RLM}٥٠{NBSP}د.إ.{RLM}", "50 AED"),
        ("100 ج.م", "100 EGP"),
        ("٥ يورو", "5 EUR"),
        ("٥ دولار أمريكي", "5 USD"),
        ("٥٠ ريال سعودي", "50 SAR"),
        ("USD ٥٠", "50 USD"),
        ("٠٫١٢٥ د.ك", "0.125 KWD"),
        ("١،٠٠٠", "1 or 1000 ?"),
        *each(UNKNOWN, "٥٠ ريال|٥٠ درهم"),
        *each(NONE, "1٢|١٫٢٫٣"),
    ],
    "hi": [
        ("१२.५", "12.5 ?"),
        ("₹१२.५०", "12.50 INR"),
        ("₹1,00,000", "100000 INR"),
        ("1,00,000 INR", "100000 INR"),
        ("₹12,34,567.50", "1234567.50 INR"),
        ("₹500/-", "500 INR"),
        ("Rs. 1,500/- INR", "1500 INR"),
        ("५०० भारतीय रुपए", "500 INR"),
        ("५ यूरो", "5 EUR"),
        ("₹1,500", "1.5 or 1500 INR"),
        *each(UNKNOWN, "Rs. 500|५०० रुपये|5 lakh"),
        ("₹1,00,00", NONE),
    ],
    "others": [
        ("５００円", "500 JPY"),
        ("50 SEK", "50 SEK"),
        ("50 kr SEK", "50 SEK"),
        ("50:- SEK", "50 SEK"),
        ("50 kronor", "50 SEK"),
        ("  5  ", "5 ?"),
        ("007", "7 ?"),
        ("2,50", "2.50 ?"),
        ("0,001", "0.001 ?"),
        ("00.125", "0.125 ?"),
        (",50", "0.50 ?"),
        (".500", "0.500 ?"),
        ("1.0000", "1.0000 ?"),
        ("1234.567", "1234.567 ?"),
        ("1 000", "1000 ?"),
        (f"1{NBSP}000", "1000 ?"),
        (f"1{THIN}000", "1000 ?"),
        ("1'000", "1000 ?"),
        ("12 345 678", "12345678 ?"),
        ("1.000.000", "1000000 ?"),
        ("1 000.50", "1000.50 ?"),
        ("1 000,500", "1000.500 ?"),
        ("1,000,000.5", "1000000.5 ?"),
        ("1.000,500", "1000.500 ?"),
        ("5.-", "5 ?"),
        ("$ 5", "5 USD"),
        ("₿0.001", "0.001 BTC"),
        ("5usd", "5 USD"),
        ("usd5", "5 USD"),
        ("2.5 mnee", "2.5 MNEE"),
        ("١٫٥٠٠", "1.500 ?"),
        ("１２．５", "12.5 ?"),
        ("＄５", "5 USD"),
        (f"{RLM}5.00{NBSP}US$", "5.00 USD"),
        ("1,000$", "1 or 1000 USD"),
        ("١,٠٠٠", "1 or 1000 ?"),
        ("100,000 JPY", "100 or 100000 JPY"),
        ("999.999 KWD", "999.999 or 999999 KWD"),
        *each(NONE, NO_AMOUNTS),
        ("9" * 65, NONE),
        ("5\x00", NONE),
        ("5\n6", NONE),
        *each(UNKNOWN, "R 50|50元|50 kr|5 abc|5 usd eur|<b>5</b>"),
        ("-1.000", MINUS),
    ],
}

# What the same words mean to sellers whose usual currency is known.
USUALLY = [
    ("5", "EUR", "5 EUR"),
    ("1.000", "EUR", "1 or 1000 EUR"),
    ("5 dollars", "CAD", "5 CAD"),
    ("5 dollars", "EUR", UNKNOWN),
    ("50 kr", "SEK", "50 SEK"),
    ("kr. 50", "DKK", "50 DKK"),
    ("kr.50", "NOK", "50 NOK"),
    ("100 руб.", "RUB", "100 RUB"),
    ("100 р", "BYN", "100 BYN"),
    ("Rs.500", "INR", "500 INR"),
    ("Rs.500.50", "PKR", "500.50 PKR"),
    ("रु.500", "INR", "500 INR"),
    ("Rs .500", "INR", NONE),
    ("USD .50", "INR", "0.50 USD"),
    ("Rs,500", "INR", NONE),
    ("५०० रुपये", "INR", "500 INR"),
    ("٥٠ ريال", "SAR", "50 SAR"),
    ("٥٠ درهم", "AED", "50 AED"),
    ("100 pesos", "MXN", "100 MXN"),
    ("1 real", "BRL", "1 BRL"),
    ("R50", "ZAR", "50 ZAR"),
    ("5000 FCFA", "XOF", "5000 XOF"),
    ("5000 Ft", "HUF", "5000 HUF"),
    ("0.5 bitcoin", "BSV", "0.5 BSV"),
    ("$5", "USD", "5 USD"),
    ("$5", "NOK", "5 USD"),
    ("$5 USD", "MXN", "5 USD"),
    ("$50 MXN", "USD", "50 MXN"),
    ("$5", "CAD", UNKNOWN),
    ("$50", "MXN", UNKNOWN),
    ("¥50", "CNY", UNKNOWN),
    ("£50", "EGP", UNKNOWN),
    ("5 €", "USD", "5 EUR"),
    ("12€50", "USD", "12.50 EUR"),
]


def answer(text: str, usual: str | None) -> str:
    """Return the outcome of a text, in the words of the tables."""
    try:
        amount, code = read_amount(text, usual)
        to_minor(amount, code or "BTC")
    except MoneyError as error:
        if error.reason != "ambiguous":
            return f"{error.reason} {error.choices}" if error.choices else error.reason
        return f"{' or '.join(map(str, error.choices))} {read_currency(text, usual) or '?'}"
    return f"{amount:f} {code or '?'}" if code == read_currency(text, usual) else "two currencies"


ALL = [(language, *form) for language, forms in FORMS.items() for form in forms]


def test_a_form_of_a_language_is_read_asked_about_or_refused() -> None:
    """Each form has one outcome in every language."""
    found = [(language, text, answer(text, None)) for language, text, _ in ALL]
    assert not [(one, form) for one, form in zip(found, ALL, strict=True) if one != form]


def test_the_usual_currency_decides_between_those_that_share_a_word() -> None:
    """A shared word means the seller's usual currency, unless alone it means another one."""
    found = [(text, usual, answer(text, usual)) for text, usual, _ in USUALLY]
    assert not [(one, form) for one, form in zip(found, USUALLY, strict=True) if one != form]


def test_the_table_holds_the_habits_of_all_languages() -> None:
    """No language is forgotten, and each outcome occurs."""
    assert {*LANGUAGES, "others"} == FORMS.keys()
    assert len({text for _, text, _ in ALL}) == len(ALL) > 90
    assert all(len(forms) > 7 for forms in FORMS.values())


sums = st.sampled_from(CODES).flatmap(
    lambda code: st.tuples(st.integers(1, MAX_AMOUNT * 10 ** exponent(code)), st.just(code))
)


@given(sums, st.sampled_from(LANGUAGES), st.sampled_from([None, "USD", "CAD", "XOF", "BYN"]))
@example((500, "USD"), "en", "CAD")
@example((1000, "KWD"), "ar", None)
@example((5000, "XAF"), "fr", "XOF")
def test_a_written_amount_is_never_read_as_another_one(
    sum_: tuple[int, str], language: str, usual: str | None
) -> None:
    """A text of the bot that a seller pastes back is that amount, or is asked about."""
    minor, code = sum_
    shown = format_money(minor, code, language)
    amounts, _, named = answer(shown, usual).rpartition(" ")
    if "CFA" in shown:
        assert named in (code, UNKNOWN) or usual == "XOF"
    elif named == UNKNOWN:
        assert (usual, code) == ("CAD", "USD")
    else:
        assert code == named
        assert from_minor(minor, code) in map(Decimal, amounts.split(" or "))


def test_a_written_amount_is_read_back_in_every_currency() -> None:
    """Without a default currency; two currencies are the exception."""
    for language, code in product(LANGUAGES, CODES):
        shown = format_money(5 * 10 ** exponent(code), code, language)
        expected = UNKNOWN if "CFA" in shown else code
        assert expected == answer(shown, None).split()[-1], shown


def test_invisible_marks_change_nothing() -> None:
    """Keyboards and copied texts add them."""
    for mark in "\u200f\u200e\u061c\u2067\u200b\ufeff":
        for text in ("5 USD", "١٢٫٥ ر.س", "1,000 €", "10 reais"):
            assert answer(text, None) == answer(mark.join(text), None), ascii(mark)
