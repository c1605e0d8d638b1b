"""A seller's own wallet, by Nostr Wallet Connect with a key that can only receive."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from bot.core.errors import (
    BadAnswer,
    InvalidBody,
    InvoiceError,
    Throttled,
    Unreachable,
    requested_wait,
)
from bot.core.net.guarded_socket import GuardedDialler
from bot.core.net.http_client import ssl_context
from bot.service.lightning import invoice
from bot.service.model.payout import NWC
from bot.service.model.payout_problems import check_names
from bot.service.model.rail_answers import Connected, Gone, Opened, PayWith, Unavailable, Waiting
from bot.service.nostr.connection_string import BadConnection, parse_connection
from bot.service.nostr.encryption import Scheme
from bot.service.nostr.relay_connection import guarded_dial
from bot.service.nostr.relays import Relays
from bot.service.nostr.wallet import Call, WalletError, Wallets
from bot.service.rails import nwc_answers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bot.core.errors import FieldProblem
    from bot.core.net.webhook_addresses import AllowList
    from bot.service.model.rail_answers import Asked, Look
    from bot.service.nostr.connection_string import Connection
    from bot.service.rails.host_calls import HostCalls

SECONDS = 9.5
"""Limit of everything that is done at once; callers wait for ten."""

_TWICE = (4.5, 4.5)
"""Patience of what only reads, in seconds of each try."""

_ONCE = (9.0,)
"""Patience of what makes an invoice: a slow wallet would make two."""

LONGEST_MEMO = 300
"""Bytes of an invoice's description; BOLT 11 has room for 639."""


class NwcRail:
    """Asks wallets over relays; `now` is in epoch ms, `calls` has the budgets of hosts."""

    kind = NWC
    test_money = False

    def __init__(
        self, allow: AllowList, now: Callable[[], int], calls: HostCalls | None = None
    ) -> None:
        self._allow = allow
        self._now = now
        self._relays = Relays(guarded_dial(GuardedDialler(allow), ssl_context()))
        self._wallets = Wallets(self._relays, now, calls)

    async def connect(self, details: Mapping[str, Any]) -> Connected:
        """Parse `details.connection` and ask the wallet what it may do.

        Raises InvalidBody, also for a connection that could spend.
        """
        check_names(details, "connection")
        text = details.get("connection")
        if not isinstance(text, str):
            raise _refusal(nwc_answers.MISSING)
        try:
            connection = parse_connection(text, self._allow)
            async with asyncio.timeout(SECONDS):
                scheme = await self._wallets.find_scheme(connection)
                info = await self._wallets.call(
                    connection, scheme, Call("get_info", {}, (3.5, 3.5))
                )
        except BadConnection as error:
            raise _refusal(nwc_answers.problem(error.wrong, str(error))) from None
        except WalletError as error:
            raise _refusal(nwc_answers.refusal_of(error.code)) from None
        except (Unreachable, Throttled, TimeoutError):
            raise _refusal(nwc_answers.SILENT) from None
        except BadAnswer:
            raise _refusal(nwc_answers.NONSENSE) from None
        if problem := nwc_answers.problem_of(info):
            raise _refusal(problem)
        sealed = {"connection": text.strip(), "encryption": scheme.value}
        return Connected(NWC, sealed, connection.label, ("SAT",), automatic=True)

    def open_offline(self, asked: Asked) -> None:
        """Return None: the wallet makes the invoice."""

    async def open(self, asked: Asked) -> Opened | Unavailable:
        """Ask for an invoice of the exact amount that ends with the reservation."""
        params = {
            "amount": asked.amount * invoice.MSAT,
            "description": asked.memo.encode()[:LONGEST_MEMO].decode(errors="ignore"),
            "expiry": invoice.expiry(asked.lapses_at, self._now()),
        }
        try:
            result = await self._call(asked, Call("make_invoice", params, _ONCE))
            made = invoice.check(str(result.get("invoice")), asked.amount, self._now())
        except Throttled as error:
            return Unavailable("slow", str(error), requested_wait(error))
        except (Unreachable, TimeoutError) as error:
            return Unavailable("slow", str(error))
        except (WalletError, BadConnection) as error:
            return Unavailable(nwc_answers.reason_of(error), str(error))
        except (BadAnswer, InvoiceError) as error:
            return Unavailable("lied", str(error))
        if result.get("payment_hash") not in (None, made.payment_hash):
            return Unavailable("lied", "the wallet names another payment hash than its invoice has")
        return Opened(made.payment_hash, PayWith(made.text), made.lapses_at)

    async def look(self, asked: Asked, opened: Opened) -> Look:
        """Ask for the invoice's state; a wallet that says it unclearly is asked for its list."""
        try:
            params = {"payment_hash": opened.external_id}
            found = await self._call(asked, Call("lookup_invoice", params, _TWICE))
            ended = self._now() >= (opened.lapses_at or asked.lapses_at)
            look = nwc_answers.read_lookup(found, opened.external_id, ended=ended)
            if look is None:
                look = await self._look_in_list(asked, opened)
        except WalletError as error:
            return Gone(str(error)) if error.code == "NOT_FOUND" else Waiting(str(error))
        except Throttled as error:
            return Waiting(str(error), again_in=requested_wait(error))
        except nwc_answers.WalletLie as error:
            return Waiting(str(error), error.lie)
        except (Unreachable, TimeoutError, BadAnswer, BadConnection) as error:
            return Waiting(str(error))
        return look

    def host(self, details: Mapping[str, Any]) -> str:
        """Return relay and key: wallets share relays, and a slow wallet delays no other."""
        try:
            connection, _ = self._read(details)
        except BadConnection:
            return ""
        return f"{connection.relay_host}/{connection.key.public}"

    async def close(self) -> None:
        """Close the connections to relays."""
        await self._relays.close()

    async def _look_in_list(self, asked: Asked, opened: Opened) -> Look:
        """Search the wallet's list of payments, which has only those that arrived."""
        made = asked.created_at // 1000
        params = {"from": made - 600, "until": made + 600, "type": "incoming", "limit": 20}
        found = await self._call(asked, Call("list_transactions", params, _ONCE))
        return nwc_answers.read_list(found, opened.external_id)

    async def _call(self, asked: Asked, call: Call) -> dict[str, Any]:
        connection, scheme = self._read(asked.details)
        async with asyncio.timeout(SECONDS):
            return await self._wallets.call(connection, scheme, call)

    def _read(self, details: Mapping[str, Any]) -> tuple[Connection, Scheme]:
        connection = parse_connection(str(details.get("connection")), self._allow)
        return connection, Scheme(details.get("encryption", Scheme.NIP04))


def _refusal(problem: FieldProblem) -> InvalidBody:
    return InvalidBody(info=[problem])
