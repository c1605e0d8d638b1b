"""Parts of requests and payments that the service and the chat both check or calculate with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Generic, TypeVar

N = TypeVar("N", int, Decimal)

MAX_SUGGESTIONS = 4
"""Suggested amounts of a request."""


@dataclass(frozen=True, slots=True)
class AmountChoice(Generic[N]):
    """The amounts that a payer may pay for one unit.

    In minor units of the request's currency, or in major units (Decimal) while it is not known.
    """

    minimum: N

    suggested: tuple[N, ...] = ()
    """Amounts from `minimum` to `maximum`, in the seller's order."""

    maximum: N | None = None
    """None if only the largest amount of the currency applies."""

    @property
    def first(self) -> N:
        """Return the price: the first suggestion, or the minimum without suggestions."""
        return self.suggested[0] if self.suggested else self.minimum

    @property
    def amounts(self) -> tuple[N, ...]:
        """Return all amounts of the choice."""
        return (self.minimum, *self.suggested, *(() if self.maximum is None else (self.maximum,)))

    def allows(self, amount: N) -> bool:
        """True if a payer may pay an amount."""
        return self.minimum <= amount and (self.maximum is None or amount <= self.maximum)

    @property
    def is_sound(self) -> bool:
        """True if the amounts differ, are few enough, and lie between the bounds."""
        return (
            len({*self.suggested}) == len(self.suggested) <= MAX_SUGGESTIONS
            and all(map(self.allows, self.amounts))
            and self.minimum > 0
        )


@dataclass(frozen=True, slots=True)
class PayerWords:
    """A payer's name and message; None for an empty field."""

    name: str | None = None
    message: str | None = None

    def __bool__(self) -> bool:
        """True if the payer gave a name or a message."""
        return self.name is not None or self.message is not None


NO_WORDS = PayerWords()


# Lists of codes from sellers: one code a line, without repeats.
#
# Problems give line numbers and never a code, because codes are worth money and refusals end up in
# logs.


MOST_CODES = 10_000
"""Codes in one list."""

LONGEST_CODE = 500
"""Characters of a code."""

MOST_NAMED = 10
"""Lines that a problem lists; further lines are only counted."""

CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
"""Characters that codes can't contain. Payers wait while a list of 5 MB is searched for them."""

NO_CODES = "has no codes"
TOO_MANY = f"has more than {MOST_CODES} codes"


class CodesProblem(ValueError):
    """A list of codes that is not accepted; the message never has a code."""


def check_codes(numbered: Iterable[tuple[int, str]], named: str = "line") -> tuple[str, ...]:
    """Return the codes of numbered lines, in their order, without the spaces around them.

    Problems call a line `named`. Raises CodesProblem.
    """
    codes: dict[str, None] = {}
    repeated: list[int] = []
    for number, line in numbered:
        code = line.strip()
        if not code:
            raise CodesProblem(f"{named} {number} is empty")
        if len(code) > LONGEST_CODE:
            raise CodesProblem(f"{named} {number} has more than {LONGEST_CODE} characters")
        if CONTROLS.search(code):
            raise CodesProblem(f"{named} {number} has control characters")
        if code in codes:
            repeated.append(number)
        codes[code] = None
        if len(codes) > MOST_CODES:
            raise CodesProblem(TOO_MANY)
    if repeated:
        raise CodesProblem(_repeats(repeated, named))
    if not codes:
        raise CodesProblem(NO_CODES)
    return tuple(codes)


def _repeats(numbers: Sequence[int], named: str) -> str:
    """Return how many codes are repeated, and in which lines."""
    shown = [str(number) for number in numbers[:MOST_NAMED]]
    more = len(numbers) - len(shown)
    if more:
        shown.append(f"{more} more")
    places = ", ".join(shown[:-1]) + (" and " if len(shown) > 1 else "") + shown[-1]
    if len(numbers) == 1:
        return f"1 code is repeated: {named} {places}"
    return f"{len(numbers)} codes are repeated: {named}s {places}"
