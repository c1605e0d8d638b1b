"""What the rails of wallets with an HTTP interface have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from bot.core.errors import (
    ForbiddenAddress,
    InvoiceError,
    NotReached,
    Overloaded,
    PeerRefusal,
    Throttled,
    Unreachable,
    requested_wait,
)
from bot.service.model.payout_problems import Wrong
from bot.service.model.rail_answers import Unavailable, Waiting
from bot.service.rails import wallet_http
from bot.service.rails.wallet_http import (
    FAILURES,
    BrokenOff,
    Denied,
    Moved,
    NoSuchHost,
    NotSecure,
    WalletHttp,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bot.core.net.webhook_addresses import AllowList
    from bot.service.model.rail_answers import Asked, Opened
    from bot.service.rails.host_calls import HostCalls


class HttpRail(ABC):
    """A rail that asks the wallet at `details.url`; `allow` is RAIL_ALLOW, `now` in epoch ms.

    `calls` has the budgets of hosts, None without any.
    """

    test_money = False

    def __init__(
        self, allow: AllowList, now: Callable[[], int], calls: HostCalls | None = None
    ) -> None:
        self._http = WalletHttp(allow, calls)
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
        except Throttled as error:  # the call changed nothing
            return Unavailable("slow", str(error), requested_wait(error))
        except FAILURES as error:
            slow = isinstance(error, Unreachable | Overloaded)
            return Unavailable("slow" if slow else "refused", str(error))

    @abstractmethod
    async def _open(self, asked: Asked) -> Opened | Unavailable:
        """Ask for the invoice. Raises one of FAILURES."""


def unanswered(error: Exception) -> Waiting:
    """Return what is known of the money if a look failed."""
    again_in = requested_wait(error) if isinstance(error, Throttled) else None
    return Waiting(str(error), again_in=again_in)


def host_problem(server: str, error: Exception) -> tuple[Wrong, str] | None:
    """Return what a seller does about a wallet's server; None for an answer that is no wallet's."""
    later = "Try again later."
    match error:
        case ForbiddenAddress():
            return Wrong.HOST_PRIVATE, f"{server} can't be used: it isn't a public address."
        case PeerRefusal():
            return Wrong.HOST_SAYS, f"{server} says: {error}"
        case NoSuchHost():
            return Wrong.HOST_UNKNOWN, f"There's no server at {server}. Check the spelling."
        case NotSecure():
            told = "has no valid certificate, so it can't be trusted. Ask whoever runs it."
            return Wrong.HOST_UNSAFE, f"{server} {told}"
        case NotReached():
            told = f"{server} can't be reached: it takes no connections. {later}"
            return Wrong.HOST_CLOSED, told
        case BrokenOff():
            return Wrong.HOST_BROKEN, f"{server} ended the connection without an answer. {later}"
        case Unreachable():
            return Wrong.HOST_SILENT, f"{server} didn't answer in time. {later}"
        case Throttled():
            return Wrong.HOST_BUSY, f"{server} is busy. Wait a minute, then try again."
        case Overloaded():
            return Wrong.HOST_BROKEN, f"{server} has a problem of its own: {error}. {later}"
        case Denied():
            return Wrong.HOST_DENIES, f"{server} lets nobody ask for it: {error}."
        case Moved():
            told = f"{server} redirects to an address that can't be used."
            return Wrong.HOST_MOVED, f"{told} Ask your wallet for your current address."
    return None
