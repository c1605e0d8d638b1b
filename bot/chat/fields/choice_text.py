"""The amounts that payers may choose from, as sellers type them.

`5/10/20 EUR` suggests amounts, `3+ EUR` is the least, `3-500 EUR` the least and the most, and
`3+ 5/10/20 EUR` has both. Several bare numbers are no suggestions: `1 000` is a thousand to many.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import TYPE_CHECKING

from bot.chat.fields.typed_text import (
    AmbiguousAmount,
    Price,
    example_price,
    may_be_grouped,
    money_problem,
    read_code,
    read_price,
)
from bot.chat.messages.reply import Problem, escaped
from bot.chat.model.amount_choice import MOST_SUGGESTIONS, AmountChoice
from bot.core.errors import MoneyError
from bot.core.money.amounts import example, read_currency, to_minor
from bot.core.text import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterable

ELSEWHERE = "problem-choice-elsewhere"
"""The key of the answer where the service takes fixed prices only."""

_MAX_TEXT = 160  # characters of up to six amounts
_QUOTED = 32  # UTF-16 units of an amount that a problem quotes
_PART = re.compile(
    r"(?P<number>(?:(?<![^\W\d_])[.,\u066b])?\d(?:[\d.,'\u2019\u066b]*\d)?)|(?P<mark>[/+-])|[^/+\-\d]"
)
_CHOICE = re.compile(r"(?=.*[/+-])(?:(?P<least>N\+)|(?P<range>N-N))?(?:N(?:/N)+)?")
_SEVERAL = re.compile(r"\d[^\d/]*[\s,;][^\d/]*\d")
_LEAST = re.compile(r"[^\s/+]*\d[^\s/+]*\+|[^\s/+\-]*\d[^\s/+\-]*-[^\s/+\-]*\d[^\s/+\-]*")
_LIST = re.compile(r"[^\s/]*\d[^\s/]*(?:/[^\s/]*\d[^\s/]*)+")


def read_amounts(
    text: str, default: str | None, *, may_choose: bool = True
) -> Price | AmbiguousAmount | Problem:
    """Parse a price, or the amounts that payers choose from where the service has that.

    The currency is `default` where none is named.
    """
    numbers, names, shape = _parts(text)
    found = _CHOICE.fullmatch(shape)
    if found is None:
        price = read_price(text, default)
        is_several = isinstance(price, Problem) and price.key == "problem-amount"
        if may_choose and is_several and _SEVERAL.search(sanitize.typed(text)):
            return Problem("problem-choice-bare", _examples(default))
        return price
    if not may_choose:
        return Problem(ELSEWHERE, {"example": example_price(default)})
    currency = _currency(names, default)
    if isinstance(currency, Problem):
        return currency
    amounts = _amounts(numbers, currency or None)
    if isinstance(amounts, Problem):
        return amounts
    bounds = 1 if found["least"] else 2 if found["range"] else 0
    return _checked(amounts[:bounds], amounts[bounds:], currency or None)


def is_choice(text: str) -> bool:
    """Return whether a text has the form of amounts to choose from."""
    return _CHOICE.fullmatch(_parts(text)[2]) is not None


def count_words(words: list[str]) -> int:
    """Return how many of the first words of a line are its amount: `3+ 5/10/20` are two."""
    first, *second = map(sanitize.typed, words[:2])
    has_both = second and _LEAST.fullmatch(first) and _LIST.fullmatch(second[0])
    return 2 if has_both else 1


def names_currency(text: str) -> bool:
    """Return whether amounts have a known currency at them: `5/10€`, but not `24/7h`."""
    names = _parts(text)[1]
    return bool(names) and isinstance(_currency(names, None), str)


def joined_marks(words: list[str]) -> list[str]:
    """Return the words with `5 / 10 / 20`, `3 - 500` or `3 +` at their beginning as one of them."""
    while len(words) > 1 and _continues(*words[:3]):
        words = [words[0] + words[1], *words[2:]]
    return words


def usual_choice(currency: str) -> AmountChoice[Decimal]:
    """Return what the button "Payers choose" stands for: from 1, suggested 5, 10 and 20 EUR."""
    step = Decimal(example(currency))
    least = Decimal(f"{step / 5:f}")
    try:
        to_minor(least, currency)
    except MoneyError:  # more decimals than the currency has
        least = step
    return AmountChoice(least, (step, step * 2, step * 4))


def _continues(word: str, following: str, third: str = "") -> bool:
    """Return whether a mark stands between two words of amounts.

    Behind a currency, a plus or a dash is of the name: `$5 - 2 cups`.
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


def _currency(names: list[str], default: str | None) -> str | Problem:
    """Return the one currency of all names, empty where none is known."""
    different = [*{name.casefold(): name for name in names}.values()]
    if len(different) > 2:  # noqa: PLR2004 - before and after a number
        return Problem("problem-choice-mixed", _examples(default))
    before, after = ["", *different][-2:] if different else ("", "")
    try:
        return read_currency(f"{before} 1 {after}", default) or ""
    except MoneyError as error:
        if len(different) > 1 and all(isinstance(read_code(each), str) for each in different):
            return Problem("problem-choice-mixed", _examples(default))
        return money_problem(error, " ".join(different), default)


def _amounts(numbers: Iterable[str], currency: str | None) -> list[Decimal] | Problem:
    """Return the amounts, each read as exactly as a price."""
    amounts = []
    for number in numbers:
        price = read_price(number, currency)
        if isinstance(price, AmbiguousAmount) or may_be_grouped(number, currency):
            return Problem("problem-choice-unclear", {"typed": escaped(number, _QUOTED)})
        if isinstance(price, Problem):
            return price
        amounts.append(price.amount)
    return amounts


def _checked(
    bounds: list[Decimal], suggested: list[Decimal], currency: str | None
) -> Price | Problem:
    """Return the choice as a price; the Problem of amounts that don't go together."""
    minimum = bounds[0] if bounds else min(suggested)
    maximum = bounds[1] if bounds[1:] else None
    if len(suggested) > MOST_SUGGESTIONS:
        fewer = "/".join(f"{amount:f}" for amount in suggested[:MOST_SUGGESTIONS])
        example = " ".join(filter(None, (fewer, currency)))
        values = {"count": len(suggested), "most": MOST_SUGGESTIONS, "several": example}
        return Problem("problem-choice-many", values)
    twice = next((each for each in suggested if suggested.count(each) > 1), None)
    if twice is not None:
        return Problem("problem-choice-twice", _quoted(typed=twice))
    if maximum is not None and maximum <= minimum:
        return Problem("problem-choice-range", _quoted(minimum=minimum, maximum=maximum))
    if (low := min(suggested, default=minimum)) < minimum:
        return Problem("problem-choice-low", _quoted(typed=low, minimum=minimum))
    if maximum is not None and (high := max(suggested, default=minimum)) > maximum:
        return Problem("problem-choice-high", _quoted(typed=high, maximum=maximum))
    choice = AmountChoice(minimum, (*suggested,), maximum)
    return Price(choice.first, currency, choice)


def _quoted(**amounts: Decimal) -> dict[str, object]:
    return {name: f"{amount:f}" for name, amount in amounts.items()}


def _examples(currency: str | None) -> dict[str, object]:
    """Return one price and suggestions as they can be typed."""
    single = example_price(currency)
    number, _, code = single.partition(" ")
    several = "/".join(f"{Decimal(number) * factor:f}" for factor in (1, 2, 4))
    return {"example": single, "several": f"{several} {code}"}
