"""A quote: a price converted to the currency that is paid, and each receiver's share.

Products are exact, and only the total is rounded, to the minor unit. The shares follow the largest
remainder, so that their sum is the total.
"""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING

from bot.core import exact_json
from bot.core.errors import MoneyError
from bot.core.money.amounts import MAX_MINOR, exponent
from bot.service.model.request import ExchangeRate, Quote, Terms

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXACT = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX)
"""Products and differences keep every digit."""


def quote(terms: Terms, rate: ExchangeRate | None) -> Quote:
    """Return what a payer pays: the price, converted if the denomination differs.

    The total is rounded half up to the instrument's minor unit. Each share is less than one unit
    from its exact value, so a share of less than one may be 0. Raises MoneyError unknownCurrency
    (no rate), notAnAmount (a rate that is no number), notPositive (rounds to 0) and tooLarge.
    """
    amounts = [receiver.amount for receiver in terms.receivers]
    if terms.currency == terms.instrument:
        return Quote(terms.amount, terms.instrument, tuple(amounts))
    factor = _factor(terms, rate)
    total = _total(_EXACT.multiply(factor, terms.amount), terms.instrument)
    exact = [_EXACT.multiply(factor, amount) for amount in amounts]
    return Quote(total, terms.instrument, _shares(exact, total), rate)


def unsure_share(terms: Terms, least: int, rate: ExchangeRate | None) -> int | None:
    """Return the index of the first receiver whose share of some amount from `least` on is nothing.

    A share that is rounded up for one amount may be rounded down for a larger one.
    """
    converts = terms.currency != terms.instrument
    factor = _factor(terms, rate) if converts else Decimal(1)
    for place, receiver in enumerate(terms.receivers):
        if _EXACT.multiply(factor, receiver.amount * least // terms.amount) < 1:
            return place
    return None


def with_amount(kept: Quote, amount: int) -> Quote:
    """Return a quote for another amount than was asked, its shares in the same proportion."""
    return replace(kept, amount=amount, shares=split_amount(kept.shares, amount))


def split_amount(weights: Sequence[int], amount: int) -> tuple[int, ...]:
    """Split an amount in the proportion of weights; the sum of the shares is the amount."""
    whole, exact = sum(weights), [weight * amount for weight in weights]
    shares = [one // whole for one in exact]
    by_loss = sorted(range(len(exact)), key=lambda place: exact[place] % whole, reverse=True)
    for place in by_loss[: amount - sum(shares)]:
        shares[place] += 1
    return tuple(shares)


def _factor(terms: Terms, rate: ExchangeRate | None) -> Decimal:
    """Return the minor units of the instrument for one minor unit of the price."""
    if rate is None:
        message = f"No exchange rate from {terms.currency} to {terms.instrument} is known"
        raise MoneyError("unknownCurrency", message)
    if not rate.rate.is_finite():
        raise MoneyError("notAnAmount", f"{rate.rate} is no exchange rate")
    shift = exponent(terms.instrument) - exponent(terms.currency)
    return _EXACT.scaleb(rate.rate, shift)


def _total(exact: Decimal, currency: str) -> int:
    """Round half up; the bound is checked before `int`, which is slow for a large exponent."""
    rounded = exact.to_integral_value(ROUND_HALF_UP, _EXACT)
    if rounded <= 0:
        raise MoneyError("notPositive", f"The price comes to nothing in {currency}")
    if rounded > MAX_MINOR:
        message = f"The price in {currency} must fit in 64 bits of minor units"
        raise MoneyError("tooLarge", message)
    return int(rounded)


def _shares(exact: list[Decimal], total: int) -> tuple[int, ...]:
    """Round shares down, then add 1 to those with the largest remainders until they sum."""
    floors = [share.to_integral_value(ROUND_FLOOR, _EXACT) for share in exact]
    lost = [_EXACT.subtract(*both) for both in zip(exact, floors, strict=True)]
    shares = [int(floor) for floor in floors]
    by_loss = sorted(range(len(exact)), key=lambda place: lost[place], reverse=True)
    for place in by_loss[: total - sum(shares)]:
        shares[place] += 1
    return tuple(shares)


def write(kept: Quote) -> str:
    """Write a quote as JSON; the rate is a string with all of its digits."""
    rate = kept.rate and {
        "rate": str(kept.rate.rate),
        "source": kept.rate.source,
        "at": kept.rate.at,
    }
    fields = {"amount": kept.amount, "currency": kept.currency, "shares": kept.shares}
    return json.dumps({**fields, "rate": rate}, separators=(",", ":"))


def read(text: str) -> Quote:
    """Read a quote from JSON."""
    kept = exact_json.loads(text)
    rate = kept["rate"]
    return Quote(
        amount=kept["amount"],
        currency=kept["currency"],
        shares=tuple(kept["shares"]),
        rate=rate and ExchangeRate(Decimal(rate["rate"]), rate["source"], rate["at"]),
    )
