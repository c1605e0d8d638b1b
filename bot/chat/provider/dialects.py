"""Dialects: the field names that servers use for a request's two currencies, and the price check.

HandCash's pages contradict each other, and a server may ignore a field that it doesn't know: the
request then has another price than its seller's. So the price in the answer is compared with the
wish, and if it differs, the next dialect is tried (docs/decisions/0039).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING

from bot.core.money import amounts

if TYPE_CHECKING:
    from bot.chat.model.answers import Answer
    from bot.chat.model.wish import Wish
    from bot.core.errors import FieldProblem


@dataclass(frozen=True, slots=True)
class Dialect:
    """The names of two fields: the currency that is paid and the currency of the price.

    A server of a dialect that `has_seller` may know the field `seller`, our addition.
    """

    name: str
    instrument: str
    denomination: str
    has_seller: bool = True

    def spell(self, wish: Wish, instrument: str) -> dict[str, str]:
        """Return the currency fields of a create; an equal denomination is left out."""
        fields = {self.instrument: instrument}
        if wish.currency != instrument:
            fields[self.denomination] = wish.currency
        return fields


DIALECTS = (
    Dialect("typed", "instrumentCurrencyCode", "denominationCurrencyCode"),
    Dialect("corrected", "instrumentCurrencyCode", "currency", has_seller=False),
    Dialect("sample", "currencyCode", "denominatedIn"),
)
"""In the order of trying: the typed names of the interface and of HandCash's OpenAPI; the names of
its page "Corrected Documentation"; the names of the interface's sample call."""

_FIELDS = frozenset(name for one in DIALECTS for name in (one.instrument, one.denomination))
_WORDS = re.compile("currency|currencies|denominat", re.IGNORECASE)


def instrument_of(wish: Wish, instrument: str | None) -> str:
    """Return the currency that payers pay in; `instrument` is the operator's setting."""
    return wish.instrument or instrument or wish.currency


def dialects_to_try(known: str | None, wish: Wish, instrument: str) -> tuple[Dialect, ...]:
    """Return the dialects that spell this wish differently, the `known` one first."""
    ordered = sorted(DIALECTS, key=lambda one: one.name != known)
    different: dict[tuple[tuple[str, str], ...], Dialect] = {}
    for one in ordered:
        different.setdefault(tuple(one.spell(wish, instrument).items()), one)
    return tuple(different.values())


def may_have_seller(known: str | None) -> bool:
    """Return whether a server of the `known` dialect may know the field `seller`."""
    return next((one.has_seller for one in DIALECTS if one.name == known), True)


def is_about_spelling(problem: FieldProblem) -> bool:
    """Check whether a refusal may be about the names of the currency fields."""
    if problem.field:
        return problem.field.rpartition(".")[2] in _FIELDS
    return _WORDS.search(problem.message) is not None


class PriceCheck(Enum):
    """Result of comparing the price of a request with the wish."""

    RIGHT = "right"
    WRONG = "wrong"
    MISSING = "missing"


def check_price(answer: Answer, wish: Wish, instrument: str) -> PriceCheck:
    """Compare the price in a server's answer, and what payers choose from, with the wish."""
    price = answer.price
    if price is None:
        return PriceCheck.MISSING
    wished = Decimal(amounts.from_minor(wish.amount, wish.currency))
    same = Decimal(price.amount) == wished and price.currency == wish.currency
    same = same and answer.choice == wish.choice
    paid_as_wished = price.instrument in (None, instrument)
    return PriceCheck.RIGHT if same and paid_as_wished else PriceCheck.WRONG
