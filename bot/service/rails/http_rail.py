"""What the rails of wallets with an HTTP interface have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from bot.core.errors import InvoiceError, Overloaded, Unreachable
from bot.service.model.rail_answers import Unavailable
from bot.service.rails import wallet_http
from bot.service.rails.wallet_http import FAILURES, WalletHttp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bot.core.net.webhook_addresses import AllowList
    from bot.service.model.rail_answers import Asked, Opened


class HttpRail(ABC):
    """A rail that asks the wallet at `details.url`; `allow` is RAIL_ALLOW, `now` in epoch ms."""

    test_money = False

    def __init__(self, allow: AllowList, now: Callable[[], int]) -> None:
        self._http = WalletHttp(allow)
        self._now = now

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    def host(self, details: Mapping[str, Any]) -> str:
        """Return the wallet's host and port."""
        return wallet_http.lane(details["url"])

    def open_offline(self, asked: Asked) -> Opened | None:
        """Return None: the wallet has to be asked."""
        del asked
        return None

    async def open(self, asked: Asked) -> Opened | Unavailable:
        """Ask the wallet for an invoice, within the limit of all its calls together."""
        try:
            async with wallet_http.time_limit():
                return await self._open(asked)
        except InvoiceError as error:
            return Unavailable("lied", str(error))
        except FAILURES as error:
            slow = isinstance(error, Unreachable | Overloaded)
            return Unavailable("slow" if slow else "refused", str(error))

    @abstractmethod
    async def _open(self, asked: Asked) -> Opened | Unavailable:
        """Ask for the invoice. Raises one of FAILURES."""
