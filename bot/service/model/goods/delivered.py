"""What a payer gets: text, a file, or the codes of the units that were paid.

A unit gets what its request delivers when it is sold. An edit changes it for the units that are
sold from then on, and for those that still wait for a code. A text or a file that takes the place
of another is a correction: every unit that has the one gets the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from bot.service.model.request import DeliveryKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.service.model.request import Payment, PaymentRequest

MOST_CODES_OF_REQUEST = 100_000
"""Codes that a request may have, sold ones too."""

MOST_CODES_OF_SELLER = 1_000_000
"""Codes that all requests of a seller may have, deleted requests too."""

LONGEST_TEXT = 4_000
"""Characters of a delivered text."""


@dataclass(frozen=True, slots=True)
class Goods:
    """What an application wants delivered; `codes_file` is the id of a file that lists them."""

    kind: DeliveryKind
    text: str | None = None
    file_id: str | None = None
    codes: tuple[str, ...] = ()
    codes_file: str | None = None


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An uploaded file; `size` in bytes."""

    id: str
    name: str
    media_type: str
    size: int


@dataclass(frozen=True, slots=True)
class CodeCounts:
    """How many codes a request has, how many are sold, and how many sold units wait for one."""

    total: int
    assigned: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Delivered:
    """What the units up to number `last_unit` get; None is every unit that is yet to come."""

    last_unit: int | None
    kind: DeliveryKind | None
    text: str | None = None
    file_id: str | None = None


class DeliveryProgress(StrEnum):
    """Whether a payer has everything that was bought."""

    DELIVERED = "delivered"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Received:
    """What the holder of a payment is shown; `waiting` units get their codes later."""

    text: str | None = None
    file: StoredFile | None = None
    codes: tuple[str, ...] = ()
    waiting: int = 0

    @property
    def progress(self) -> DeliveryProgress:
        return DeliveryProgress.WAITING if self.waiting else DeliveryProgress.DELIVERED


Share: TypeAlias = tuple[range, Delivered]
"""Some of a payment's units, and what they get."""


def shares(payment: Payment, delivered: Sequence[Delivered]) -> list[Share]:
    """Return what each unit of a payment gets: nothing without a unit, or once it is paid back.

    `delivered` is in the order of its units, what the request delivers now last.
    """
    if payment.first_unit is None or not payment.took_unit or payment.marks.paid_back_at:
        return []
    first, end = payment.first_unit, payment.first_unit + payment.quantity
    found = []
    for one in delivered:
        until = end if one.last_unit is None else min(end, one.last_unit + 1)
        if first < until and one.kind is not None:
            found.append((range(first, until), one))
        first = max(first, until)
    return found


def progress(
    payment: Payment, delivered: Sequence[Delivered], codes_count: int
) -> DeliveryProgress | None:
    """Return whether a payer has everything, None where nothing is delivered."""
    found = shares(payment, delivered)
    if not found:
        return None
    waits = any(one.kind is DeliveryKind.CODES and units[-1] > codes_count for units, one in found)
    return DeliveryProgress.WAITING if waits else DeliveryProgress.DELIVERED


def served(request: PaymentRequest) -> int:
    """Return the number of the last unit that has got what the request delivers."""
    if request.delivers is DeliveryKind.CODES:
        return min(request.paid_count, request.codes_count)
    return request.paid_count


def count_codes(request: PaymentRequest) -> CodeCounts:
    """Return how many codes a request has; it delivers codes."""
    skipped = request.codes_skipped
    return CodeCounts(
        total=request.codes_count - skipped,
        assigned=max(0, min(request.paid_count, request.codes_count) - skipped),
        waiting=max(0, request.paid_count - request.codes_count),
    )
