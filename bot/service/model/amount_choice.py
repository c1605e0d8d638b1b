"""Amounts that a payer may choose."""

from __future__ import annotations

from dataclasses import dataclass

SUGGESTIONS = 4
"""Suggested amounts of a request."""


@dataclass(frozen=True, slots=True)
class AmountChoice:
    """What a payer may pay for one piece, in minor units of the request's currency.

    The suggestions lie between `minimum` and `maximum`; None for the currency's own bound.
    """

    minimum: int
    suggested: tuple[int, ...] = ()
    maximum: int | None = None

    @property
    def first(self) -> int:
        """Return the amount that stands for the price: the first suggestion, or the minimum."""
        return self.suggested[0] if self.suggested else self.minimum

    def allows(self, amount: int) -> bool:
        """Return whether a payer may pay an amount."""
        return self.minimum <= amount and (self.maximum is None or amount <= self.maximum)
