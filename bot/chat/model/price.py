"""A price as it was typed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Price:
    """An amount in major units; `currency` is None where none was named and none is usual."""

    amount: Decimal
    currency: str | None
