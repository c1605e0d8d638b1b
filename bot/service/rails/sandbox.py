"""Test money, which arrives in the manner that the payer chose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.core.errors import InvalidBody
from bot.service.model.payout import SANDBOX
from bot.service.model.rail_answers import Arrived, Manner, Opened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.service.model.rail_answers import Asked, Connected, Look

DELAY = 5_000
"""Milliseconds until test money arrives when it does not arrive at once."""


class SandboxRail:
    """The rail of test money: it does no I/O, and its looks always find the money."""

    kind = SANDBOX
    test_money = True

    async def connect(self, details: Mapping[str, Any]) -> Connected:
        """Raise InvalidBody: test money goes to nobody."""
        del details
        raise InvalidBody("This server takes test money, which needs no payout account.")

    def open_offline(self, asked: Asked) -> Opened:
        """Return a checkout with its reference, or an id made of its own, looked for when due."""
        return Opened(
            external_id=asked.reference or f"{self.kind}-{asked.checkout_id}",
            look=_arriving(asked),
            looks=_looks(asked),
            claimed=asked.manner is Manner.CLAIMED,
            arrived=Arrived() if asked.manner.is_at_once else None,
        )

    async def open(self, asked: Asked) -> Opened:
        """Return what `open_offline` does."""
        return self.open_offline(asked)

    async def look(self, asked: Asked, opened: Opened) -> Look:
        """Return the money: it is looked for only when it has arrived."""
        del asked
        return Arrived(opened.look.get("amount"))

    def host(self, details: Mapping[str, Any]) -> str:
        """Return '': there is no wallet."""
        del details
        return ""

    async def close(self) -> None:
        """Return at once: there is no connection."""


def _arriving(asked: Asked) -> dict[str, Any]:
    """Return the amount that arrives where it is another than was asked: half of it."""
    return {"amount": max(1, asked.amount // 2)} if asked.manner is Manner.UNDERPAID else {}


def _looks(asked: Asked) -> tuple[int, ...]:
    """Return when the money is reported afterwards, in epoch ms."""
    if asked.manner in {Manner.LATER, Manner.TWICE, Manner.UNDERPAID}:
        return (asked.created_at + DELAY,)
    return (asked.lapses_at + DELAY,) if asked.manner is Manner.LATE else ()
