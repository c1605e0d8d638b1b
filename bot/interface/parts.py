"""Parts of requests and payments that the service and the chat both calculate with."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Generic, TypeVar

from bot.interface import fields

N = TypeVar("N", int, Decimal)


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
            len({*self.suggested}) == len(self.suggested) <= fields.MAX_SUGGESTIONS
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
