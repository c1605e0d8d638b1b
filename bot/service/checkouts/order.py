"""The payer's input on the pay page (data, quantity, amount), and the resulting quote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal

from bot.core import errors
from bot.core.money import amounts
from bot.core.text import contacts
from bot.interface import vocabulary
from bot.service.requests import request

# The data of a payer.

HIDDEN = "•••"
SHORT_ZONES = ("+1", "+7")
"""Country codes of one digit (ITU-T E.164); two digits of the others are shown."""


def check_payer_data(
    asked: Sequence[vocabulary.PayerField], form: Mapping[str, str]
) -> tuple[dict[vocabulary.PayerField, str], tuple[vocabulary.PayerField, ...]]:
    """Return the data to store and the malformed fields.

    A paymail and an email address are stored as they are sent, with the domain in ASCII, and a
    phone number as it is dialled.
    """
    data: dict[vocabulary.PayerField, str] = {}
    wrong: list[vocabulary.PayerField] = []
    for field in asked:
        text = form.get(field, "")
        if field == "phoneNumber":
            value = contacts.dialled(text)
        else:
            value = contacts.ascii_address(contacts.typed_email(text))
        if value is None:
            wrong.append(field)
        else:
            data[field] = value
    return data, tuple(wrong)


def payer_key(data: Mapping[vocabulary.PayerField, str]) -> str | None:
    """Return the value that identifies a payer, or None if the payer entered nothing."""
    known = (data.get("paymail"), data.get("email"), data.get("phoneNumber"))
    return next((value.lower() for value in known if value), None)


def masked(field: vocabulary.PayerField, value: str) -> str:
    """Return payer data masked for a page that other people can open.

    `m•••@example.org`, `+49 ••• ••89`: payers recognize their own.
    """
    if field == "phoneNumber":
        zone = value[: 2 if value.startswith(SHORT_ZONES) else 3] if value.startswith("+") else ""
        return f"{zone} {HIDDEN} {HIDDEN[:2]}{value[-2:]}".strip()
    mailbox, _, domain = value.rpartition("@")
    return f"{mailbox[: len(mailbox) > 1]}{HIDDEN}@{domain}"


def masked_name(name: str | None) -> str | None:
    """Return the first letter of a payer's name: `M•••`."""
    return name and f"{name[: len(name) > 1]}{HIDDEN}"


# An order: the quantity, and the amount of each unit.

AMOUNT, QUANTITY = "amount", "quantity"
"""The fields of the pay page's form that refusals name."""

TOO_SMALL, TOO_LARGE, NOT_OFFERED = "tooSmall", "tooLarge", "notOffered"
"""Codes of refused amounts and quantities, in addition to the MoneyError codes."""


@dataclass(frozen=True, slots=True)
class Order:
    """The quantity and the price in one checkout."""

    price: int | None = None
    """Minor units for each unit, None if the request's own price applies."""

    quantity: int = 1

    def amount(self, terms: request.Terms) -> int:
        """Return the total in minor units of the price's currency."""
        return self.quantity * (terms.amount if self.price is None else self.price)

    def terms(self, terms: request.Terms) -> request.Terms:
        """Return the terms for the total, with the receivers' shares in the same proportion."""
        total = self.amount(terms)
        if total == terms.amount:
            return terms
        shares = split_amount([one.amount for one in terms.receivers], total)
        both = zip(terms.receivers, shares, strict=True)
        return replace(terms, receivers=tuple(replace(one, amount=share) for one, share in both))

    def settled(self, terms: request.Terms) -> Order:
        """Return the order to store, with the price checked against the terms.

        The price is None if the payer can't choose. Raises InvalidBody.
        """
        check_quantity(terms, self.quantity)
        if terms.choice is None:
            if self.price not in {None, terms.amount}:
                raise _refused(AMOUNT, NOT_OFFERED, "is fixed: it can't be chosen here")
            return Order(None, self.quantity)
        price = terms.amount if self.price is None else self.price
        least, most = terms.choice.minimum, _most(terms, self.quantity)
        if price < least:
            raise _refused(AMOUNT, TOO_SMALL, f"must be at least {_money(least, terms)}")
        if price > most:
            raise _refused(AMOUNT, TOO_LARGE, f"must be at most {_money(most, terms)}")
        return Order(price, self.quantity)


ONE = Order()
"""One unit at the request's price."""


def dearest_order(terms: request.Terms) -> Order:
    """Return one unit at the highest price that a payer may pay for it."""
    return Order(_most(terms)) if terms.choice else ONE


def check_bounds(order: Order) -> None:
    """Raise InvalidBody if the quantity is zero or the sum exceeds the database's integers."""
    if order.quantity < 1:
        raise _refused(QUANTITY, TOO_SMALL, "must be at least 1")
    if order.price is None:
        return
    if order.price < 1:
        raise _refused(AMOUNT, TOO_SMALL, "must be more than 0")
    if order.price > amounts.MAX_MINOR // order.quantity:
        raise _refused(AMOUNT, TOO_LARGE, "is too large")


def _most(terms: request.Terms, quantity: int = 1) -> int:
    """Return the highest price of one unit at this quantity."""
    most = amounts.most_minor(terms.currency) // quantity
    maximum = terms.choice.maximum if terms.choice else None
    return most if maximum is None else min(most, maximum)


def check_quantity(terms: request.Terms, quantity: int) -> None:
    """Raise InvalidBody if a payer may not take so many units in one checkout."""
    most = terms.max_quantity or 1
    if not 1 <= quantity <= most:
        code = TOO_SMALL if quantity < 1 else TOO_LARGE
        raise _refused(QUANTITY, code, f"must be a number from 1 to {most}")


def unconvertible(order: Order, error: errors.MoneyError) -> errors.InvalidBody | None:
    """Return the error if a chosen amount can't be converted, None for other causes."""
    codes = {"notPositive": TOO_SMALL, "tooLarge": TOO_LARGE}
    if order == ONE or error.reason not in codes:
        return None
    return _refused(AMOUNT, codes[error.reason], str(error))


def _money(minor: int, terms: request.Terms) -> str:
    return f"{amounts.from_minor(minor, terms.currency):f} {terms.currency}"


def _refused(field: str, code: str, message: str) -> errors.InvalidBody:
    return errors.InvalidBody(info=[errors.FieldProblem(field, message, code)])


# A quote: a price converted to the currency that is paid, and each receiver's share. Products are
# exact, and only the total is rounded, to the minor unit. The shares follow the largest remainder,
# so that their sum is the total.

_EXACT = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX)
"""Products and differences keep every digit."""


def quote(terms: request.Terms, rate: request.ExchangeRate | None) -> request.Quote:
    """Return the price to pay, converted if the denomination differs.

    The total is rounded half up to the instrument's minor unit. Each share is less than one unit
    from its exact value, so a share of less than one may be 0. Raises MoneyError unknownCurrency
    (no rate), notAnAmount (a rate that isn't a number), notPositive (rounds to 0) and tooLarge.
    """
    parts = [receiver.amount for receiver in terms.receivers]
    if terms.currency == terms.instrument:
        return request.Quote(terms.amount, terms.instrument, tuple(parts))
    factor = _factor(terms, rate)
    total = _total(_EXACT.multiply(factor, terms.amount), terms.instrument)
    exact = [_EXACT.multiply(factor, part) for part in parts]
    floors = [share.to_integral_value(ROUND_FLOOR, _EXACT) for share in exact]
    lost = [_EXACT.subtract(*both) for both in zip(exact, floors, strict=True)]
    return request.Quote(total, terms.instrument, _fill([*map(int, floors)], lost, total), rate)


def unsure_share(terms: request.Terms, least: int, rate: request.ExchangeRate | None) -> int | None:
    """Return the index of the first receiver whose share may be 0 at an amount from `least` up.

    A share that is rounded up for one amount may be rounded down for a larger one.
    """
    converts = terms.currency != terms.instrument
    factor = _factor(terms, rate) if converts else Decimal(1)
    for place, receiver in enumerate(terms.receivers):
        if _EXACT.multiply(factor, receiver.amount * least // terms.amount) < 1:
            return place
    return None


def split_amount(weights: Sequence[int], amount: int) -> tuple[int, ...]:
    """Split an amount in the proportion of weights; the sum of the shares is the amount."""
    whole, exact = sum(weights), [weight * amount for weight in weights]
    return _fill([one // whole for one in exact], [one % whole for one in exact], amount)


def _fill(shares: list[int], lost: Sequence[Decimal | int], total: int) -> tuple[int, ...]:
    """Add 1 to the rounded shares that lost the most, until they sum up to the total."""
    by_loss = sorted(range(len(shares)), key=lambda place: lost[place], reverse=True)
    for place in by_loss[: total - sum(shares)]:
        shares[place] += 1
    return tuple(shares)


def _factor(terms: request.Terms, rate: request.ExchangeRate | None) -> Decimal:
    """Return the minor units of the instrument for one minor unit of the price."""
    if rate is None:
        message = f"No exchange rate from {terms.currency} to {terms.instrument} is known"
        raise errors.MoneyError("unknownCurrency", message)
    if not rate.rate.is_finite():
        raise errors.MoneyError("notAnAmount", f"{rate.rate} is no exchange rate")
    shift = amounts.exponent(terms.instrument) - amounts.exponent(terms.currency)
    return _EXACT.scaleb(rate.rate, shift)


def _total(exact: Decimal, currency: str) -> int:
    """Round half up; the bound is checked before `int`, which is slow for a large exponent."""
    rounded = exact.to_integral_value(ROUND_HALF_UP, _EXACT)
    if rounded <= 0:
        raise errors.MoneyError("notPositive", f"The price comes to nothing in {currency}")
    if rounded > amounts.MAX_MINOR:
        message = f"The price in {currency} must fit in 64 bits of minor units"
        raise errors.MoneyError("tooLarge", message)
    return int(rounded)
