"""Rails: a rail takes a payer's money for a checkout, at once or later.

Later it reports a settlement, any number of times.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from bot.core.outbox import outbox
from bot.core.outbox.payload_kinds import PayloadKinds
from bot.core.outbox.queue_policy import Queue
from bot.service.model.checkout import Settlement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.core.database.database import Transaction

SETTLEMENTS = Queue(
    "settlements",
    lease=60_000,
    ordered=False,
    width=64,
    payloads=PayloadKinds(settlement=Settlement),
)
"""Settlements that the sandbox rail reports later."""

DELAY = 5_000
"""Milliseconds until test money arrives when it does not arrive at once."""


class Manner(StrEnum):
    """How test money arrives, for the payer to choose; every case that a real rail has."""

    AT_ONCE = "atOnce"
    LATER = "later"
    TWICE = "twice"
    LATE = "late"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Charge:
    """What a rail needs to know of a checkout; times in epoch ms, `manner` for test money."""

    checkout_id: str
    opened_at: int
    lapses_at: int
    manner: Manner = Manner.AT_ONCE


class Rail(Protocol):
    """A way to pay."""

    @property
    def name(self) -> str:
        """Return the name that its payments are stored under."""

    @property
    def test_money(self) -> bool:
        """Return whether its money is not real, which the page then writes."""

    @property
    def manners(self) -> Sequence[Manner]:
        """Return how the payer may have the money arrive; nothing where it is real."""

    def begin(self, tx: Transaction, charge: Charge) -> Settlement | None:
        """Ask for the money; return its settlement if it is here at once.

        Called within the transaction that opens the checkout, so it does no I/O.
        """


class SandboxRail:
    """Test money, which arrives in the manner that the payer chose."""

    name = "sandbox"
    test_money = True
    manners = tuple(Manner)

    def begin(self, tx: Transaction, charge: Charge) -> Settlement | None:
        """Return a settlement with an id made of the checkout's, or queue it for later."""
        settlement = Settlement(self.name, charge.checkout_id, f"sandbox-{charge.checkout_id}")
        due_at = _later(charge)
        if due_at is not None:
            outbox.put(tx, SETTLEMENTS, self.name, settlement, charge.opened_at, due_at=due_at)
        return settlement if charge.manner in {Manner.AT_ONCE, Manner.TWICE} else None


def _later(charge: Charge) -> int | None:
    """Return when a settlement is reported afterwards, in epoch ms."""
    if charge.manner in {Manner.LATER, Manner.TWICE}:
        return charge.opened_at + DELAY
    return charge.lapses_at + DELAY if charge.manner is Manner.LATE else None
