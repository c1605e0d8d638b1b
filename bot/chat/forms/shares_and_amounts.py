"""Parsing of the amounts that payers choose from, and of receivers' shares; division of a price.

Shares are rounded by the largest remainder, so that they sum exactly to the price. If remainders
are equal, the receiver named first gets the unit.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from bot.chat.forms import typed_text
from bot.chat.model import drafts, payout, replies, request_spec
from bot.core import errors
from bot.core.money import amounts
from bot.core.text import sanitize, translations
from bot.interface import fields, parts

_QUOTED = 32
"""UTF-16 units of an amount that a problem quotes."""

# The amounts that payers choose from. `5/10/20 EUR` suggests amounts, `3+ EUR` is a minimum, `3-500
# EUR` a minimum and a maximum, and `3+ 5/10/20 EUR` a minimum with suggestions. Several bare
# numbers are not suggestions, because many people type a thousand as `1 000`.

ELSEWHERE = "problem-choice-elsewhere"
"""The key of the problem if the service takes only fixed prices."""

_MAX_TEXT = 160
"""The most characters of amounts to choose from, up to six."""

_PART = re.compile(
    r"(?P<number>(?:(?<![^\W\d_])[.,\u066b])?\d(?:[\d.,'\u2019\u066b]*\d)?)|(?P<mark>[/+-])|[^/+\-\d]"
)
_CHOICE = re.compile(r"(?=.*[/+-])(?:(?P<least>N\+)|(?P<range>N-N))?(?:N(?:/N)+)?")
_SEVERAL = re.compile(r"\d[^\d/]*[\s,;][^\d/]*\d")
_LEAST = re.compile(r"[^\s/+]*\d[^\s/+]*\+|[^\s/+\-]*\d[^\s/+\-]*-[^\s/+\-]*\d[^\s/+\-]*")
_LIST = re.compile(r"[^\s/]*\d[^\s/]*(?:/[^\s/]*\d[^\s/]*)+")


def read_amounts(
    text: str, default: str | None, *, may_choose: bool = True
) -> typed_text.Price | typed_text.AmbiguousAmount | replies.Problem:
    """Parse a price or, if the service supports it, the amounts that payers choose from.

    The currency is `default` if none is named.
    """
    numbers, names, shape = _parts(text)
    found = _CHOICE.fullmatch(shape)
    if found is None:
        price = typed_text.read_price(text, default)
        is_several = isinstance(price, replies.Problem) and price.key == "problem-amount"
        if may_choose and is_several and _SEVERAL.search(sanitize.typed(text)):
            return replies.Problem("problem-choice-bare", _examples(default))
        return price
    if not may_choose:
        return replies.Problem(ELSEWHERE, {"example": typed_text.example_price(default)})
    currency = _currency(names, default)
    if isinstance(currency, replies.Problem):
        return currency
    amounts = _amounts(numbers, currency or None)
    if isinstance(amounts, replies.Problem):
        return amounts
    bounds = 1 if found["least"] else 2 if found["range"] else 0
    return _checked(amounts[:bounds], amounts[bounds:], currency or None)


def is_choice(text: str) -> bool:
    """True if a text has the form of amounts to choose from."""
    return _CHOICE.fullmatch(_parts(text)[2]) is not None


def count_words(words: list[str]) -> int:
    """Return how many words at a line's beginning are its amount: two for `3+ 5/10/20`."""
    first, *second = map(sanitize.typed, words[:2])
    has_both = second and _LEAST.fullmatch(first) and _LIST.fullmatch(second[0])
    return 2 if has_both else 1


def names_currency(text: str) -> bool:
    """True if a word has amounts with a known currency: `5/10€`, but not `24/7h`."""
    names = _parts(text)[1]
    return bool(names) and isinstance(_currency(names, None), str)


def joined_marks(words: list[str]) -> list[str]:
    """Join `5 / 10 / 20`, `3 - 500` or `3 +` at the beginning into one word."""
    while len(words) > 1 and _continues(*words[:3]):
        words = [words[0] + words[1], *words[2:]]
    return words


def usual_choice(currency: str) -> parts.AmountChoice[Decimal]:
    """Return the amounts of the button "Payers choose": for EUR, from 1, suggested 5, 10, 20."""
    step = Decimal(amounts.example(currency))
    least = Decimal(f"{step / 5:f}")
    try:
        amounts.to_minor(least, currency)
    except errors.MoneyError:  # the currency has fewer decimals
        least = step
    return parts.AmountChoice(least, (step, step * 2, step * 4))


def _continues(word: str, following: str, third: str = "") -> bool:
    """True if a mark connects two words of amounts.

    After a currency, a plus or a dash belongs to the name: `$5 - 2 cups`.
    """
    word, following, third = map(sanitize.typed, (word, following, third))
    if not following or not any(char.isdecimal() for char in word):
        return False
    if word.endswith("/"):
        return following[0].isdecimal()
    if following == "/" or (following[0] == "/" and following[1:2].isdecimal()):
        return True
    if _parts(word)[1]:
        return False
    if word.endswith("-"):
        return following[0].isdecimal()
    is_dash = following.startswith("-") and (following[1:] or third)[:1].isdecimal()
    return following == "+" or is_dash


def _parts(text: str) -> tuple[list[str], list[str], str]:
    """Return the numbers, the names of currencies, and the shape: `N+N/N` for `3+ 5/10`."""
    is_odd = any(unicodedata.category(char) == "No" for char in text)  # NFKC makes 52 of 5²
    if len(text) > _MAX_TEXT or is_odd:
        return [], [], ""
    numbers: list[str] = []
    names: list[str] = []
    shape = name = ""
    for part in _PART.finditer(sanitize.typed(text)):
        if not (part["number"] or part["mark"]):
            name += part[0]
            continue
        names, name = [*names, name.strip()], ""
        numbers += [part["number"]] if part["number"] else []
        shape += part["mark"] or "N"
    return numbers, [*filter(None, [*names, name.strip()])], shape


def _currency(names: list[str], default: str | None) -> str | replies.Problem:
    """Return the currency that all names mean; "" without any name."""
    different = [*{name.casefold(): name for name in names}.values()]
    if len(different) > 2:  # noqa: PLR2004 - before and after a number
        return replies.Problem("problem-choice-mixed", _examples(default))
    before, after = ["", *different][-2:] if different else ("", "")
    try:
        return amounts.read_currency(f"{before} 1 {after}", default) or ""
    except errors.MoneyError as error:
        if len(different) > 1 and all(
            isinstance(typed_text.read_code(each), str) for each in different
        ):
            return replies.Problem("problem-choice-mixed", _examples(default))
        return typed_text.money_problem(error, " ".join(different), default)


def _amounts(numbers: Iterable[str], currency: str | None) -> list[Decimal] | replies.Problem:
    amounts = []
    for number in numbers:
        price = typed_text.read_price(number, currency)
        if isinstance(price, typed_text.AmbiguousAmount) or typed_text.may_be_grouped(
            number, currency
        ):
            return replies.Problem(
                "problem-choice-unclear", {"typed": replies.escaped(number, _QUOTED)}
            )
        if isinstance(price, replies.Problem):
            return price
        amounts.append(price.amount)
    return amounts


def _checked(
    bounds: list[Decimal], suggested: list[Decimal], currency: str | None
) -> typed_text.Price | replies.Problem:
    """Return the choice as a price, or the Problem if the amounts don't go together."""
    minimum = bounds[0] if bounds else min(suggested)
    maximum = bounds[1] if bounds[1:] else None
    if len(suggested) > parts.MAX_SUGGESTIONS:
        fewer = "/".join(f"{amount:f}" for amount in suggested[: parts.MAX_SUGGESTIONS])
        example = " ".join(filter(None, (fewer, currency)))
        values = {"count": len(suggested), "most": parts.MAX_SUGGESTIONS, "several": example}
        return replies.Problem("problem-choice-many", values)
    twice = next((each for each in suggested if suggested.count(each) > 1), None)
    if twice is not None:
        return replies.Problem("problem-choice-twice", _quoted(typed=twice))
    if maximum is not None and maximum <= minimum:
        return replies.Problem("problem-choice-range", _quoted(minimum=minimum, maximum=maximum))
    if (low := min(suggested, default=minimum)) < minimum:
        return replies.Problem("problem-choice-low", _quoted(typed=low, minimum=minimum))
    if maximum is not None and (high := max(suggested, default=minimum)) > maximum:
        return replies.Problem("problem-choice-high", _quoted(typed=high, maximum=maximum))
    choice = parts.AmountChoice(minimum, (*suggested,), maximum)
    return typed_text.Price(choice.first, currency, choice)


def _quoted(**amounts: Decimal) -> dict[str, object]:
    return {name: f"{amount:f}" for name, amount in amounts.items()}


def _examples(currency: str | None) -> dict[str, object]:
    single = typed_text.example_price(currency)
    number, _, code = single.partition(" ")
    several = "/".join(f"{Decimal(number) * factor:f}" for factor in (1, 2, 4))
    return {"example": single, "several": f"{several} {code}"}


# The receivers of a price, and their shares.

WHOLE = 100
"""Per cent."""

_PERCENT_DECIMALS = 4
_RESTS = (
    *("rest", "the rest", "remainder", "den rest", "der rest"),
    *("el resto", "le reste", "il resto", "o resto", "*"),
)
_BETWEEN = re.compile(r"[\n;\uff1b\uff0c]|,(?![0-9])|(?<![0-9]),")
"""Separators of receivers; a comma between digits is a decimal mark."""

_PERCENT = re.compile(r"%\s*(?P<before>[^%]+)|(?P<after>[^%]+?)\s*%")
_ARABIC_PERCENT = "\u066a"


@dataclass(frozen=True, slots=True)
class Unequal(replies.Problem):
    """The Problem if the amounts don't sum to the price; both in minor units."""

    total: int = 0
    price: int = 0
    currency: str = ""

    def text(self, language: str) -> str:
        """Return the problem in words."""
        amount = replies.money(self.total, self.currency, language)
        price = replies.money(self.price, self.currency, language)
        return translations.t(language, self.key, amount=amount, price=price)


def minor_of(draft: drafts.RequestDraft) -> int:
    """Return the price in minor units; 0 while the price is unknown."""
    if draft.amount is None or draft.currency is None:
        return 0
    return amounts.to_minor(draft.amount, draft.currency)


def shares_of(draft: drafts.RequestDraft) -> tuple[request_spec.Share, ...] | replies.Problem:
    """Return the receivers' shares, () for one receiver; a Problem if they contradict the price."""
    if not draft.receivers or draft.currency is None:
        return ()
    if any(payout.names_accounts(portion.destination) for portion in draft.receivers):
        return replies.Problem("problem-destination-account")  # stored by a version that allowed it
    return divide_price(draft.receivers, minor_of(draft), draft.currency)


def read_portions(
    text: str, currency: str, service: drafts.PayoutService = drafts.TEST_MONEY
) -> tuple[drafts.Portion, ...] | replies.Problem:
    """Parse receivers, one per line, each with a percentage, an amount, `rest` or nothing."""
    lines = [*filter(None, map(sanitize.typed, _BETWEEN.split(sanitize.lines(text))))]
    if len(lines) < 2:  # noqa: PLR2004 - several means at least two
        return replies.Problem("problem-receivers-few")
    if len(lines) > fields.MAX_RECEIVERS:
        return replies.Problem(
            "problem-receivers-many", {"count": len(lines), "most": fields.MAX_RECEIVERS}
        )
    portions: dict[str, drafts.Portion] = {}
    twice = None
    for line in lines:
        name, *rest = line.replace(_ARABIC_PERCENT, "%").split(None, 1)
        destination = typed_text.read_destination(name.removesuffix(":") if rest else name, service)
        if isinstance(destination, replies.Problem):
            return destination
        measure = _measure(rest[0].strip(), currency) if rest else ""
        if isinstance(measure, replies.Problem):
            return measure
        portion = drafts.Portion(destination, measure)
        if portions.setdefault(portion.destination.casefold(), portion) is not portion:
            twice = twice or replies.Problem("problem-receivers-twice", _destination(portion))
    return twice or tuple(portions.values())


def _measure(text: str, currency: str) -> str | replies.Problem:
    if text.casefold() in _RESTS:
        return request_spec.REST
    if percent := _PERCENT.fullmatch(text):
        return _percentage(percent["before"] or percent["after"], text)
    price = typed_text.read_price(text, currency)
    if isinstance(price, typed_text.AmbiguousAmount) or typed_text.may_be_grouped(text, currency):
        return replies.Problem(
            "problem-receivers-unclear", {"typed": replies.escaped(text, _QUOTED)}
        )
    if isinstance(price, replies.Problem):
        return price
    if price.currency != currency:
        return replies.Problem("problem-receivers-currency", {"currency": currency})
    return f"{price.amount:f}"


def _percentage(text: str, whole: str) -> str | replies.Problem:
    wrong = replies.Problem("problem-receivers-percent", {"typed": replies.escaped(whole, _QUOTED)})
    try:
        number, currency = amounts.read_amount(text, None)
    except errors.MoneyError as error:
        if error.reason != "ambiguous":
            return wrong
        number, currency = error.choices[0], None  # 33.333 %: a share is never in thousands
    exponent = number.normalize().as_tuple().exponent
    fine = isinstance(exponent, int) and -exponent <= _PERCENT_DECIMALS
    if currency is not None or not fine or not 0 < number <= WHOLE:
        return wrong
    return f"{number:f}%"


def _destination(receiver: drafts.Portion | request_spec.Share) -> dict[str, object]:
    return {"destination": replies.escaped(receiver.destination, _QUOTED)}


def divide_price(
    portions: tuple[drafts.Portion, ...], minor: int, currency: str
) -> tuple[request_spec.Share, ...] | replies.Problem:
    """Return each receiver's share of a price in minor units; the shares sum to the price.

    Returns a Problem if the portions contradict each other or the price.
    """
    kinds = {_kind(portion) for portion in portions}
    rests = sum(portion.measure == request_spec.REST for portion in portions)
    if len(kinds - {request_spec.REST}) > 1 or (rests and kinds == {request_spec.REST, ""}):
        return replies.Problem("problem-receivers-mixed")
    if rests > 1:
        return replies.Problem("problem-receivers-rests")
    if "%" in kinds:
        amounts = _by_percent(portions, minor)
    elif "" in kinds:
        amounts = _largest_remainder([Fraction(minor, len(portions))] * len(portions), minor)
    else:
        amounts = _by_amount(portions, minor, currency)
    if isinstance(amounts, replies.Problem):
        return amounts
    shares = tuple(
        request_spec.Share(portion.destination, amount, portion.measure)
        for portion, amount in zip(portions, amounts, strict=True)
    )
    nothing = next((share for share in shares if share.amount < 1), None)
    if nothing:
        return replies.Problem("problem-receivers-nothing", _destination(nothing))
    return shares


def _kind(portion: drafts.Portion) -> str:
    if portion.measure in ("", request_spec.REST):
        return portion.measure
    return "%" if portion.measure.endswith("%") else "amount"


def _by_percent(portions: tuple[drafts.Portion, ...], minor: int) -> list[int] | replies.Problem:
    given = [Decimal(p.measure.rstrip("%")) for p in portions if p.measure != request_spec.REST]
    total = sum(given, Decimal(0))
    open_ended = len(given) < len(portions)
    if total > WHOLE or (open_ended and total == WHOLE) or (not open_ended and total != WHOLE):
        return replies.Problem("problem-receivers-whole", {"percent": f"{total.normalize():f}"})
    parts = iter(given)
    shares = [WHOLE - total if p.measure == request_spec.REST else next(parts) for p in portions]
    return _largest_remainder([Fraction(share) * minor / WHOLE for share in shares], minor)


def _largest_remainder(exact: list[Fraction], total: int) -> list[int]:
    amounts = [int(share) for share in exact]
    by_remainder = sorted(range(len(exact)), key=lambda n: (amounts[n] - exact[n], n))
    for number in by_remainder[: total - sum(amounts)]:
        amounts[number] += 1
    return amounts


def _by_amount(
    portions: tuple[drafts.Portion, ...], minor: int, currency: str
) -> list[int] | replies.Problem:
    try:
        given = [
            amounts.to_minor(Decimal(p.measure), currency)
            for p in portions
            if p.measure != request_spec.REST
        ]
    except errors.MoneyError:
        return replies.Problem("problem-receivers-decimals", {"currency": currency})
    left = minor - sum(given)
    if len(given) == len(portions) and left:
        return Unequal("problem-receivers-sum", {}, sum(given), minor, currency)
    if len(given) < len(portions) and left < 1:
        return replies.Problem("problem-receivers-rest")
    parts = iter(given)
    return [left if p.measure == request_spec.REST else next(parts) for p in portions]


def total_of_amounts(portions: tuple[drafts.Portion, ...], currency: str) -> int | None:
    """Return the sum of amounts in minor units; None if it can't be a price."""
    if not portions or {_kind(portion) for portion in portions} != {"amount"}:
        return None
    try:
        total = sum(amounts.to_minor(Decimal(portion.measure), currency) for portion in portions)
    except errors.MoneyError:
        return None
    return total if amounts.from_minor(total, currency) <= amounts.MAX_AMOUNT else None
