"""Rails: a rail takes a payer's money for a checkout, at once or later.

Later it reports a settlement, any number of times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bot.core.outbox import outbox
from bot.core.outbox.payload_kinds import PayloadKinds
from bot.core.outbox.queue_policy import Queue
from bot.service.model.checkout import Settlement
from bot.service.model.rail_answers import Manner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.core.database.database import Transaction
    from bot.service.model.checkout import Checkout

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

    def begin(self, tx: Transaction, checkout: Checkout, manner: Manner) -> Settlement | None:
        """Ask for the money of a checkout; return its settlement if it is here at once.

        `manner` is for test money. Called within the transaction that opens the checkout, so it
        does no I/O.
        """


class SandboxRail:
    """Test money, which arrives in the manner that the payer chose."""

    name = "sandbox"
    test_money = True
    manners = tuple(Manner)

    def begin(self, tx: Transaction, checkout: Checkout, manner: Manner) -> Settlement | None:
        """Return a settlement with an id made of the checkout's, or queue it for later."""
        settlement = Settlement(self.name, checkout.id, f"sandbox-{checkout.id}")
        due_at = _later(checkout, manner)
        if due_at is not None:
            outbox.put(tx, SETTLEMENTS, self.name, settlement, checkout.created_at, due_at=due_at)
        return settlement if manner in {Manner.AT_ONCE, Manner.TWICE} else None


def _later(checkout: Checkout, manner: Manner) -> int | None:
    """Return when a settlement is reported afterwards, in epoch ms."""
    if manner in {Manner.LATER, Manner.TWICE}:
        return checkout.created_at + DELAY
    return checkout.lapses_at + DELAY if manner is Manner.LATE else None
