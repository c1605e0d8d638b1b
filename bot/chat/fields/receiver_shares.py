"""The price of a draft and the shares of its receivers, parsed and divided.

Shares are rounded by the largest remainder, so that they sum to the price exactly; of equal
remainders the receiver named first gets the unit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from bot.chat.fields.typed_text import (
    AmbiguousAmount,
    may_be_grouped,
    read_destination,
    read_price,
)
from bot.chat.messages.reply import Problem, escaped
from bot.chat.model.draft import TEST_MONEY, Portion
from bot.chat.model.payout import names_accounts
from bot.chat.model.wish import REST, Share
from bot.core.errors import MoneyError
from bot.core.money.amounts import MAX_AMOUNT, format_money, from_minor, read_amount, to_minor
from bot.core.text import sanitize
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.model.draft import Draft, PayoutService

MAX_RECEIVERS = 1000  # as the service has it
WHOLE = 100  # per cent
_PERCENT_DECIMALS = 4
_RESTS = (
    *("rest", "the rest", "remainder", "den rest", "der rest"),
    *("el resto", "le reste", "il resto", "o resto", "*"),
)
_BETWEEN = re.compile(
    r"[\n;\uff1b\uff0c]|,(?![0-9])|(?<![0-9]),"
)  # a comma among digits is a decimal mark
_PERCENT = re.compile(r"%\s*(?P<before>[^%]+)|(?P<after>[^%]+?)\s*%")
_ARABIC_PERCENT = "\u066a"
_QUOTED = 32


@dataclass(frozen=True, slots=True)
class Unequal(Problem):
    """The Problem of amounts that don't sum to the price; both in minor units."""

    total: int = 0
    price: int = 0
    currency: str = ""

    def text(self, language: str) -> str:
        """Return the problem in words."""
        amount = escaped(format_money(self.total, self.currency, language))
        price = escaped(format_money(self.price, self.currency, language))
        return t(language, self.key, amount=amount, price=price)


def minor_of(draft: Draft) -> int:
    """Return the price in minor units; 0 while it is not known."""
    if draft.amount is None or draft.currency is None:
        return 0
    return to_minor(draft.amount, draft.currency)


def shares_of(draft: Draft) -> tuple[Share, ...] | Problem:
    """Return what each receiver gets, () for one receiver only; a Problem where it can't be."""
    if not draft.receivers or draft.currency is None:
        return ()
    if any(names_accounts(portion.destination) for portion in draft.receivers):
        return Problem("problem-destination-account")  # kept from a version that took it
    return divide_price(draft.receivers, minor_of(draft), draft.currency)


def read_portions(
    text: str, currency: str, service: PayoutService = TEST_MONEY
) -> tuple[Portion, ...] | Problem:
    """Parse receivers, one a line, each with a percentage, an amount, `rest` or nothing."""
    lines = [*filter(None, map(sanitize.typed, _BETWEEN.split(sanitize.lines(text))))]
    if len(lines) < 2:  # noqa: PLR2004 - several are two at least
        return Problem("problem-receivers-few")
    if len(lines) > MAX_RECEIVERS:
        return Problem("problem-receivers-many", {"count": len(lines), "most": MAX_RECEIVERS})
    portions: dict[str, Portion] = {}
    twice = None
    for line in lines:
        portion = _portion(line, currency, service)
        if isinstance(portion, Problem):
            return portion
        if portions.setdefault(portion.destination.casefold(), portion) is not portion:
            twice = twice or Problem("problem-receivers-twice", _destination(portion))
    return twice or tuple(portions.values())


def _portion(line: str, currency: str, service: PayoutService) -> Portion | Problem:
    name, *rest = line.replace(_ARABIC_PERCENT, "%").split(None, 1)
    destination = read_destination(name.removesuffix(":") if rest else name, service)
    if isinstance(destination, Problem):
        return destination
    measure = _measure(rest[0].strip(), currency) if rest else ""
    return measure if isinstance(measure, Problem) else Portion(destination, measure)


def _measure(text: str, currency: str) -> str | Problem:
    if text.casefold() in _RESTS:
        return REST
    if percent := _PERCENT.fullmatch(text):
        return _percentage(percent["before"] or percent["after"], text)
    price = read_price(text, currency)
    if isinstance(price, AmbiguousAmount) or may_be_grouped(text, currency):
        return Problem("problem-receivers-unclear", {"typed": escaped(text, _QUOTED)})
    if isinstance(price, Problem):
        return price
    if price.currency != currency:
        return Problem("problem-receivers-currency", {"currency": currency})
    return f"{price.amount:f}"


def _percentage(text: str, whole: str) -> str | Problem:
    wrong = Problem("problem-receivers-percent", {"typed": escaped(whole, _QUOTED)})
    try:
        number, currency = read_amount(text, None)
    except MoneyError as error:
        if error.reason != "ambiguous":
            return wrong
        number, currency = error.choices[0], None  # 33.333 %: no share is of thousands
    exponent = number.normalize().as_tuple().exponent
    fine = isinstance(exponent, int) and -exponent <= _PERCENT_DECIMALS
    if currency is not None or not fine or not 0 < number <= WHOLE:
        return wrong
    return f"{number:f}%"


def _destination(receiver: Portion | Share) -> dict[str, object]:
    return {"destination": escaped(receiver.destination, _QUOTED)}


def divide_price(
    portions: tuple[Portion, ...], minor: int, currency: str
) -> tuple[Share, ...] | Problem:
    """Return each receiver's share of a price in minor units; the shares sum to the price.

    A Problem is returned where the portions contradict each other or the price.
    """
    kinds = {_kind(portion) for portion in portions}
    rests = sum(portion.measure == REST for portion in portions)
    if len(kinds - {REST}) > 1 or (rests and kinds == {REST, ""}):
        return Problem("problem-receivers-mixed")
    if rests > 1:
        return Problem("problem-receivers-rests")
    if "%" in kinds:
        amounts = _by_percent(portions, minor)
    elif "" in kinds:
        amounts = _largest_remainder([Fraction(minor, len(portions))] * len(portions), minor)
    else:
        amounts = _by_amount(portions, minor, currency)
    if isinstance(amounts, Problem):
        return amounts
    shares = tuple(
        Share(portion.destination, amount, portion.measure)
        for portion, amount in zip(portions, amounts, strict=True)
    )
    nothing = next((share for share in shares if share.amount < 1), None)
    return Problem("problem-receivers-nothing", _destination(nothing)) if nothing else shares


def _kind(portion: Portion) -> str:
    if portion.measure in ("", REST):
        return portion.measure
    return "%" if portion.measure.endswith("%") else "amount"


def _by_percent(portions: tuple[Portion, ...], minor: int) -> list[int] | Problem:
    given = [Decimal(p.measure.rstrip("%")) for p in portions if p.measure != REST]
    total = sum(given, Decimal(0))
    open_ended = len(given) < len(portions)
    if total > WHOLE or (open_ended and total == WHOLE) or (not open_ended and total != WHOLE):
        return Problem("problem-receivers-whole", {"percent": f"{total.normalize():f}"})
    parts = iter(given)
    shares = [WHOLE - total if p.measure == REST else next(parts) for p in portions]
    return _largest_remainder([Fraction(share) * minor / WHOLE for share in shares], minor)


def _largest_remainder(exact: list[Fraction], total: int) -> list[int]:
    amounts = [int(share) for share in exact]
    by_remainder = sorted(range(len(exact)), key=lambda n: (amounts[n] - exact[n], n))
    for number in by_remainder[: total - sum(amounts)]:
        amounts[number] += 1
    return amounts


def _by_amount(portions: tuple[Portion, ...], minor: int, currency: str) -> list[int] | Problem:
    try:
        given = [to_minor(Decimal(p.measure), currency) for p in portions if p.measure != REST]
    except MoneyError:
        return Problem("problem-receivers-decimals", {"currency": currency})
    left = minor - sum(given)
    if len(given) == len(portions) and left:
        return Unequal("problem-receivers-sum", {}, sum(given), minor, currency)
    if len(given) < len(portions) and left < 1:
        return Problem("problem-receivers-rest")
    parts = iter(given)
    return [left if p.measure == REST else next(parts) for p in portions]


def total_of_amounts(portions: tuple[Portion, ...], currency: str) -> int | None:
    """Return the sum of amounts in minor units, where it can be a price; else None."""
    if not portions or {_kind(portion) for portion in portions} != {"amount"}:
        return None
    try:
        total = sum(to_minor(Decimal(portion.measure), currency) for portion in portions)
    except MoneyError:
        return None
    return total if from_minor(total, currency) <= MAX_AMOUNT else None


def portions_of(shares: tuple[Share, ...]) -> tuple[Portion, ...]:
    """Return the shares of a wish as its seller typed them."""
    return tuple(Portion(share.destination, share.measure) for share in shares)
