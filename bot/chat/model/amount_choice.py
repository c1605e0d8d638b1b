"""The amounts that payers may choose from, where a request has no fixed price."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bot.chat.model.stored_json import fits, is_amount, is_whole
from bot.core.money.amounts import from_minor, to_minor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

N = TypeVar("N", int, Decimal)

MOST_SUGGESTIONS = 4
"""As the service has it."""


@dataclass(frozen=True, slots=True)
class AmountChoice(Generic[N]):
    """The least and the largest amount, and what is suggested, in the order of the seller.

    Amounts are in minor units in a wish, in major units (Decimal) in a draft, whose currency may
    be asked after them. `maximum` is None where only the bounds of the currency apply.
    """

    minimum: N
    suggested: tuple[N, ...] = ()
    maximum: N | None = None

    @property
    def first(self) -> N:
        """Return the amount that stands for the price: the first suggestion, else the minimum."""
        return self.suggested[0] if self.suggested else self.minimum

    @property
    def amounts(self) -> tuple[N, ...]:
        """Return every amount in it."""
        return (self.minimum, *self.suggested, *(() if self.maximum is None else (self.maximum,)))

    @property
    def is_sound(self) -> bool:
        """Return whether the suggestions differ and lie between the bounds."""
        highest = max(self.amounts) if self.maximum is None else self.maximum
        return (
            len({*self.suggested}) == len(self.suggested) <= MOST_SUGGESTIONS
            and all(self.minimum <= amount <= highest for amount in self.amounts)
            and self.minimum > 0
        )


def spelled(choice: AmountChoice[Decimal]) -> str:
    """Return a draft's choice as a seller can type it: `3+ 5/10`, `3-500`."""
    least, most = f"{choice.minimum:f}", choice.maximum
    bounds = f"{least}+" if most is None else f"{least}-{most:f}"
    return " ".join(filter(None, [bounds, "/".join(f"{each:f}" for each in choice.suggested)]))


def in_minor(choice: AmountChoice[Decimal] | None, currency: str) -> AmountChoice[int] | None:
    """Return a draft's choice as a wish has it, in minor units of the currency."""
    return None if choice is None else _each(choice, lambda amount: to_minor(amount, currency))


def in_major(choice: AmountChoice[int] | None, currency: str) -> AmountChoice[Decimal] | None:
    """Return a wish's choice as a draft has it, in major units."""
    return None if choice is None else _each(choice, lambda minor: from_minor(minor, currency))


def _each(choice: AmountChoice[Any], convert: Callable[[Any], Any]) -> AmountChoice[Any]:
    maximum = None if choice.maximum is None else convert(choice.maximum)
    return AmountChoice(
        convert(choice.minimum), tuple(convert(each) for each in choice.suggested), maximum
    )


def read_wish_choice(found: Any) -> AmountChoice[int] | None:
    """Return the choice of a stored wish, in minor units; None for anything else."""
    if not fits(found, _SHAPE) or not all(is_whole(each) for each in _amounts(found)):
        return None
    choice: AmountChoice[int] = AmountChoice(
        found["minimum"], (*found["suggested"],), found["maximum"]
    )
    return choice if choice.is_sound else None


def read_draft_choice(found: Any, currency: str) -> AmountChoice[Decimal] | None:
    """Return the choice of a stored draft, in major units; None for anything else."""
    if not fits(found, _SHAPE) or not all(is_amount(each, currency) for each in _amounts(found)):
        return None
    maximum = found["maximum"]
    choice: AmountChoice[Decimal] = AmountChoice(
        Decimal(found["minimum"]),
        tuple(Decimal(each) for each in found["suggested"]),
        None if maximum is None else Decimal(maximum),
    )
    return choice if choice.is_sound else None


def _amounts(found: Mapping[str, Any]) -> list[Any]:
    maximum = found["maximum"]
    return [found["minimum"], *found["suggested"], *([] if maximum is None else [maximum])]


_SHAPE = {
    "minimum": lambda _found: True,  # checked with the currency
    "suggested": lambda found: isinstance(found, list),
    "maximum": lambda _found: True,
}
