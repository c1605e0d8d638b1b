"""How money moves: a rail takes a payer's money for a checkout, at once or later.

What arrives later is a settlement, reported any number of times; `(rail, external_id)` is unique.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from bot.core.outbox import outbox
from bot.core.outbox.lanes import Queue
from bot.core.outbox.payload_kinds import PayloadKinds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.core.database.database import Transaction

DELAY = 5_000
"""Milliseconds that test money is on its way when it does not arrive at once."""


class Manner(StrEnum):
    """How test money arrives, for the payer to choose; every case that a real rail has."""

    AT_ONCE = "atOnce"
    LATER = "later"
    TWICE = "twice"
    LATE = "late"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Charge:
    """What a rail is told of a checkout; times in epoch ms, `manner` where it lets one choose."""

    checkout_id: str
    opened_at: int
    lapses_at: int
    manner: Manner = Manner.AT_ONCE


@dataclass(frozen=True, slots=True)
class Settlement:
    """A rail's word that the money of a checkout arrived, under the rail's own id of it."""

    checkout_id: str
    external_id: str


SETTLEMENTS = Queue(
    "settlements",
    lease=60_000,
    ordered=False,
    width=64,
    payloads=PayloadKinds(settlement=Settlement),
)
"""Settlements that the sandbox rail reports later."""


class Rail(Protocol):
    """A way to pay; `test_money` makes the page say that none of it is real."""

    @property
    def name(self) -> str:
        """Name that its payments are kept under."""

    @property
    def test_money(self) -> bool:
        """Whether nobody really pays."""

    @property
    def manners(self) -> Sequence[Manner]:
        """How the payer may have the money arrive; none to choose from where it is real."""

    def begin(self, tx: Transaction, attempt: Charge) -> Settlement | None:
        """Ask for the money; give the settlement where it is here at once.

        Called within the transaction that opens the checkout, so it does no I/O.
        """


class SandboxRail:
    """Test money, which arrives in whatever manner it is asked to."""

    name = "sandbox"
    test_money = True
    manners = tuple(Manner)

    def begin(self, tx: Transaction, attempt: Charge) -> Settlement | None:
        """Give a settlement with an id made of the checkout's, or send it later."""
        settlement = Settlement(attempt.checkout_id, f"sandbox-{attempt.checkout_id}")
        due_at = _later(attempt)
        if due_at is not None:
            outbox.put(tx, SETTLEMENTS, self.name, settlement, attempt.opened_at, due_at=due_at)
        return settlement if attempt.manner in {Manner.AT_ONCE, Manner.TWICE} else None


def _later(attempt: Charge) -> int | None:
    """When a settlement comes afterwards, in epoch ms."""
    if attempt.manner in {Manner.LATER, Manner.TWICE}:
        return attempt.opened_at + DELAY
    return attempt.lapses_at + DELAY if attempt.manner is Manner.LATE else None
