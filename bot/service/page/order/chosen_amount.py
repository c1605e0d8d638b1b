"""The amount that a payer chose: a suggested one, or an own one as people write it.

The field may come twice, as the page's radio button and its text. Nothing is guessed: an amount
that can be read in two ways, and a button with a different text, are asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from bot.core.errors import MoneyError
from bot.core.money import amounts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from bot.service.model.amount_choice import AmountChoice
    from bot.service.model.request import Terms

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


def read_chosen(values: Sequence[str], terms: Terms) -> ChosenAmount:
    """Read the values of the field; a form without it means the price."""
    given = dict.fromkeys(filter(None, map(str.strip, values)))
    typed = [value for value in given if value != OTHER]
    if terms.choice is None:
        return _check_price(typed, terms)
    if not typed:
        return ChosenAmount(None, AmountProblem.EMPTY if values else None)
    try:
        readings = [_read(text, terms.currency) for text in typed]
    except MoneyError as error:
        problem = _OF_MONEY.get(error.reason, AmountProblem.UNREADABLE)
        return ChosenAmount(None, problem)
    except _OtherCurrency:
        return ChosenAmount(None, AmountProblem.CURRENCY)
    return _choose(readings, terms.choice)


def _check_price(typed: Sequence[str], terms: Terms) -> ChosenAmount:
    """Accept nothing but the price."""
    for text in typed:
        plain = f"{amounts.from_minor(terms.amount, terms.currency):f}"
        try:
            is_price = text == plain or _read(text, terms.currency) == _Reading((terms.amount,))
        except (MoneyError, _OtherCurrency):
            is_price = False
        if not is_price:
            return ChosenAmount(None, AmountProblem.FIXED)
    return ChosenAmount()


def _choose(readings: Sequence[_Reading], choice: AmountChoice) -> ChosenAmount:
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
    except MoneyError as error:
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
    refused: MoneyError | None = None
    for one in choices:
        try:
            found.append(amounts.to_minor(one, currency))
        except MoneyError as error:
            refused = error
    if refused and not found:
        raise refused
    return tuple(found)
