"""What a payer takes of a request: how many pieces, and the amount of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.core.errors import FieldProblem, InvalidBody, MoneyError
from bot.core.money import amounts
from bot.service.model.quote import split_amount

if TYPE_CHECKING:
    from decimal import Decimal

    from bot.service.model.request import Terms

AMOUNT, QUANTITY = "amount", "quantity"
"""The fields of the pay page's form that refusals name."""

TOO_SMALL, TOO_LARGE, NOT_OFFERED = "tooSmall", "tooLarge", "notOffered"
"""Codes of refused amounts and quantities, beside those of MoneyError."""


@dataclass(frozen=True, slots=True)
class Order:
    """`quantity` pieces at `price` each, in minor units; None for the request's own price."""

    price: int | None = None
    quantity: int = 1

    def amount(self, terms: Terms) -> int:
        """Return the whole sum in minor units of the price's currency."""
        return self.quantity * (terms.amount if self.price is None else self.price)

    def terms(self, terms: Terms) -> Terms:
        """Return the terms of the whole sum: the receivers' shares in the same proportion."""
        total = self.amount(terms)
        if total == terms.amount:
            return terms
        shares = split_amount([one.amount for one in terms.receivers], total)
        both = zip(terms.receivers, shares, strict=True)
        return replace(terms, receivers=tuple(replace(one, amount=share) for one, share in both))

    def settled(self, terms: Terms) -> Order:
        """Return it with its price checked against the terms, as its checkout keeps it.

        The price is None where the payer can't choose. Raises InvalidBody.
        """
        check_quantity(terms, self.quantity)
        if terms.choice is None:
            if self.price not in {None, terms.amount}:
                raise _refused(AMOUNT, NOT_OFFERED, "is fixed: it can't be chosen here")
            return Order(None, self.quantity)
        price = terms.amount if self.price is None else self.price
        check_price(terms, price, self.quantity)
        return Order(price, self.quantity)


ONE = Order()
"""One piece at the request's price."""


def dearest_piece(terms: Terms) -> Order:
    """Return one piece at the highest price that a payer may pay for it."""
    return Order(_most(terms)) if terms.choice else ONE


def read_price(terms: Terms, amount: Decimal, quantity: int = 1) -> int:
    """Return the minor units of an amount that a payer chose for one piece.

    Raises InvalidBody with a code of `to_minor` or of this module.
    """
    try:
        price = amounts.to_minor(amount, terms.currency)
    except MoneyError as error:
        raise _refused(AMOUNT, error.reason, str(error)) from None
    return check_price(terms, price, quantity)


def check_bounds(order: Order) -> None:
    """Raise InvalidBody for an order of nothing, or of a sum beyond a database's numbers."""
    if order.quantity < 1:
        raise _refused(QUANTITY, TOO_SMALL, "must be at least 1")
    if order.price is None:
        return
    if order.price < 1:
        raise _refused(AMOUNT, TOO_SMALL, "must be more than 0")
    if order.price > amounts.MAX_MINOR // order.quantity:
        raise _refused(AMOUNT, TOO_LARGE, "is too large")


def check_price(terms: Terms, price: int, quantity: int = 1) -> int:
    """Return the price of one piece. Raises InvalidBody if a payer may not choose it."""
    choice = terms.choice
    least = choice.minimum if choice else terms.amount
    most = _most(terms, quantity)
    if price < least:
        raise _refused(AMOUNT, TOO_SMALL, f"must be at least {_money(least, terms)}")
    if price > most:
        raise _refused(AMOUNT, TOO_LARGE, f"must be at most {_money(most, terms)}")
    return price


def _most(terms: Terms, quantity: int = 1) -> int:
    """Return the highest price of one piece of so many."""
    most = amounts.most_minor(terms.currency) // quantity
    maximum = terms.choice.maximum if terms.choice else None
    return most if maximum is None else min(most, maximum)


def check_quantity(terms: Terms, quantity: int) -> None:
    """Raise InvalidBody if a payer may not take so many pieces in one checkout."""
    most = terms.max_quantity or 1
    if not 1 <= quantity <= most:
        code = TOO_SMALL if quantity < 1 else TOO_LARGE
        raise _refused(QUANTITY, code, f"must be a number from 1 to {most}")


def unconvertible(order: Order, error: MoneyError) -> InvalidBody | None:
    """Return why a chosen amount can't be paid in another currency, None if that is no reason."""
    codes = {"notPositive": TOO_SMALL, "tooLarge": TOO_LARGE}
    if order == ONE or error.reason not in codes:
        return None
    return _refused(AMOUNT, codes[error.reason], str(error))


def _money(minor: int, terms: Terms) -> str:
    return f"{amounts.from_minor(minor, terms.currency):f} {terms.currency}"


def _refused(field: str, code: str, message: str) -> InvalidBody:
    return InvalidBody(info=[FieldProblem(field, message, code)])
