"""Parsing of a request's amount and name in one line, as sellers type them: `5 USD Coffee`."""

from __future__ import annotations

from itertools import takewhile

from bot.chat.forms import shares_and_amounts, typed_text
from bot.chat.model import replies
from bot.core.money import amounts
from bot.core.text import sanitize

_QUOTED = 32  # UTF-16 units of an amount in an example


def has_bare_amounts(words: list[str]) -> bool:
    """True if at least three whole numbers precede a currency."""
    numbers = [*takewhile(str.isdecimal, words)]
    return len(numbers) > 2 and "".join(words[len(numbers) :][:1]) in amounts.currencies()  # noqa: PLR2004 - more than a pair


def read_line(
    words: list[str], *, may_choose: bool
) -> tuple[typed_text.Price | typed_text.AmbiguousAmount, str] | replies.Problem:
    """Parse `5 USD Coffee`, `$5 Coffee` or `3+ 5/10/20 USD Coffee`.

    `may_choose` is True if the service supports amounts to choose from.
    """
    words = shares_and_amounts.joined_marks([*filter(sanitize.typed, words)])
    if not words:
        return replies.Problem("line-no-amount")
    count = shares_and_amounts.count_words(words)
    amount, rest = " ".join(words[:count]), words[count:]
    price = shares_and_amounts.read_amounts(amount, None, may_choose=may_choose)
    if isinstance(price, replies.Problem):
        return _in_their_currency(price, amount, rest, may_choose=may_choose)
    if price.currency is None:
        price, rest = _with_currency(amount, rest, may_choose=may_choose), rest[1:]
    elif rest and typed_text.read_code(rest[0]) == price.currency:
        rest = rest[1:]
    elif rest and rest[0] in amounts.currencies():
        return replies.Problem("line-two-currencies", {"one": price.currency, "other": rest[0]})
    if isinstance(price, replies.Problem):
        return price
    if may_choose and _has_suggestions(price, rest):
        return replies.Problem("line-choice-order")
    name = typed_text.read_name(" ".join(rest))
    return name if isinstance(name, replies.Problem) else (price, name)


def _has_suggestions(price: typed_text.Price | typed_text.AmbiguousAmount, rest: list[str]) -> bool:
    """True if the word after a price has suggested amounts, unlike the name `24/7 Support`.

    The word has amounts if it contains or precedes a currency, if it is the last word, or if the
    price is only a minimum.
    """
    if not rest or not shares_and_amounts.is_choice(rest[0]):
        return False
    is_minimum = isinstance(price, typed_text.Price) and price.choice and not price.choice.suggested
    if is_minimum or not rest[1:] or shares_and_amounts.names_currency(rest[0]):
        return True
    return rest[1] in amounts.currencies() or typed_text.read_code(rest[1]) == price.currency


def _in_their_currency(
    problem: replies.Problem, amount: str, rest: list[str], *, may_choose: bool
) -> replies.Problem:
    """Return the Problem with an example in the currency that follows the amount."""
    if not (rest and rest[0] in amounts.currencies()):
        return problem
    again = shares_and_amounts.read_amounts(amount, rest[0], may_choose=may_choose)
    return again if isinstance(again, replies.Problem) else problem


def _with_currency(
    amount: str, rest: list[str], *, may_choose: bool
) -> typed_text.Price | typed_text.AmbiguousAmount | replies.Problem:
    """Parse the amount in the currency that follows it.

    A capitalised word is not a currency: "5 Cup of tea" has nothing to do with Cuban pesos.
    """
    if not rest or rest[0].istitle():
        return replies.Problem("line-no-currency")
    if rest[0].isdecimal():
        return _spaced(amount, rest, may_choose=may_choose)
    if may_choose and shares_and_amounts.is_choice(rest[0]):  # `1 000/2 000`
        typed = replies.escaped(f"{amount} {rest[0]}", _QUOTED)
        return replies.Problem("problem-choice-unclear", {"typed": typed})
    code = typed_text.read_code(rest[0])
    return (
        code if isinstance(code, replies.Problem) else shares_and_amounts.read_amounts(amount, code)
    )


def _spaced(amount: str, rest: list[str], *, may_choose: bool) -> replies.Problem:
    """Return the Problem for several bare numbers (`1 000`, `5 10 20`) or for `3+ 5`."""
    if shares_and_amounts.is_choice(amount) and may_choose:
        return replies.Problem("line-choice-order")
    numbers = [amount, *takewhile(str.isdecimal, rest)]
    code = next(iter(rest[len(numbers) - 1 :]), "")
    currency = code if code in amounts.currencies() else typed_text.USUAL
    has_zeros = any(each.startswith("0") for each in numbers)  # `1 000 000` is one number
    one = "".join(numbers) if has_zeros or len(numbers) == 2 else amount  # noqa: PLR2004 - a pair
    single = replies.escaped(f"{one} {currency}", _QUOTED)
    if not may_choose or has_zeros:
        return replies.Problem("line-amount-spaced", {"example": single})
    several = replies.escaped(f"{'/'.join(numbers)} {currency}", _QUOTED)
    return replies.Problem("line-amount-or-choice", {"example": single, "several": several})
