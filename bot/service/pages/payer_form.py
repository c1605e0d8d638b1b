"""The form of a pay page: posted, read as an order, and shown with its problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from bot.core import errors
from bot.core.money import amounts
from bot.core.text import sanitize
from bot.interface import fields, parts
from bot.service.api import calls
from bot.service.checkouts.order import AMOUNT, TOO_SMALL
from bot.service.pages import page_texts
from bot.service.requests import request

if TYPE_CHECKING:
    from fastapi import Request


# The posted form.


MAX_FIELDS = 20


def refuse_other_sites(request: Request) -> None:
    """Raise CrossSite if the browser says that a page of another site posts.

    Old browsers and programs send no such header (w3.org/TR/fetch-metadata), and may post.
    """
    if request.headers.get("sec-fetch-site") == "cross-site":
        raise errors.CrossSite


async def read(request: Request) -> dict[str, str]:
    """Return the fields of a posted form. Raises InvalidBody and the errors of `read_text`."""
    return single(await read_all(request))


async def read_all(request: Request) -> dict[str, list[str]]:
    """Return the fields of a posted form, each with all its values in their order.

    Raises InvalidBody and the errors of `read_text`.
    """
    text = await calls.read_text(request, calls.FORM)
    try:
        return parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise errors.InvalidBody("The form has too many fields.") from None


def single(fields: Mapping[str, list[str]]) -> dict[str, str]:
    """Return the single value of each field.

    Raises InvalidBody if a field has different values, instead of guessing which is meant.
    """
    if any(len(set(values)) > 1 for values in fields.values()):
        raise errors.InvalidBody("A field of the form has several values.")
    return {name: values[0] for name, values in fields.items()}


# The amount: a suggested amount, or another amount as people write it.
#
# The field may come twice, from the page's radio button and its text field. Nothing is guessed: if
# an amount has two readings, or the button and the text field differ, the payer is asked.


OTHER = "other"
"""Value of the radio button next to the text field."""


class AmountProblem(StrEnum):
    """What is wrong with an amount."""

    EMPTY = "empty"
    UNREADABLE = "unreadable"
    CURRENCY = "currency"  # another currency than the request's
    AMBIGUOUS = "ambiguous"
    BOTH = "both"  # the button and the text field have different amounts
    LOW = "low"
    HIGH = "high"
    TINY = "tiny"  # nothing in the currency of the payment
    DECIMALS = "decimals"
    FIXED = "fixed"  # not the price, and there is no choice


@dataclass(frozen=True, slots=True)
class ChosenAmount:
    """The amount that a payer chose, or its problem."""

    amount: int | None = None
    """Minor units. None without a problem means the request's price."""

    problem: AmountProblem | None = None
    readings: tuple[int, ...] = ()
    """The amounts that may be meant, in minor units."""


_PROBLEM_OF_MONEY_ERROR = {
    "notPositive": AmountProblem.LOW,
    "tooLarge": AmountProblem.HIGH,
    "tooManyDecimals": AmountProblem.DECIMALS,
    "unknownCurrency": AmountProblem.CURRENCY,
}


def write_amount(minor: int, currency: str) -> str:
    """Write an amount that has only one reading; three decimals would look like thousands."""
    plain = f"{amounts.from_minor(minor, currency):f}"
    return plain + "0" if len(plain.partition(".")[2]) == 3 else plain  # noqa: PLR2004 - a group of thousands


@dataclass(frozen=True, slots=True)
class _Reading:
    """The amounts in minor units that one value may mean."""

    amounts: tuple[int, ...]
    is_unambiguous: bool = True
    """False if the text is ambiguous, even if the currency can express only one reading."""


def read_amount(values: Sequence[str], terms: request.Terms) -> ChosenAmount:
    """Read the values of the amount field. A form without the field means the price."""
    given = dict.fromkeys(filter(None, map(str.strip, values)))
    typed = [value for value in given if value != OTHER]
    if terms.choice is None:
        return _check_price(typed, terms)
    if not typed:
        return ChosenAmount(None, AmountProblem.EMPTY if values else None)
    try:
        readings = [_read(text, terms.currency) for text in typed]
    except errors.MoneyError as error:
        problem = _PROBLEM_OF_MONEY_ERROR.get(error.reason, AmountProblem.UNREADABLE)
        return ChosenAmount(None, problem)
    return _choose(readings, terms.choice)


def _check_price(typed: Sequence[str], terms: request.Terms) -> ChosenAmount:
    """Accept only the price."""
    for text in typed:
        plain = f"{amounts.from_minor(terms.amount, terms.currency):f}"
        try:
            is_price = text == plain or _read(text, terms.currency) == _Reading((terms.amount,))
        except errors.MoneyError:
            is_price = False
        if not is_price:
            return ChosenAmount(None, AmountProblem.FIXED)
    return ChosenAmount()


def _choose(readings: Sequence[_Reading], choice: parts.AmountChoice[int]) -> ChosenAmount:
    """Return the amount within the bounds that all values share, or the problem."""
    common = set(readings[0].amounts).intersection(*(one.amounts for one in readings))
    every = [one for reading in readings for one in reading.amounts]
    meant = tuple(dict.fromkeys(one for one in every if one in common or not common))
    allowed = tuple(filter(choice.allows, meant))
    if not allowed:
        low = meant[-1] < choice.minimum
        return ChosenAmount(None, AmountProblem.LOW if low else AmountProblem.HIGH)
    if not common:
        return ChosenAmount(None, AmountProblem.BOTH, allowed)
    if len(common) > 1 or not any(reading.is_unambiguous for reading in readings):
        return ChosenAmount(None, AmountProblem.AMBIGUOUS, allowed)
    return ChosenAmount(allowed[0])


def _read(text: str, currency: str) -> _Reading:
    """Return the amounts of a text that the currency can express. Raises MoneyError if none is."""
    try:
        amount, named = amounts.read_amount(text, currency)
    except errors.MoneyError as error:
        if error.reason != AmountProblem.AMBIGUOUS:
            raise
        named, choices = amounts.read_currency(text, currency), error.choices
    else:
        choices = (amount,)
    if named != currency:
        raise errors.MoneyError("unknownCurrency", "The text names another currency.")
    found: list[int] = []
    refused: errors.MoneyError | None = None
    for one in choices:
        try:
            found.append(amounts.to_minor(one, currency))
        except errors.MoneyError as error:
            refused = error
    if refused and not found:
        raise refused
    return _Reading(tuple(found), is_unambiguous=len(choices) == 1)


# The order: amount, quantity, name and message.


MAX_CODE_POINTS = 4
"""Code points per allowed character: alerts are limited in code points."""

MAX_COUNTED = 16
"""Code points per allowed character beyond which characters aren't counted, because counting would
block the event loop.
"""


@dataclass(frozen=True, slots=True)
class PayerOrder:
    """The payer's order from the form."""

    chosen: ChosenAmount
    quantity: int | None = 1
    """None if the form has no valid quantity."""

    words: parts.PayerWords = parts.NO_WORDS
    too_long: Mapping[str, int] = field(default_factory=dict)
    """The lengths of the texts that are too long, by field."""

    amounts: Sequence[str] = ()
    """The posted values of the amount."""

    @property
    def is_sound(self) -> bool:
        """True if nothing is wrong with the order."""
        return not self.chosen.problem and self.quantity is not None and not self.too_long


NO_ORDER = PayerOrder(ChosenAmount())


def with_amount_problem(order: PayerOrder, refusal: errors.InvalidBody) -> PayerOrder | None:
    """Return the order with the problem of its amount, None if another field was refused.

    Whether an amount is too small or too large in the payment's currency depends on the way to pay,
    so the form alone can't tell.
    """
    codes = {one.field: one.code for one in refusal.info}
    if AMOUNT not in codes:
        return None
    problem = AmountProblem.TINY if codes[AMOUNT] == TOO_SMALL else AmountProblem.HIGH
    return replace(order, chosen=replace(order.chosen, problem=problem))


def read_order(terms: request.Terms, posted: Sequence[str], form: Mapping[str, str]) -> PayerOrder:
    """Read an order; `posted` has the values of the amount field."""
    chosen = read_amount(posted, terms)
    quantity = _quantity(form.get("quantity", ""), terms.max_quantity or 1)
    if quantity is not None and not chosen.problem:
        price = terms.amount if chosen.amount is None else chosen.amount
        if quantity * price > amounts.most_minor(terms.currency):
            chosen = ChosenAmount(None, AmountProblem.HIGH)
    name = " ".join(sanitize.words(form.get("name", "")).split())
    message = sanitize.words(form.get("message", ""))
    lengths = {
        "name": _excess(name, fields.MAX_PAYER_NAME),
        "message": _excess(message, fields.MAX_PAYER_MESSAGE),
    }
    too_long = {which: length for which, length in lengths.items() if length}
    words = parts.PayerWords(name or None, message or None)
    return PayerOrder(chosen, quantity, words, too_long, posted)


def _quantity(text: str, most: int) -> int | None:
    """Return the quantity, 1 for an empty text; None unless it is a number from 1 to `most`."""
    text = sanitize.typed(text, digits=True)
    if not text:
        return 1
    digits = text.isdecimal() and len(text) <= len("100")
    return int(text) if digits and 1 <= int(text) <= most else None


def _excess(text: str, most: int) -> int:
    """Return the number of visible characters if a text is too long, otherwise 0."""
    if len(text) <= most:
        return 0
    if len(text) > most * MAX_COUNTED:
        return len(text)
    count = len(sanitize.graphemes(text))
    if count > most:
        return count
    return len(text) if len(text) > most * MAX_CODE_POINTS else 0


# The order's fields on the page.


WORDS = {"name": fields.MAX_PAYER_NAME, "message": fields.MAX_PAYER_MESSAGE}
"""The fields of the payer's words, with their limits in characters."""


def order_values(
    locale: page_texts.Locale,
    shown: request.PaymentRequest,
    order: PayerOrder | None,
    typed: Mapping[str, str],
) -> dict[str, Any]:
    """Return the values of the order's fields; `order` has the payer's input, if any.

    The payer's quantity is limited to the available units. `sums` is what pay.js needs to write
    sums: the price and the money format.
    """
    terms, currency, most = shown.terms, shown.terms.currency, most_units(shown)
    choice, quantity, sums = None, None, None
    before, after = page_texts.affixes(currency, locale.tag)
    if terms.choice:
        choice = _choice_values(locale, terms, terms.choice, order)
        choice |= {"before": before.strip(), "after": after.strip()}
    if most > 1 or (order and order.quantity != 1 and terms.max_quantity):
        key = "page-quantity-chosen" if terms.choice else "page-quantity-each"
        quantity = {
            "options": range(1, max(most, 1) + 1),
            "chosen": max(1, min((order and order.quantity) or 1, most)),
            "hint": locale.t(key, amount=locale.money(terms.amount, currency)),
        }
    if choice or quantity:
        least, highest = (terms.choice.minimum, terms.choice.maximum) if terms.choice else (0, None)
        sums = {
            "price": write_amount(terms.amount, currency),
            "least": write_amount(least, currency) if terms.choice else None,
            "most": write_amount(highest, currency) if highest else None,
            "before": before,
            "after": after,
            "decimals": amounts.exponent(currency),
            "shown": amounts.shown_decimals(currency),
            "tag": locale.tag,
        }
    words = [
        {
            "name": name,
            "value": typed.get(name, ""),
            "hint": locale.t("page-up-to", limit=limit),
            "most": limit,
        }
        for name, limit in WORDS.items()
    ]
    return {"choice": choice, "quantity": quantity, "words": words, "sums": sums}


def most_units(shown: request.PaymentRequest) -> int:
    """Return how many units a checkout may take now."""
    most = shown.terms.max_quantity or 1
    return min(most, shown.units.remaining) if shown.units else most


def has_open_sum(shown: request.PaymentRequest) -> bool:
    """True if the payer chooses the amount or the quantity."""
    return shown.terms.choice is not None or most_units(shown) > 1


def order_problems(
    locale: page_texts.Locale, shown: request.PaymentRequest, order: PayerOrder | None
) -> dict[str, str]:
    """Return the problems of an order, by the ids of its fields."""
    if order is None:
        return {}
    found: dict[str, str] = {}
    if order.chosen.problem:
        terms, choice, currency = shown.terms, shown.terms.choice, shown.terms.currency
        high, readings = choice.maximum if choice else None, order.chosen.readings
        found["amount"] = locale.t(
            f"page-amount-{order.chosen.problem}",
            price=locale.money(terms.amount, currency),
            minimum=locale.money(choice.minimum if choice else terms.amount, currency),
            maximum="none" if high is None else locale.money(high, currency),
            currency=amounts.unit(currency),
            decimals=amounts.exponent(currency),
            readings=len(readings),
            reading=locale.money(readings[0], currency) if readings else "",
        )
    if order.quantity is None:
        found["quantity"] = locale.t("page-quantity-wrong", most=max(most_units(shown), 1))
    return found | {
        name: locale.t("page-too-long", count=count, limit=WORDS[name])
        for name, count in order.too_long.items()
    }


def _choice_values(
    locale: page_texts.Locale,
    terms: request.Terms,
    choice: parts.AmountChoice[int],
    order: PayerOrder | None,
) -> dict[str, Any]:
    offered = dict.fromkeys((*(order.chosen.readings if order else ()), *choice.suggested))
    values = {write_amount(amount, terms.currency): amount for amount in offered}
    button, text = _posted(order, values, terms)
    minimum = locale.short(choice.minimum, terms.currency)
    hint = locale.t("page-amount-from", minimum=minimum)
    if choice.maximum is not None:
        hint = locale.t("range", first=minimum, last=locale.short(choice.maximum, terms.currency))
    buttons = [
        {"value": value, "text": locale.short(amount, terms.currency), "checked": value == button}
        for value, amount in values.items()
    ]
    return {
        "buttons": buttons,
        "other": {"value": OTHER, "checked": button == OTHER},
        "text": text,
        "hint": hint,
    }


def _posted(
    order: PayerOrder | None, values: dict[str, int], terms: request.Terms
) -> tuple[str | None, str]:
    """Return the selected button and the text; on a new page the first suggestion is selected."""
    if order is None:
        return next(iter(values), OTHER), ""
    given = [value.strip() for value in order.amounts]
    if order.chosen.problem is AmountProblem.BOTH:
        return None, ""  # both amounts are buttons now
    text = next((value for value in reversed(given) if value not in {OTHER, *values}), "")
    if order.chosen.problem is AmountProblem.AMBIGUOUS:
        return None, text
    button = next((value for value in given if value in {OTHER, *values}), None)
    if button is None and not order.chosen.problem:
        same = write_amount(order.chosen.amount or terms.amount, terms.currency)
        return (same, "") if same in values else (OTHER, text)
    return button or OTHER, text
