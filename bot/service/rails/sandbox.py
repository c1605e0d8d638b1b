"""Test money, which arrives in the way that the payer chose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.core import errors
from bot.service.payouts import payout_account
from bot.service.rails import rail

DELAY = 5_000
"""Milliseconds until test money arrives if it doesn't arrive at once."""


class SandboxRail:
    """The rail for test money. It does no I/O, and its polls always find the money."""

    kind = payout_account.SANDBOX
    test_money = True

    async def connect(self, details: Mapping[str, Any]) -> rail.Connected:
        """Raise InvalidBody, because test money has no payout account."""
        del details
        raise errors.InvalidBody("This server takes test money, which needs no payout account.")

    def open_offline(self, charge: rail.Charge) -> rail.Opened:
        """Return a checkout that is polled when its money arrives."""
        is_underpaid = charge.scenario is rail.SandboxScenario.UNDERPAID
        return rail.Opened(
            external_id=charge.reference or f"{self.kind}-{charge.checkout_id}",
            poll_details={"amount": max(1, charge.amount // 2)} if is_underpaid else {},
            poll_times=_poll_times(charge),
            claimed=charge.scenario is rail.SandboxScenario.CLAIMED,
            arrived=rail.Arrived() if charge.scenario.is_at_once else None,
        )

    async def open(self, charge: rail.Charge) -> rail.Opened:
        """Return what `open_offline` does."""
        return self.open_offline(charge)

    async def poll(self, charge: rail.Charge, opened: rail.Opened) -> rail.PollAnswer:
        """Return the money, because polls are scheduled for its arrival."""
        del charge
        return rail.Arrived(opened.poll_details.get("amount"))

    def host(self, details: Mapping[str, Any]) -> str:
        """Return "", because there is no wallet."""
        del details
        return ""

    async def close(self) -> None:
        """Do nothing, because there is no connection."""


def _poll_times(charge: rail.Charge) -> tuple[int, ...]:
    match charge.scenario:
        case (
            rail.SandboxScenario.LATER | rail.SandboxScenario.TWICE | rail.SandboxScenario.UNDERPAID
        ):
            return (charge.created_at + DELAY,)
        case rail.SandboxScenario.LATE:
            return (charge.lapses_at + DELAY,)
    return ()
