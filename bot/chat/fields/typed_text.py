"""Texts as sellers type them, parsed: a value, or the Problem with it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat.messages.reply import Problem, escaped
from bot.chat.model.draft import TEST_MONEY
from bot.chat.model.payout import names_accounts
from bot.core.errors import MoneyError
from bot.core.money.amounts import (
    example,
    exponent,
    find_currency,
    read_amount,
    read_currency,
    to_minor,
)
from bot.core.text import email_addresses, links, sanitize

if TYPE_CHECKING:
    from decimal import Decimal

    from bot.chat.model.amount_choice import AmountChoice
    from bot.chat.model.draft import PayoutService

FINEST = "BTC"
"""The currency with the most decimals: an amount that it refuses, all refuse."""

# The service's bounds, where the interface shows none (section 8).
MAX_NAME = 100
MAX_DESCRIPTION = 500
MAX_DESTINATION = 512  # as the service has it: some wallet identifiers are long
MAX_UNITS = 1_000_000
MAX_POSTER_TEXT = 300
MAX_THANKS = 500
MAX_QUANTITY = 100

USUAL = "USD"
"""The currency of examples where none is known."""

_LOCAL = re.compile(r"[^:/?#.]*:\d{1,5}(?:[/?#].*)?", re.DOTALL)
_HANDCASH = re.compile(
    r"\$?[a-z0-9][a-z0-9._-]*|[a-z0-9._+-]+@(?:[a-z0-9-]+\.)+[a-z]{2,}", re.IGNORECASE
)
_QUOTED = 32  # UTF-16 units of a text that a problem quotes
_JOINER = re.compile(rf"(?<=[^\0-\x7f])[{sanitize.JOINERS}](?=[^\0-\x7f])")
"""A joiner among letters or emoji that need it, as in paths in Persian; elsewhere it only hides."""

_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0\ufffc")  # letters that look blank


@dataclass(frozen=True, slots=True)
class Price:
    """An amount in major units; `currency` is None where none was named and none is usual.

    With a `choice`, payers choose the amount, and `amount` is its first.
    """

    amount: Decimal
    currency: str | None
    choice: AmountChoice[Decimal] | None = None


@dataclass(frozen=True, slots=True)
class AmbiguousAmount:
    """An amount with several readings, of which the seller chooses one."""

    choices: tuple[Decimal, ...]
    currency: str | None


def read_name(text: str) -> str | Problem:
    """Parse the name of a request: one line, 1 to 100 characters, one of them visible."""
    return read_line(text, "name", MAX_NAME)


def read_description(text: str) -> str | Problem:
    """Parse the description of a request: folded to one line, up to 500 characters."""
    return read_line(text, "description", MAX_DESCRIPTION)


def read_destination(text: str, service: PayoutService = TEST_MONEY) -> str | Problem:
    """Parse a handle or wallet identifier of `service`, without spaces or invisible characters.

    HandCash has handles and paymails; other servers of the interface decide for themselves.
    """
    plain = sanitize.typed(text)
    if names_accounts(plain):
        return Problem("problem-destination-account")
    line = read_line(plain, "destination", MAX_DESTINATION)
    if isinstance(line, Problem):
        return line
    if " " in line:
        return Problem("problem-destination-spaces")
    if service.is_handcash and not _HANDCASH.fullmatch(line):
        return Problem("problem-destination-handcash")
    return line


def read_poster_text(text: str) -> str | Problem:
    """Parse the text for a poster: up to 300 characters, with its line breaks."""
    return _read_lines(text, "postertext", MAX_POSTER_TEXT)


def read_thanks(text: str) -> str | Problem:
    """Parse a thank-you message: up to 500 characters, with line breaks."""
    return _read_lines(text, "thanks", MAX_THANKS)


def _read_lines(text: str, field: str, most: int) -> str | Problem:
    folded = read_line(text, field, most)
    if isinstance(folded, Problem):
        return folded
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))


def read_redirect(text: str) -> str | Problem:
    """Parse the address where payers go: of the web, or with an application's own scheme.

    A host without a scheme gets `https://`; a name and a port alone, which has the form of a
    scheme, is refused.
    """
    url = links.with_scheme(links.typed(text))
    if not any(map(_is_visible, url)):
        return Problem("problem-redirect-empty")
    if len(url) > links.LONGEST_URL:
        return Problem("problem-redirect-long", {"length": len(url), "most": links.LONGEST_URL})
    others = _JOINER.sub("", url)
    has_invisible = any(unicodedata.category(char) in ("Cf", "Cs") for char in others)
    if has_invisible or _LOCAL.fullmatch(url):
        return Problem("problem-redirect")
    try:
        return links.check_redirect(url)
    except ValueError:
        return Problem("problem-redirect")


def read_email(text: str) -> str | Problem:
    """Parse an email address that mail can be sent to."""
    address = email_addresses.typed(text)
    if not any(map(_is_visible, address)):
        return Problem("problem-email-empty")
    return Problem("problem-email") if email_addresses.ascii_address(address) is None else address


def read_line(text: str, field: str, most: int) -> str | Problem:
    """Fold a text to one line of 1 to `most` characters, one of them visible.

    The Problem with it is one of the `field`.
    """
    text = sanitize.lines(text)
    if any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\t\n" for char in text):
        return Problem("problem-control")
    line = " ".join(text.split())
    if not any(_is_visible(char) for char in line):
        return Problem(f"problem-{field}-empty")
    if len(line) > most:
        return Problem(f"problem-{field}-long", {"length": len(line), "most": most})
    return line


def _is_visible(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNPS" and char not in _BLANK


def read_units(text: str) -> int | Problem:
    """Parse a number of units, 1 to 1 000 000; a mark in it can only group digits."""
    if not any(map(_is_visible, text)):
        return Problem("problem-units-empty")
    try:
        number, currency = read_amount(text, None)
    except MoneyError as error:
        if error.reason != "ambiguous":
            return Problem("problem-units")
        number, currency = error.choices[-1], read_currency(text, None)
    if currency is not None or number != number.to_integral_value() or number < 1:
        return Problem("problem-units")
    if number > MAX_UNITS:
        return Problem("problem-units-many", {"most": MAX_UNITS})
    return int(number)


def read_quantity(text: str) -> int | Problem | None:
    """Parse how many items one purchase may have, up to 100; None for one, the default."""
    units = read_units(text)
    if isinstance(units, Problem) and units.key != "problem-units-many":
        return Problem("problem-perbuyer")
    if isinstance(units, Problem) or units > MAX_QUANTITY:
        return Problem("problem-perbuyer-many", {"most": MAX_QUANTITY})
    return None if units == 1 else units


def read_price(text: str, default: str | None) -> Price | AmbiguousAmount | Problem:
    """Parse an amount with its currency, `default` where none is named."""
    if not any(map(_is_visible, text)):
        return Problem("problem-amount-empty", {"example": example_price(default)})
    try:
        return check_price(*read_amount(text, default))
    except MoneyError as error:
        if error.reason == "ambiguous":
            return _ambiguous(text, default, error.choices)
        return money_problem(error, text, default)


def _ambiguous(
    text: str, default: str | None, choices: tuple[Decimal, ...]
) -> Price | AmbiguousAmount | Problem:
    """Return the readings that the currency allows: `1.234` euros has only one."""
    try:
        currency = read_currency(text, default)
    except MoneyError as error:
        return money_problem(error, text, default)
    checked = [check_price(choice, currency) for choice in choices]
    possible = [price for price in checked if isinstance(price, Price)]
    if len(possible) > 1:
        return AmbiguousAmount(tuple(price.amount for price in possible), currency)
    return possible[0] if possible else checked[-1]


def may_be_grouped(text: str, currency: str | None) -> bool:
    """Return whether a mark in an amount may group digits, also where one reading is no amount."""
    try:
        read_amount(text, currency)
    except MoneyError as error:
        return error.reason == "ambiguous"
    return False


def check_price(amount: Decimal, currency: str | None) -> Price | Problem:
    """Check an amount against the bounds of its currency, or of any while it is not known."""
    try:
        to_minor(amount, currency or FINEST)
    except MoneyError as error:
        return money_problem(error, "", currency)
    return Price(amount, currency)


def read_code(text: str) -> str | Problem:
    """Parse a currency: its code, sign or name."""
    if not any(map(_is_visible, text)):
        return Problem("problem-currency-empty")
    try:
        return find_currency(text)
    except MoneyError as error:
        return money_problem(error, text, None)


def money_problem(error: MoneyError, typed: str, currency: str | None) -> Problem:
    """Return the Problem for an amount or a currency that was refused."""
    if error.reason == "unknownCurrency":
        return Problem("problem-currency", {"typed": escaped(typed, _QUOTED)})
    if error.reason == "tooManyDecimals":
        known = currency or FINEST
        values = {
            "currency": known,
            "decimals": exponent(known),
            "example": example_price(known),
        }
        return Problem("problem-amount-decimals", values)
    shown = example_price(currency)
    if error.reason in ("notPositive", "tooLarge"):
        return Problem(f"problem-amount-{error.reason}", {"example": shown})
    return Problem("problem-amount", {"example": shown})


def example_price(currency: str | None) -> str:
    """Return a price as it can be typed: `5 USD`, `0.001 BTC`."""
    code = currency or USUAL
    return f"{example(code)} {code}"
