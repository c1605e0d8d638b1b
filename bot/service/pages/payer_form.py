"""The amount that a payer chose: a suggested one, or an own one as people write it.

The field may come twice, as the page's radio button and its text. Nothing is guessed: an amount
that can be read in two ways, and a button with a different text, are asked about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from bot.core import errors
from bot.core.images import unicode_text
from bot.core.money import amounts
from bot.core.text import sanitize, translations
from bot.service.checkouts.order import AMOUNT, TOO_SMALL
from bot.service.http import call_inputs
from bot.service.requests import request

if TYPE_CHECKING:
    from fastapi import Request


# Requests of a payer's browser: the language of the texts, the tag for amounts, the form.


_TAG = re.compile(r"([a-z]{2,3}(?:-[a-z0-9]{1,8}){0,3})(?:;q=([01](?:\.[0-9]{0,3})?))?")
MAX_FIELDS = 20
MAX_HEADER = 200
"""Characters of an Accept-Language header that are read."""

RIGHT_TO_LEFT = frozenset(
    {"ar", "ckb", "dv", "fa", "he", "ks", "lrc", "mzn", "ps", "sd", "ug", "ur", "yi"}
)
"""Languages whose scripts run from right to left (CLDR)."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader; `language` of the texts, `tag` of the amounts, such as `de-at`.

    Both run in one direction: an amount written from right to left falls apart in English.
    """

    language: str
    tag: str

    def t(self, key: str, **values: object) -> str:
        return _translate(self.language, key, tuple(values.items()))

    @property
    def direction(self) -> str:
        return _direction(self.language)


@lru_cache(maxsize=4096)
def _translate(language: str, key: str, values: tuple[tuple[str, object], ...]) -> str:
    """Return a text; cached, because all payers of a request need the same few."""
    return translations.t(language, key, **dict(values))


def reader_of(accept_language: str) -> Reader:
    """Return the reader of an Accept-Language header (RFC 9110 section 12.5.4)."""
    parts = accept_language[:MAX_HEADER].lower().replace(" ", "").split(",")
    found = [match for part in parts if (match := _TAG.fullmatch(part))]
    ranked = sorted(found, key=lambda match: -float(match[2] or 1))
    tags = [match[1] for match in ranked if float(match[2] or 1) > 0]
    known = (tag for tag in tags if tag.partition("-")[0] in translations.languages())
    language = translations.choose(next(known, None))
    fitting = tags and _direction(tags[0]) == _direction(language)
    return Reader(language, tags[0] if fitting else language)


def _direction(tag: str) -> str:
    """Return the direction of a language's script, as in HTML."""
    language, *parts = tag.split("-")
    return "rtl" if language in RIGHT_TO_LEFT or "arab" in parts else "ltr"


def reader(request: Request) -> Reader:
    return reader_of(request.headers.get("accept-language", ""))


async def read(request: Request) -> dict[str, str]:
    """Return the fields of a posted form. Raises InvalidBody and the errors of `read_text`."""
    return single(await read_all(request))


async def read_all(request: Request) -> dict[str, list[str]]:
    """Return the fields of a posted form, each with all its values in their order.

    Raises InvalidBody and the errors of `read_text`.
    """
    text = await call_inputs.read_text(request, call_inputs.FORM)
    try:
        return parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise errors.InvalidBody("The form has too many fields.") from None


def single(fields: Mapping[str, list[str]]) -> dict[str, str]:
    """Return the one value of each field.

    Raises InvalidBody where a field has several different ones: which is meant is never guessed.
    """
    several = [name for name, values in fields.items() if len(set(values)) > 1]
    if several:
        raise errors.InvalidBody("A field of the form has several values.")
    return {name: values[0] for name, values in fields.items()}


OTHER = "other"
"""Value of the radio button beside the text."""


class AmountProblem(StrEnum):
    """What is wrong with an amount."""

    EMPTY = "empty"
    UNREADABLE = "unreadable"
    CURRENCY = "currency"
    AMBIGUOUS = "ambiguous"
    BOTH = "both"
    LOW = "low"
    HIGH = "high"
    TINY = "tiny"
    DECIMALS = "decimals"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class ChosenAmount:
    """The amount in minor units, or its problem and the amounts that may be meant.

    None without a problem is the request's price.
    """

    amount: int | None = None
    problem: AmountProblem | None = None
    readings: tuple[int, ...] = ()


_OF_MONEY = {
    "notPositive": AmountProblem.LOW,
    "tooLarge": AmountProblem.HIGH,
    "tooManyDecimals": AmountProblem.DECIMALS,
    "unknownCurrency": AmountProblem.CURRENCY,
}


def written(minor: int, currency: str) -> str:
    """Write an amount so that it can be read in one way: three decimals look like thousands."""
    plain = f"{amounts.from_minor(minor, currency):f}"
    return plain + "0" if len(plain.partition(".")[2]) == 3 else plain  # noqa: PLR2004 - a group of thousands


@dataclass(frozen=True, slots=True)
class _Reading:
    """The amounts that one value may mean; `sure`: it can be read in one way."""

    amounts: tuple[int, ...]
    sure: bool = True


def read_chosen(values: Sequence[str], terms: request.Terms) -> ChosenAmount:
    """Read the values of the field; a form without it means the price."""
    given = dict.fromkeys(filter(None, map(str.strip, values)))
    typed = [value for value in given if value != OTHER]
    if terms.choice is None:
        return _check_price(typed, terms)
    if not typed:
        return ChosenAmount(None, AmountProblem.EMPTY if values else None)
    try:
        readings = [_read(text, terms.currency) for text in typed]
    except errors.MoneyError as error:
        problem = _OF_MONEY.get(error.reason, AmountProblem.UNREADABLE)
        return ChosenAmount(None, problem)
    except _OtherCurrency:
        return ChosenAmount(None, AmountProblem.CURRENCY)
    return _choose(readings, terms.choice)


def _check_price(typed: Sequence[str], terms: request.Terms) -> ChosenAmount:
    """Accept nothing but the price."""
    for text in typed:
        plain = f"{amounts.from_minor(terms.amount, terms.currency):f}"
        try:
            is_price = text == plain or _read(text, terms.currency) == _Reading((terms.amount,))
        except (errors.MoneyError, _OtherCurrency):
            is_price = False
        if not is_price:
            return ChosenAmount(None, AmountProblem.FIXED)
    return ChosenAmount()


def _choose(readings: Sequence[_Reading], choice: request.AmountChoice) -> ChosenAmount:
    """Return the amount that all values have in common, if it is one and within the bounds."""
    common = set(readings[0].amounts).intersection(*(one.amounts for one in readings))
    every = [one for reading in readings for one in reading.amounts]
    meant = tuple(dict.fromkeys(one for one in every if one in common or not common))
    allowed = tuple(filter(choice.allows, meant))
    if not allowed:
        low = meant[-1] < choice.minimum
        return ChosenAmount(None, AmountProblem.LOW if low else AmountProblem.HIGH)
    if not common:
        return ChosenAmount(None, AmountProblem.BOTH, allowed)
    if len(common) > 1 or not any(reading.sure for reading in readings):
        return ChosenAmount(None, AmountProblem.AMBIGUOUS, allowed)
    return ChosenAmount(allowed[0])


class _OtherCurrency(Exception):
    """The text names a currency, and not that of the request."""


def _read(text: str, currency: str) -> _Reading:
    """Return the amounts of a text. Raises MoneyError and _OtherCurrency."""
    try:
        amount, named = amounts.read_amount(text, currency)
    except errors.MoneyError as error:
        if error.reason != AmountProblem.AMBIGUOUS:
            raise
        named, choices = amounts.read_currency(text, currency), error.choices
    else:
        choices = (amount,)
    if named != currency:
        raise _OtherCurrency
    return _Reading(_minors(choices, currency), sure=len(choices) == 1)


def _minors(choices: Sequence[Decimal], currency: str) -> tuple[int, ...]:
    """Return the minor units of those that the currency can express, if one can."""
    found: list[int] = []
    refused: errors.MoneyError | None = None
    for one in choices:
        try:
            found.append(amounts.to_minor(one, currency))
        except errors.MoneyError as error:
            refused = error
    if refused and not found:
        raise refused
    return tuple(found)


# What a payer ordered on the pay page: amount, quantity, name and message, checked.


CODE_POINTS = 4
"""Code points that a character has at most on average: alerts have bounds in code points."""

FAR = 16
"""Code points per allowed character beyond which a text is refused uncounted: counting blocks."""


@dataclass(frozen=True, slots=True)
class PayerOrder:
    """A payer's order; `quantity` is None where the form has none that can be had.

    `too_long` has the lengths of texts beyond their limits, `amounts` the posted values of the
    amount.
    """

    chosen: ChosenAmount
    quantity: int | None = 1
    words: request.PayerWords = request.NO_WORDS
    too_long: Mapping[str, int] = field(default_factory=dict)
    amounts: Sequence[str] = ()

    @property
    def is_sound(self) -> bool:
        """Return whether it can be paid as it is."""
        return not self.chosen.problem and self.quantity is not None and not self.too_long


NO_ORDER = PayerOrder(ChosenAmount())


def misfit_of(order: PayerOrder, refusal: errors.InvalidBody) -> PayerOrder | None:
    """Return the order with the problem for which it was refused, None for another refusal.

    Only the way to pay decides whether an amount comes to something in its currency.
    """
    codes = {one.field: one.code for one in refusal.info}
    if AMOUNT not in codes:
        return None
    problem = AmountProblem.TINY if codes[AMOUNT] == TOO_SMALL else AmountProblem.HIGH
    return replace(order, chosen=replace(order.chosen, problem=problem))


def read_order(terms: request.Terms, posted: Sequence[str], form: Mapping[str, str]) -> PayerOrder:
    """Read an order; `posted` are the values of the amount."""
    chosen = read_chosen(posted, terms)
    quantity = _quantity(form.get("quantity", ""), terms.max_quantity or 1)
    name = " ".join(sanitize.words(form.get("name", "")).split())
    message = sanitize.words(form.get("message", ""))
    lengths = {"name": (name, request.LONGEST_NAME), "message": (message, request.LONGEST_MESSAGE)}
    return PayerOrder(
        chosen if quantity is None else _within_bounds(chosen, quantity, terms),
        quantity,
        request.PayerWords(name or None, message or None),
        {which: n for which, (text, most) in lengths.items() if (n := _excess(text, most))},
        posted,
    )


def _quantity(text: str, most: int) -> int | None:
    """Return a quantity, 1 for an empty text; None for anything but a number from 1 to `most`."""
    text = sanitize.typed(text, digits=True)
    if not text:
        return 1
    digits = text.isdecimal() and len(text) <= len("100")
    return int(text) if digits and 1 <= int(text) <= most else None


def _within_bounds(chosen: ChosenAmount, quantity: int, terms: request.Terms) -> ChosenAmount:
    """Refuse an amount whose sum is beyond the limit of all amounts."""
    total = quantity * (terms.amount if chosen.amount is None else chosen.amount)
    if chosen.problem or total <= amounts.most_minor(terms.currency):
        return chosen
    return ChosenAmount(None, AmountProblem.HIGH)


def _excess(text: str, most: int) -> int:
    """Return the number of characters, as people see them, of a text that is too long; else 0."""
    if len(text) <= most:
        return 0
    if len(text) > most * FAR:
        return len(text)
    count = len(unicode_text.split_clusters(text))
    if count > most:
        return count
    return len(text) if len(text) > most * CODE_POINTS else 0
