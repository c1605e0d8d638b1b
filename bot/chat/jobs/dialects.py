"""Dialects: the field names that servers use for a request's two currencies, and the price check.

HandCash's pages contradict each other, and a server may ignore an unknown field, so that the
request has a price that its seller didn't ask for. Therefore the price in the answer is compared
with the spec. If it differs, the next dialect is tried (docs/decisions/0039).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from bot.chat.model import remote_request, request_spec
from bot.core import errors
from bot.core.money import amounts


@dataclass(frozen=True, slots=True)
class Dialect:
    """The names of two fields: the payment's currency and the price's currency."""

    name: str
    instrument: str
    denomination: str
    has_seller: bool = True
    """True if servers of this dialect may know our additional field `seller`."""

    def spell(self, spec: request_spec.RequestSpec, instrument: str) -> dict[str, str]:
        """Return the currency fields of a create; an equal denomination is left out."""
        fields = {self.instrument: instrument}
        if spec.currency != instrument:
            fields[self.denomination] = spec.currency
        return fields


DIALECTS = (
    Dialect("typed", "instrumentCurrencyCode", "denominationCurrencyCode"),
    Dialect("corrected", "instrumentCurrencyCode", "currency", has_seller=False),
    Dialect("sample", "currencyCode", "denominatedIn"),
)
"""The dialects in the order in which they are tried: the names in the types of the interface and of
HandCash's OpenAPI, the names on HandCash's page "Corrected Documentation", and the names in the
interface's sample call."""

_FIELDS = frozenset(name for one in DIALECTS for name in (one.instrument, one.denomination))
_WORDS = re.compile("currency|currencies|denominat", re.IGNORECASE)


def instrument_of(spec: request_spec.RequestSpec, instrument: str | None) -> str:
    """Return the currency that payers pay in; `instrument` is the operator's setting."""
    return spec.instrument or instrument or spec.currency


def dialects_to_try(
    known: str | None, spec: request_spec.RequestSpec, instrument: str
) -> tuple[Dialect, ...]:
    """Return the dialects that spell a spec differently, the `known` dialect first."""
    ordered = sorted(DIALECTS, key=lambda one: one.name != known)
    different: dict[tuple[tuple[str, str], ...], Dialect] = {}
    for one in ordered:
        different.setdefault(tuple(one.spell(spec, instrument).items()), one)
    return tuple(different.values())


def may_have_seller(known: str | None) -> bool:
    """True if a server of the `known` dialect may know the field `seller`."""
    return next((one.has_seller for one in DIALECTS if one.name == known), True)


def is_about_spelling(problem: errors.FieldProblem) -> bool:
    """True if a refusal may concern the names of the currency fields."""
    if problem.field:
        return problem.field.rpartition(".")[2] in _FIELDS
    return _WORDS.search(problem.message) is not None


class PriceCheck(Enum):
    """Result of comparing the price of a request with the spec."""

    RIGHT = "right"
    WRONG = "wrong"
    MISSING = "missing"


def check_price(
    answer: remote_request.RemoteRequest, spec: request_spec.RequestSpec, instrument: str
) -> PriceCheck:
    """Compare the price and the amounts to choose from in a server's answer with the spec."""
    price = answer.price
    if price is None:
        return PriceCheck.MISSING
    asked = Decimal(amounts.from_minor(spec.amount, spec.currency))
    same = Decimal(price.amount) == asked and price.currency == spec.currency
    same = same and answer.choice == spec.choice
    is_paid_as_asked = price.instrument in (None, instrument)
    return PriceCheck.RIGHT if same and is_paid_as_asked else PriceCheck.WRONG
