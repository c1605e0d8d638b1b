"""Banks: a code and a reference to pay with, and the seller's word that the money came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.service.banking import accounts, codes
from bot.service.model.payout import BANK
from bot.service.model.rail_answers import Opened, Unavailable, Waiting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.service.model.rail_answers import Asked, Connected, Look


class BankRail:
    """Bank transfers, of which no one but the seller learns."""

    kind = BANK
    test_money = False

    async def connect(self, details: Mapping[str, Any]) -> Connected:
        """Check an account as banks do. Raises InvalidBody."""
        return accounts.connect(details)

    def open_offline(self, asked: Asked) -> Opened | None:
        """Return the code, None for an amount that codes can't ask for."""
        if asked.amount > codes.MOST:
            return None
        shown = codes.pay_with(asked.details, asked.amount, asked.currency, asked.reference)
        return Opened(asked.reference, shown, looks=())

    async def open(self, asked: Asked) -> Opened | Unavailable:
        """Return why `open_offline` could not open it."""
        return self.open_offline(asked) or Unavailable("tooLarge", f"more than {codes.MOST}")

    async def look(self, asked: Asked, opened: Opened) -> Look:
        """Return that nothing is known: the seller confirms."""
        del asked, opened
        return Waiting()

    def host(self, details: Mapping[str, Any]) -> str:
        """Return '': no host is asked."""
        del details
        return ""

    async def close(self) -> None:
        """Close nothing."""
