"""What answers of a wallet by Nostr Wallet Connect mean (NIP-47); nothing of them is trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.core.errors import BadAnswer, FieldProblem
from bot.service.lightning import invoice
from bot.service.model.payout_problems import Wrong
from bot.service.model.rail_answers import Arrived, Gone, Lie, Waiting
from bot.service.nostr.wallet import WalletError

if TYPE_CHECKING:
    from bot.core.errors import BotError
    from bot.service.model.rail_answers import Look


class WalletLie(BadAnswer):
    """An answer about a payment that can't be true."""

    def __init__(self, lie: Lie, message: str) -> None:
        super().__init__(message)
        self.lie = lie


NEEDED = ("make_invoice", "lookup_invoice")

_HARMLESS = frozenset(
    [
        *("make_hold_invoice", "settle_hold_invoice", "cancel_hold_invoice"),
        *("receive", "sign_message", "notifications", *NEEDED),
    ]
)
_HARMLESS_PREFIXES = ("get_", "list_", "lookup_")
"""Methods that move no money out. A list of the harmful ones would miss tomorrow's."""

_NO_MONEY = ("testnet", "testnet4", "signet", "regtest", "mutinynet")
"""Networks whose coins are worth nothing."""

_ENDED = frozenset(["expired", "failed"])
_OPEN = frozenset(["pending", "accepted"])
_ZEROS = "0" * 64
"""What LNbits gives for a preimage that it does not know."""

_RECEIVE_ONLY = (
    "Make a new connection in your wallet that may only create and look up invoices, "
    "and connect that one. If your wallet can't make one, use its Lightning address instead."
)


def problem(wrong: Wrong, message: str) -> FieldProblem:
    """Return the problem of a connection."""
    return FieldProblem("details.connection", message, wrong.value)


MISSING = problem(Wrong.MISSING, "is required: the text that your wallet shows for a connection")
SILENT = problem(
    Wrong.WALLET_SILENT,
    "Your wallet didn't answer. Check that it's online and that it still lists this connection, "
    "then try again.",
)
NONSENSE = problem(
    Wrong.WALLET_UNREADABLE,
    "Your wallet's answer can't be read. Update the wallet, or use another one.",
)
_BUSY = problem(Wrong.WALLET_BUSY, "Your wallet is busy. Wait a minute, then try again.")
_NOT_VALID = problem(
    Wrong.CONNECTION_ENDED,
    "Your wallet says that this connection isn't valid. Make a new one and connect that.",
)
_TELLS_NOTHING = problem(
    Wrong.RIGHTS_UNKNOWN,
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


def refusal_of(code: str) -> FieldProblem:
    """Return what to do about an error that the wallet answered to `get_info`."""
    failed = f"Your wallet answered with an error ({code}). Try again later."
    return _REFUSALS.get(code, problem(Wrong.WALLET_FAILED, failed))


def reason_of(error: BotError) -> str:
    """Return why no invoice was made: `slow` where asking again may help, else `refused`."""
    is_busy = isinstance(error, WalletError) and error.code == "RATE_LIMITED"
    return "slow" if is_busy else "refused"


def problem_of(info: dict[str, Any]) -> FieldProblem | None:
    """Return why a connection can't be used, from the wallet's `get_info`; None if it can."""
    methods = info.get("methods")
    if not isinstance(methods, list) or not all(isinstance(name, str) for name in methods):
        return _TELLS_NOTHING
    if spending := [name for name in methods if not _is_harmless(name)]:
        named = spending[0] if spending[0].replace("_", "").isalnum() else "an unknown method"
        return problem(
            Wrong.SPENDING_CONNECTION,
            f"This connection can also spend ({named[:30]}), so it isn't safe to share. "
            f"Remove it in your wallet. {_RECEIVE_ONLY}",
        )
    if missing := [name for name in NEEDED if name not in methods]:
        told = f"This connection can't be paid to: it lacks {' and '.join(missing)}."
        return problem(Wrong.RECEIVES_NOTHING, f"{told} {_RECEIVE_ONLY}")
    if info.get("network") in _NO_MONEY:
        told = "This wallet is on a test network. Connect one that receives real bitcoin."
        return problem(Wrong.TEST_NETWORK, told)
    return None


def _is_harmless(method: str) -> bool:
    return method in _HARMLESS or method.startswith(_HARMLESS_PREFIXES)


def read_lookup(found: dict[str, Any], payment_hash: str, *, ended: bool) -> Look | None:
    """Return what `lookup_invoice` says; None where it can mean a payment or the invoice's end.

    Raises WalletLie. `state` is optional. Without it, `settled_at` is also set for an invoice that
    has `ended` unpaid.
    """
    if found.get("payment_hash") != payment_hash or found.get("type") not in (None, "incoming"):
        raise WalletLie(Lie.OTHER_INVOICE, "the wallet answered about another invoice")
    state = found.get("state")
    if isinstance(state, str):
        return _of_state(state.lower(), found, payment_hash)
    if not found.get("settled_at"):
        return Waiting()
    return None if ended else _arrived(found, payment_hash)


def read_list(found: dict[str, Any], payment_hash: str) -> Look:
    """Return what `list_transactions` says, which lists only what has arrived.

    Raises WalletLie.
    """
    listed = found.get("transactions")
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and entry.get("payment_hash") == payment_hash:
            return _arrived(entry, payment_hash) if entry.get("settled_at") else Waiting()
    return Gone("the invoice ended without a payment")


def _of_state(state: str, found: dict[str, Any], payment_hash: str) -> Look:
    if state == "settled":
        return _arrived(found, payment_hash)
    if state in _ENDED:
        return Gone(f"the wallet says {state}")
    return Waiting("" if state in _OPEN else "the wallet says an unknown state")


def _arrived(found: dict[str, Any], payment_hash: str) -> Arrived:
    """Return the money. Raises WalletLie for an impossible one.

    A preimage that is not the invoice's is a lie, none is not: some wallets can't tell it.
    """
    amount, preimage = found.get("amount"), found.get("preimage")
    if amount is not None and (
        type(amount) is not int or not invoice.MSAT <= amount <= invoice.MOST
    ):
        raise WalletLie(Lie.AMOUNT, "the wallet names an impossible amount")
    is_known = isinstance(preimage, str) and preimage not in {"", _ZEROS}
    if is_known and not invoice.fits(str(preimage), payment_hash):
        raise WalletLie(Lie.PREIMAGE, "the wallet names a preimage that is not the invoice's")
    return Arrived(None if amount is None else amount // invoice.MSAT)
