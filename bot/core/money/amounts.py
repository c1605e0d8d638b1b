"""Parse and format exact amounts in minor units, in the notations that people use.

A currency is an upper-case code, either from ISO 4217 if Babel (CLDR) lists it as in use, with
CLDR's decimals, or from `currencies.json` next to this file. No amount is ever a float.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache, lru_cache, reduce
from pathlib import Path

from babel import Locale, UnknownLocaleError
from babel.core import get_global
from babel.numbers import format_currency, format_decimal, get_currency_precision

from bot.core import errors
from bot.core.money import spellings
from bot.core.text import sanitize

MAX_AMOUNT = 1_000_000_000  # in major units; our limit
MAX_MINOR = 2**63 - 1  # BIGINT
RATE_DIGITS = 8
_UNITS = {"SAT": "sat"}  # written after an amount; other currencies use their code
MAX_TEXT = 64  # characters; a longer text is not an amount
EXAMPLE, EXAMPLE_WITHOUT_DECIMALS = "5", "500"
"""Example prices for ISO 4217 currencies; the table has the examples of all others."""

_DATA = Path(__file__).with_name("currencies.json")
_NOT_ISO = frozenset({"CNH", "XXX"})  # also in CLDR's tables: offshore yuan, "no currency"
_NOWHERE = "ZZ"  # CLDR's region for metals, test codes and accounting units
_NBSP = "\u00a0"
# CLDR's currencySpacing, which Babel 2.18 leaves out: KWD 1.500, not KWD1.500.
_LETTER_BESIDE_DIGIT = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=[^\W\d_]\.)(?=\d)|(?<=\d)(?=[^\W\d_])")

_ARABIC_DECIMAL = "\u066b"  # never a group separator, unlike the full stop and the comma
_SAME_MARK = {
    **dict.fromkeys([0x2018, 0x2019, 0x066C], "'"),  # quotation marks, Arabic thousands separator
    **dict.fromkeys([*range(0x2010, 0x2016), 0x2212], "-"),  # dashes, minus
    0x060C: ",",  # Arabic comma
}
# Accents typed as apostrophes: NFKC would split one of them.
_BARE: dict[int, str | None] = {
    **sanitize.INVISIBLE_MARKS,
    **dict.fromkeys([0x0060, 0x00B4, 0x02BC], "'"),
}
# A dash in place of cents, with the preceding mark: 5,- and 12.-- and 50:- and 500/- and 500/=
_NO_CENTS = r"(?:[.,:] ?--?|/[-=])"
_NUMBER = re.compile(rf"[.,\u066b]?[0-9](?:.*[0-9])?{_NO_CENTS}?")
_WHOLE = re.compile(rf"{_NO_CENTS}$")
_EURO_INSIDE = re.compile(r"([0-9][0-9.,' ]*)€([0-9]{2})")  # as the French write 12€50
_ONLY_NUMBER = re.compile(r"[0-9.,\u066b' ]+")
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?: [0-9]{3})+")
_LAKHS = re.compile(r"[1-9][0-9]?(?: [0-9]{2})+ [0-9]{3}")


@dataclass(frozen=True, slots=True)
class _Currency:
    """The facts about a currency."""

    decimals: int

    shown: int
    """The minimum number of decimals that are written."""

    iso: bool

    example: str
    """The price of something small, in major units."""

    aliases: tuple[str, ...] = ()


@cache
def _table() -> dict[str, _Currency]:
    own = json.loads(_DATA.read_text("utf-8"))
    table = {
        code: _Currency(
            fact["decimals"],
            fact["shownDecimals"],
            iso=False,
            example=fact["example"],
            aliases=(*fact["aliases"],),
        )
        for code, fact in own.items()
    }
    for territory, entries in get_global("territory_currencies").items():
        for code, _, ended, _ in entries:
            if territory != _NOWHERE and ended is None and code not in _NOT_ISO:
                decimals = get_currency_precision(code)
                example = EXAMPLE if decimals else EXAMPLE_WITHOUT_DECIMALS
                table[code] = _Currency(decimals, decimals, iso=True, example=example)
    return table


@cache
def _names() -> dict[str, spellings.Spelling]:
    """Return the currencies by folded code, symbol and alias."""
    table = _table()
    symbols = Locale("en").currency_symbols
    spelled = {symbols[code]: code for code in table if code in symbols}
    for code, currency in table.items():
        spelled |= dict.fromkeys((code, *currency.aliases), code)
    single = {spellings.fold(name): spellings.spelling_of(code) for name, code in spelled.items()}
    return single | spellings.own_spellings()


def currencies() -> frozenset[str]:
    """Return every code that the interface accepts."""
    return frozenset(_table())


@cache
def _by_name() -> frozenset[str]:
    """Return the currencies that people may name in words: `5 gold` is not a price."""
    return frozenset(code for code, currency in _table().items() if currency.iso)


def exponent(currency: str) -> int:
    """Return the number of decimals of a currency: 2 for USD, 0 for JPY, 8 for BSV.

    Raises MoneyError unknownCurrency, including for lower-case codes.
    """
    return _currency(currency).decimals


def example(currency: str) -> str:
    """Return an amount in major units that a seller may ask for: 5 for USD, 0.001 for BTC."""
    return _currency(currency).example


def shown_decimals(currency: str) -> int:
    """Return the minimum number of decimals that are written."""
    return _currency(currency).shown


def _currency(code: str) -> _Currency:
    try:
        return _table()[code]
    except KeyError:
        message = f"{code[:MAX_TEXT]!r} is not a known currency"
        raise errors.MoneyError("unknownCurrency", message) from None


def find_currency(name: str) -> str:
    """Return the currency code for a name: `usd`, `Eur`, `€`, `sats`, `reais`.

    Raises MoneyError unknownCurrency, including for an ambiguous name (`kr`).
    """
    return _meant(_spelling(name), name, None)


def _spelling(name: str) -> spellings.Spelling:
    """Look up a name as a whole or word by word: `$ MXN`."""
    table, folded = _names(), spellings.fold(name[:MAX_TEXT])
    words = [folded] if folded in table else folded.split()
    if words and all(word in table for word in words):
        meant = reduce(spellings.Spelling.beside, [table[word] for word in words])
    else:
        meant = spellings.find_in_cldr(folded, _by_name())
    if not meant.codes:
        message = f"{name[:MAX_TEXT]!r} names no currency: write its code, as in 5 USD"
        raise errors.MoneyError("unknownCurrency", message)
    return meant


def _meant(spelling: spellings.Spelling, name: str, default: str | None) -> str:
    """Choose the currency: with CAD as `default`, `$` is ambiguous and `dollars` is CAD."""
    meant = spelling.codes & {default, spelling.usual}
    if len(meant) != 1:
        several = ", ".join(sorted(spelling.codes))
        message = f"{name[:MAX_TEXT]!r} may be any of {several}: write the code"
        raise errors.MoneyError("unknownCurrency", message)
    return min(meant)


def to_minor(amount: Decimal, currency: str) -> int:
    """Return the exact minor units (cents) of an amount: 0 < amount <= 1 000 000 000.

    Raises MoneyError unknownCurrency, notAnAmount (NaN, infinite), notPositive, tooLarge,
    tooManyDecimals. Cheap for any exponent: limits are checked before digits are expanded.
    """
    decimals = exponent(currency)
    if not amount.is_finite():
        raise errors.MoneyError("notAnAmount", f"{amount} is no amount")
    if amount <= 0:
        raise errors.MoneyError("notPositive", "An amount must be more than 0")
    if amount > MAX_AMOUNT:
        raise errors.MoneyError("tooLarge", f"An amount is at most {MAX_AMOUNT}")
    minor = _shifted(amount, decimals)
    if minor is None:
        message = f"{currency} has {decimals} decimals, the amount has more"
        raise errors.MoneyError("tooManyDecimals", message)
    if minor > MAX_MINOR:
        raise errors.MoneyError("tooLarge", "An amount must fit in 64 bits of minor units")
    return minor


@cache
def most_minor(currency: str) -> int:
    """Return the largest amount of a currency, in its minor units."""
    return int(min(MAX_AMOUNT * 10 ** exponent(currency), MAX_MINOR))


def _shifted(amount: Decimal, decimals: int) -> int | None:
    """Return amount * 10 ** decimals if it is whole; the amount is in (0, MAX_AMOUNT]."""
    _, digits, power = amount.as_tuple()
    shift = int(power) + decimals
    if shift < 0:
        if -shift >= len(digits) or any(digits[shift:]):
            return None
        digits = digits[:shift]
    zeros = "0" * max(shift, 0)
    return int("".join(map(str, digits)) + zeros)


def from_minor(minor: int, currency: str) -> Decimal:
    """Return the amount of minor units, with all decimals of the currency: 500 USD is 5.00."""
    return Decimal(f"{minor}E-{exponent(currency)}")  # exact, as arithmetic on Decimals may not be


def format_money(minor: int, currency: str, language: str) -> str:
    """Format an exact amount for people: `$5.00`, `5,00 €`, `0.0005 BSV`, `21 sat`.

    `language` is a Telegram language_code (`en`, `pt-br`); an unknown code means English. Spaces
    are non-breaking if CLDR's are.
    """
    amount, fact, locale = from_minor(minor, currency), _currency(currency), _locale(language)
    if fact.iso:
        return _LETTER_BESIDE_DIGIT.sub(_NBSP, format_currency(amount, currency, locale=locale))
    pattern = "#,##0"
    if fact.decimals:
        pattern += "." + "0" * fact.shown + "#" * (fact.decimals - fact.shown)
    return format_decimal(amount, pattern, locale=locale) + _NBSP + unit(currency)


def format_short(minor: int, currency: str, language: str) -> str:
    """Format like `format_money`, but omit zero decimals: `€420`, `1.000 €`, `€4.20`."""
    amount, locale = from_minor(minor, currency), _locale(language)
    pattern = locale.currency_formats["standard"].pattern
    if not _currency(currency).iso or amount % 1 or ".00" not in pattern:
        return format_money(minor, currency, language)
    short = pattern.replace(".00", "")
    written = format_currency(amount, currency, short, locale, currency_digits=False)
    return _LETTER_BESIDE_DIGIT.sub(_NBSP, written)


def unit(currency: str) -> str:
    """Return the text written after a number: `sat`, or the code of most currencies."""
    return _UNITS.get(currency, currency)


def format_number(value: Decimal, language: str) -> str:
    """Format a number with eight significant digits and no exponent."""
    shown = Context(prec=RATE_DIGITS).create_decimal(value)
    return format_decimal(shown, "#,##0.###", locale=_locale(language), decimal_quantization=False)


@lru_cache(maxsize=256)
def _locale(language: str) -> Locale:
    try:
        return Locale.parse(language.replace("_", "-"), sep="-")
    except (UnknownLocaleError, ValueError, TypeError):
        return Locale("en")


def read_amount(text: str, default_currency: str | None) -> tuple[Decimal, str | None]:
    """Parse an amount and its currency: `2,50`, `$5`, `1 000 usd`, `5,-`, digits of any script.

    The currency is `default_currency` if the text names no currency, or names it ambiguously, such
    as `5 kr` for SEK. `to_minor` checks the amount against the currency's decimals and limits.
    Raises MoneyError notAnAmount, notPositive (a minus), unknownCurrency, and ambiguous with
    `choices` (as decimals, as thousands) for `1.000` and `1,000`, so that callers ask the person.
    """
    number, currency = _split(text, default_currency)
    return _read_number(number), currency


def read_currency(text: str, default_currency: str | None) -> str | None:
    """Parse only the currency of an amount that `read_amount` found ambiguous."""
    return _split(text, default_currency)[1]


def _split(text: str, default: str | None) -> tuple[str, str | None]:
    """Return the number in ASCII, and the code of its currency or the default."""
    plain = _plain(text)
    if inside := _EURO_INSIDE.fullmatch(plain):
        return f"{_ungrouped(inside[1])}.{inside[2]}", "EUR"
    before, number, after = _parts(plain)
    if before.startswith("-") or before.endswith("-"):
        raise errors.MoneyError("notPositive", "An amount has no minus sign")
    if not _ONLY_NUMBER.fullmatch(_WHOLE.sub("", number)):
        raise errors.MoneyError("notAnAmount", "More than one number, or something within it")
    sides = []
    for name in filter(None, (before, after)):
        if not any(char.isalpha() or unicodedata.category(char) == "Sc" for char in name):
            raise errors.MoneyError("notAnAmount", f"{name!r} beside the number is no currency")
        sides.append(_spelling(name))
    if not sides:
        return number, default
    meant = reduce(spellings.Spelling.beside, sides)
    if not meant.codes:
        raise errors.MoneyError("notAnAmount", "Several currencies")
    return number, _meant(meant, f"{before} {after}".strip(), default)


def _parts(plain: str) -> tuple[str, str, str]:
    """Return the text before the number, the number, and the text after it."""
    found = _NUMBER.search(plain)
    if found is None:
        raise errors.MoneyError("notAnAmount", "There is no number in it")
    before, number, after = plain[: found.start()], found.group(), plain[found.end() :]
    if number[0] in ".,":
        touched = before.endswith("/") or unicodedata.category(before[-1:] or " ")[0] in "LM"
        dotted = spellings.fold(before) in spellings.DOTTED
        if touched and dotted and number[0] == ".":
            number = number[1:]  # the full stop of Rs.500, but not that of $.50 or USD .50
        elif touched or dotted:
            raise errors.MoneyError("notAnAmount", f"The mark in {before}{number} is ambiguous")
    return before.strip(), number, after.strip()


def _plain(text: str) -> str:
    """Convert digits, spaces and separators of every script to ASCII."""
    if len(text) > MAX_TEXT:
        raise errors.MoneyError("notAnAmount", f"Longer than {MAX_TEXT} characters")
    if any(unicodedata.category(char) == "No" for char in text):
        raise errors.MoneyError(
            "notAnAmount", "Fractions, exponents and circled digits are not read"
        )
    plain = unicodedata.normalize("NFKC", text.translate(_BARE)).translate(_SAME_MARK)
    digits = {char: unicodedata.decimal(char) for char in plain if char.isdecimal()}
    if len({ord(char) - value for char, value in digits.items()}) > 1:
        raise errors.MoneyError("notAnAmount", "Digits of several scripts")
    ascii_digits = {ord(char): str(value) for char, value in digits.items()}
    return " ".join(plain.translate(ascii_digits).split())


def _read_number(number: str) -> Decimal:
    """Parse digits with separators; each separates groups or decimals, or is ambiguous."""
    if whole := _WHOLE.search(number):
        return Decimal(_ungrouped(number[: whole.start()]))
    marks = re.findall("[^0-9]", number)
    if not marks:
        return Decimal(number)
    head, last, tail = number.rpartition(marks[-1])
    if len(marks) == 1 and last in ".,":  # `2.50` has decimals, `1.000` may be a thousand
        as_decimal = Decimal(f"{head or '0'}.{tail}")
        if not _THOUSANDS.fullmatch(f"{head} {tail}"):
            return as_decimal
        message = f"{number} may be {as_decimal} or {head}{tail}"
        trimmed = Decimal(f"{as_decimal.normalize():f}")  # no trailing zeros, no exponent
        raise errors.MoneyError("ambiguous", message, (trimmed, Decimal(head + tail)))
    if last in "' " or (len(set(marks)) == 1 and last in ".,"):
        return Decimal(_ungrouped(number))
    return Decimal(f"{_ungrouped(head) or '0'}.{tail}")


def _ungrouped(number: str) -> str:
    """Return the digits of a whole number whose groups have one kind of separator."""
    marks = set(re.findall("[^0-9]", number))
    if not marks:
        return number
    spaced = re.sub("[^0-9]", " ", number)
    grouped = _THOUSANDS.fullmatch(spaced) or (marks == {","} and _LAKHS.fullmatch(spaced))
    if len(marks) > 1 or _ARABIC_DECIMAL in marks or not grouped:
        raise errors.MoneyError("notAnAmount", f"{number} is not grouped like a number")
    return spaced.replace(" ", "")
