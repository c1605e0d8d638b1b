"""The rail for Nostr Wallet Connect (NIP-47), with a key that can only receive.

It trusts nothing in a wallet's answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from bot.core import errors
from bot.core.net import guarded_transport, http_client, webhook_addresses
from bot.interface import vocabulary
from bot.service.rails import (
    host_calls,
    invoices,
    nostr_wallet,
    rail,
    relays,
)

DetailError = vocabulary.DetailError

NEEDED = ("make_invoice", "lookup_invoice")

_HARMLESS = frozenset(
    [
        *("make_hold_invoice", "settle_hold_invoice", "cancel_hold_invoice"),
        *("receive", "sign_message", "notifications", *NEEDED),
    ]
)
_HARMLESS_PREFIXES = ("get_", "list_", "lookup_")
"""Methods that move no money out. A list of harmful methods would miss new ones."""

_NO_MONEY = ("testnet", "testnet4", "signet", "regtest", "mutinynet")
"""Networks whose coins have no value."""

_ENDED = frozenset(["expired", "failed"])
_OPEN = frozenset(["pending", "accepted"])

_RECEIVE_ONLY = (
    "Make a new connection in your wallet that may only create and look up invoices, "
    "and connect that one. If your wallet can't make one, use its Lightning address instead."
)


def _problem(wrong: DetailError, message: str) -> errors.FieldProblem:
    return rail.problem("connection", wrong, message)


_BUSY = _problem(DetailError.WALLET_BUSY, "Your wallet is busy. Wait a minute, then try again.")
_NOT_VALID = _problem(
    DetailError.CONNECTION_ENDED,
    "Your wallet says that this connection isn't valid. Make a new one and connect that.",
)
_TELLS_NOTHING = _problem(
    DetailError.RIGHTS_UNKNOWN,
    "Your wallet doesn't say what this connection may do. "
    "Allow it to read the wallet's info (get_info), then try again.",
)
_REFUSALS = {
    "RATE_LIMITED": _BUSY,
    "QUOTA_EXCEEDED": _BUSY,
    "UNAUTHORIZED": _NOT_VALID,
    "EXPIRED": _NOT_VALID,
    "RESTRICTED": _TELLS_NOTHING,
    "NOT_IMPLEMENTED": _TELLS_NOTHING,
}


def refusal_of(code: str) -> errors.FieldProblem:
    """Return the problem to show a seller for an error code of `get_info`."""
    failed = f"Your wallet answered with an error ({code}). Try again later."
    return _REFUSALS.get(code, _problem(DetailError.WALLET_FAILED, failed))


def problem_of(info: dict[str, Any]) -> errors.FieldProblem | None:
    """Return the problem that the wallet's `get_info` shows, or None if there is none."""
    methods = info.get("methods")
    if not isinstance(methods, list) or not all(isinstance(name, str) for name in methods):
        return _TELLS_NOTHING
    spending = [
        name
        for name in methods
        if name not in _HARMLESS and not name.startswith(_HARMLESS_PREFIXES)
    ]
    if spending:
        named = spending[0] if spending[0].replace("_", "").isalnum() else "an unknown method"
        return _problem(
            DetailError.SPENDING_CONNECTION,
            f"This connection can also spend ({named[:30]}), so it isn't safe to share. "
            f"Remove it in your wallet. {_RECEIVE_ONLY}",
        )
    if missing := [name for name in NEEDED if name not in methods]:
        message = f"This connection can't be paid to: it lacks {' and '.join(missing)}."
        return _problem(DetailError.RECEIVES_NOTHING, f"{message} {_RECEIVE_ONLY}")
    if info.get("network") in _NO_MONEY:
        message = "This wallet is on a test network. Connect one that receives real bitcoin."
        return _problem(DetailError.TEST_NETWORK, message)
    return None


def read_lookup(found: dict[str, Any], payment_hash: str, *, ended: bool) -> rail.PollAnswer | None:
    """Return the answer of `lookup_invoice`; None if it may mean a payment or the invoice's end.

    The field `state` is optional. If it is missing, `settled_at` may also be set for an invoice
    that `ended` unpaid.
    """
    if found.get("payment_hash") != payment_hash or found.get("type") not in (None, "incoming"):
        return rail.Waiting(
            "the wallet answered about another invoice", rail.InvalidWalletAnswer.OTHER_INVOICE
        )
    arrived = invoices.read_arrival(found.get("amount"), found.get("preimage"), payment_hash)
    state = found.get("state")
    if not isinstance(state, str):
        if not found.get("settled_at"):
            return rail.Waiting()
        return None if ended else arrived
    state = state.lower()
    if state == "settled":
        return arrived
    if state in _ENDED:
        return rail.Gone(f"the wallet says {state}")
    return rail.Waiting("" if state in _OPEN else "the wallet says an unknown state")


def read_list(found: dict[str, Any], payment_hash: str) -> rail.PollAnswer:
    """Return the answer of `list_transactions`, which lists only received payments."""
    listed = found.get("transactions")
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and entry.get("payment_hash") == payment_hash:
            if not entry.get("settled_at"):
                return rail.Waiting()
            return invoices.read_arrival(entry.get("amount"), entry.get("preimage"), payment_hash)
    return rail.Gone("the invoice ended without a payment")


SECONDS = 9.5
"""Time limit in seconds of all calls of one step together; callers wait ten."""

_TWICE = (4.5, 4.5)
"""Seconds of each try of a call that changes nothing."""

_ONCE = (9.0,)
"""Seconds of the only try to make an invoice: a slow wallet would make two."""

LONGEST_MEMO = 300
"""Bytes of an invoice's description; BOLT 11 has room for 639."""


class NwcRail(rail.Rail):
    """Asks wallets over relays; `now` in epoch ms, `calls` has the budgets of hosts."""

    kind = vocabulary.NWC

    def __init__(
        self,
        allow: webhook_addresses.AllowList,
        now: Callable[[], int],
        calls: host_calls.HostCalls | None = None,
    ) -> None:
        self._allow = allow
        self._now = now
        self._relays = relays.Relays(
            relays.guarded_dial(guarded_transport.GuardedDialler(allow), http_client.ssl_context())
        )
        self._wallets = nostr_wallet.Wallets(self._relays, now, calls)

    async def connect(self, details: Mapping[str, Any]) -> rail.Connected:
        """Parse `details.connection` and ask the wallet what it may do.

        Raises InvalidBody, also for a connection that could spend.
        """
        rail.check_names(details, "connection")
        text = details.get("connection")
        if not isinstance(text, str):
            message = "is required: the text that your wallet shows for a connection"
            raise rail.refusal("connection", DetailError.MISSING, message)
        try:
            connection = nostr_wallet.parse_connection(text, self._allow)
            async with asyncio.timeout(SECONDS):
                scheme = await self._wallets.find_scheme(connection)
                info = await self._wallets.call(
                    connection, scheme, nostr_wallet.Call("get_info", {}, (3.5, 3.5))
                )
            problem = problem_of(info)
        except rail.BadDetail as error:
            problem = _problem(error.wrong, str(error))
        except nostr_wallet.WalletError as error:
            problem = refusal_of(error.code)
        except (errors.Unreachable, errors.Throttled, TimeoutError):
            message = (
                "Your wallet didn't answer. Check that it's online and that it still lists this "
                "connection, then try again."
            )
            problem = _problem(DetailError.WALLET_SILENT, message)
        except errors.BadAnswer:
            message = "Your wallet's answer can't be read. Update the wallet, or use another one."
            problem = _problem(DetailError.WALLET_UNREADABLE, message)
        if problem:
            raise errors.InvalidBody(info=[problem]) from None
        sealed = {"connection": text.strip(), "encryption": scheme.value}
        return rail.Connected(vocabulary.NWC, sealed, connection.label, ("SAT",), automatic=True)

    async def open(self, charge: rail.Charge) -> rail.Opened | rail.Unavailable:
        """Ask for an invoice of the exact amount, which ends with the reservation."""
        params = {
            "amount": charge.amount * invoices.MSAT,
            "description": charge.memo.encode()[:LONGEST_MEMO].decode(errors="ignore"),
            "expiry": invoices.expiry(charge.lapses_at, self._now()),
        }
        try:
            result = await self._call(charge, nostr_wallet.Call("make_invoice", params, _ONCE))
            made = invoices.check_invoice(str(result.get("invoice")), charge.amount, self._now())
        except errors.Throttled as error:
            return rail.Unavailable("slow", str(error), errors.requested_wait(error))
        except (errors.Unreachable, TimeoutError) as error:
            return rail.Unavailable("slow", str(error))
        except (nostr_wallet.WalletError, rail.BadDetail) as error:
            is_busy = isinstance(error, nostr_wallet.WalletError) and error.code == "RATE_LIMITED"
            return rail.Unavailable("slow" if is_busy else "refused", str(error))
        except (errors.BadAnswer, errors.InvoiceError) as error:
            return rail.Unavailable("lied", str(error))
        if result.get("payment_hash") not in (None, made.payment_hash):
            return rail.Unavailable(
                "lied", "the wallet names another payment hash than its invoice has"
            )
        return rail.Opened(made.payment_hash, rail.PayWith(made.text), made.lapses_at)

    async def poll(self, charge: rail.Charge, opened: rail.Opened) -> rail.PollAnswer:
        """Ask for the invoice's state; if it is unclear, ask for the list of payments."""
        try:
            params: dict[str, Any] = {"payment_hash": opened.external_id}
            found = await self._call(charge, nostr_wallet.Call("lookup_invoice", params, _TWICE))
            ended = self._now() >= (opened.lapses_at or charge.lapses_at)
            answer = read_lookup(found, opened.external_id, ended=ended)
            if answer is None:  # search the wallet's list of received payments
                made = charge.created_at // 1000
                params = {"from": made - 600, "until": made + 600, "type": "incoming", "limit": 20}
                call = nostr_wallet.Call("list_transactions", params, _ONCE)
                answer = read_list(await self._call(charge, call), opened.external_id)
        except nostr_wallet.WalletError as error:
            return rail.Gone(str(error)) if error.code == "NOT_FOUND" else rail.Waiting(str(error))
        except errors.Throttled as error:
            return rail.Waiting(str(error), again_in=errors.requested_wait(error))
        except (errors.Unreachable, TimeoutError, errors.BadAnswer, rail.BadDetail) as error:
            return rail.Waiting(str(error))
        return answer

    def host(self, details: Mapping[str, Any]) -> str:
        """Return relay and key, so that a slow wallet doesn't delay others on the same relay."""
        try:
            connection, _ = self._read(details)
        except rail.BadDetail:
            return ""
        return f"{connection.relay_host}/{connection.key.public}"

    async def close(self) -> None:
        await self._relays.close()

    async def _call(self, charge: rail.Charge, call: nostr_wallet.Call) -> dict[str, Any]:
        connection, scheme = self._read(charge.details)
        async with asyncio.timeout(SECONDS):
            return await self._wallets.call(connection, scheme, call)

    def _read(
        self, details: Mapping[str, Any]
    ) -> tuple[nostr_wallet.WalletConnection, nostr_wallet.Scheme]:
        connection = nostr_wallet.parse_connection(str(details.get("connection")), self._allow)
        return connection, nostr_wallet.Scheme(details.get("encryption", nostr_wallet.Scheme.NIP04))
