"""Test money, which arrives as the payer chose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.core import errors
from bot.service.payouts import payout_account
from bot.service.rails import rail

DELAY = 5_000
"""Milliseconds until test money arrives when it does not arrive at once."""


class SandboxRail:
    """The rail of test money: it does no I/O, and its polls always find the money."""

    kind = payout_account.SANDBOX
    test_money = True

    async def connect(self, details: Mapping[str, Any]) -> rail.Connected:
        """Raise InvalidBody: test money goes to nobody."""
        del details
        raise errors.InvalidBody("This server takes test money, which needs no payout account.")

    def open_offline(self, asked: rail.Asked) -> rail.Opened:
        """Return a checkout with its reference, or an id made of its own, polled when due."""
        return rail.Opened(
            external_id=asked.reference or f"{self.kind}-{asked.checkout_id}",
            poll_details=_arriving(asked),
            poll_times=_poll_times(asked),
            claimed=asked.scenario is rail.SandboxScenario.CLAIMED,
            arrived=rail.Arrived() if asked.scenario.is_at_once else None,
        )

    async def open(self, asked: rail.Asked) -> rail.Opened:
        """Return what `open_offline` does."""
        return self.open_offline(asked)

    async def poll(self, asked: rail.Asked, opened: rail.Opened) -> rail.PollAnswer:
        """Return the money: it is polled for only when it has arrived."""
        del asked
        return rail.Arrived(opened.poll_details.get("amount"))

    def host(self, details: Mapping[str, Any]) -> str:
        """Return '': there is no wallet."""
        del details
        return ""

    async def close(self) -> None:
        """Return at once: there is no connection."""


def _arriving(asked: rail.Asked) -> dict[str, Any]:
    """Return the amount that arrives where it is another than was asked: half of it."""
    return (
        {"amount": max(1, asked.amount // 2)}
        if asked.scenario is rail.SandboxScenario.UNDERPAID
        else {}
    )


def _poll_times(asked: rail.Asked) -> tuple[int, ...]:
    """Return when the money is reported afterwards, in epoch ms."""
    if asked.scenario in {
        rail.SandboxScenario.LATER,
        rail.SandboxScenario.TWICE,
        rail.SandboxScenario.UNDERPAID,
    }:
        return (asked.created_at + DELAY,)
    return (asked.lapses_at + DELAY,) if asked.scenario is rail.SandboxScenario.LATE else ()
