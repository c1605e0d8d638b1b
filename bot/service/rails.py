"""How money moves: a rail takes a payer's money for a checkout."""

from __future__ import annotations

from typing import Protocol


class Rail(Protocol):
    """A way to pay; `test_money` makes the page say that none of it is real."""

    @property
    def name(self) -> str:
        """Name that its payments are kept under."""

    @property
    def test_money(self) -> bool:
        """Whether nobody really pays."""

    def settle(self, checkout_id: str) -> str:
        """Take the money at once; give the rail's own id of the payment, one a checkout.

        Called within the transaction of the payment, so it does no I/O.
        """


class SandboxRail:
    """Test money: every checkout is paid as soon as it is opened."""

    name = "sandbox"
    test_money = True

    def settle(self, checkout_id: str) -> str:
        """Give an id made of the checkout's, so that one checkout is one payment."""
        return f"sandbox-{checkout_id}"
