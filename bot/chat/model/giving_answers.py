"""What the embedded service answers about amounts of payers' choice, goals, quantity and goods.

Other servers may use these names for something else, so a value of another form is left out.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bot.chat.model.amount_choice import AmountChoice
from bot.chat.model.goods import GOODS_KINDS, CodeCounts
from bot.core.errors import MoneyError
from bot.core.money.amounts import exponent, to_minor

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_RAISED = Decimal(10**18)  # far more than all payments of a request
_MOST_COUNTED = 10**12


def read_giving(data: Mapping[str, Any], currency: str | None) -> dict[str, Any]:
    """Return these facts of a request in the names of `Answer`; amounts in minor units.

    Amounts are in the `currency` of the price, and left out without one.
    """
    return {
        "choice": _choice(data.get("amountChoice"), currency),
        "goal": _amount(data.get("goal"), currency),
        "raised": _sum(data.get("amountRaised"), currency),
        "max_quantity": _count(data.get("maxQuantity")) or None,
        "delivers": data.get("delivers") if data.get("delivers") in GOODS_KINDS else None,
        "codes": _codes(data.get("delivery")),
    }


def read_stored_giving(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored facts that are objects, as `Answer` has them."""
    choice, codes = data.get("choice"), data.get("codes")
    return {
        "choice": choice and AmountChoice(**{**choice, "suggested": (*choice["suggested"],)}),
        "codes": codes and CodeCounts(**codes),
    }


def _choice(found: Any, currency: str | None) -> AmountChoice[int] | None:
    suggested = found.get("suggested", []) if isinstance(found, dict) else None
    if not isinstance(suggested, list):
        return None
    minimum, maximum = _amount(found.get("minimum"), currency), found.get("maximum")
    amounts = [_amount(each, currency) for each in suggested]
    known = [amount for amount in amounts if amount is not None]
    most = None if maximum is None else _amount(maximum, currency)
    if minimum is None or len(known) < len(amounts) or (most is None) != (maximum is None):
        return None
    choice: AmountChoice[int] = AmountChoice(minimum, (*known,), most)
    return choice if choice.is_sound else None


def _amount(value: Any, currency: str | None) -> int | None:
    if currency is None or not _is_number(value):
        return None
    try:
        return to_minor(Decimal(value), currency)
    except MoneyError:
        return None


def _sum(value: Any, currency: str | None) -> int | None:
    """Return a sum, which may be 0 or more than any single amount."""
    if currency is None or not _is_number(value) or not 0 <= value <= _MOST_RAISED:
        return None
    try:
        minor = Decimal(value).scaleb(exponent(currency))
    except MoneyError:
        return None
    return int(minor) if minor == minor.to_integral_value() else None


def _codes(delivery: Any) -> CodeCounts | None:
    codes = delivery.get("codes") if isinstance(delivery, dict) else None
    if not isinstance(codes, dict):
        return None
    counts = (_count(codes.get(name)) or 0 for name in ("total", "assigned", "waiting"))
    return CodeCounts(*counts)


def _count(value: Any) -> int | None:
    if not _is_number(value) or not 0 <= value <= _MOST_COUNTED or value != int(value):
        return None
    return int(value)


def _is_number(value: Any) -> bool:
    is_finite = not isinstance(value, Decimal) or value.is_finite()
    return isinstance(value, int | Decimal) and not isinstance(value, bool) and is_finite
