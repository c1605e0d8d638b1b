"""How servers spell the two currencies of a request, and whether they understood its price.

HandCash's pages contradict each other, and a server may ignore a field that it doesn't know: the
request then has another price than its seller's. So the answer is compared with the wish, and
where it differs the next spelling is tried (docs/decisions/0039).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any

from bot.core.money import amounts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.chat.model.answers import Answer
    from bot.chat.model.wish import Wish
    from bot.core.errors import FieldProblem


@dataclass(frozen=True, slots=True)
class Dialect:
    """The names of the field that says what is paid and of the one that says what prices are in."""

    name: str
    instrument: str
    denomination: str

    def spell(self, wish: Wish, instrument: str) -> dict[str, str]:
        """Return the currencies of a create; prices in what is paid need no denomination."""
        fields = {self.instrument: instrument}
        if wish.currency != instrument:
            fields[self.denomination] = wish.currency
        return fields


DIALECTS = (
    Dialect("typed", "instrumentCurrencyCode", "denominationCurrencyCode"),
    Dialect("corrected", "instrumentCurrencyCode", "currency"),
    Dialect("sample", "currencyCode", "denominatedIn"),
)
"""In the order of trying: the interface's typed names, which HandCash's OpenAPI has too; those of
its page "Corrected Documentation"; those of the interface's sample call."""

_FIELDS = frozenset(name for one in DIALECTS for name in (one.instrument, one.denomination))
_WORDS = re.compile("currency|currencies|denominat", re.IGNORECASE)


def instrument_of(wish: Wish, instrument: str | None) -> str:
    """Return the currency that payers give; `instrument` is the operator's."""
    return wish.instrument or instrument or wish.currency


def dialects_to_try(known: str | None, wish: Wish, instrument: str) -> tuple[Dialect, ...]:
    """Return the dialects to try, the one that is known to work first, none that says the same."""
    ordered = sorted(DIALECTS, key=lambda one: one.name != known)
    different: dict[tuple[tuple[str, str], ...], Dialect] = {}
    for one in ordered:
        different.setdefault(tuple(one.spell(wish, instrument).items()), one)
    return tuple(different.values())


def is_about_spelling(problem: FieldProblem) -> bool:
    """Whether a refusal may be about how the currencies are spelled."""
    if problem.field:
        return problem.field.rpartition(".")[2] in _FIELDS
    return _WORDS.search(problem.message) is not None


class PriceCheck(Enum):
    """What an answer says of the price that was wished for."""

    RIGHT = "right"
    WRONG = "wrong"
    UNTOLD = "untold"


def check_price(answer: Answer, wish: Wish, instrument: str) -> PriceCheck:
    """Compare the price of a request, as its server tells it, with the seller's."""
    price = answer.price
    if price is None:
        return PriceCheck.UNTOLD
    wished = Decimal(amounts.from_minor(wish.amount, wish.currency))
    same = Decimal(price.amount) == wished and price.currency == wish.currency
    paid_as_wished = price.instrument in (None, instrument)
    return PriceCheck.RIGHT if same and paid_as_wished else PriceCheck.WRONG


@dataclass(frozen=True, slots=True)
class Failure:
    """What came of the first spelling: the price that the server made of it, or its refusal."""

    price: str | None = None
    refusal: tuple[str, str] = ("", "")

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Failure:
        """Build a failure from what `dataclasses.asdict` made of one."""
        field, message = data["refusal"]
        return cls(data["price"], (field, message))
