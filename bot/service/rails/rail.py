"""A rail handles one kind of payout account: it opens checkouts and polls for money.

Amounts are minor units of the payer's currency (`SAT` is whole satoshi), times are UTC epoch ms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from bot.core import errors
from bot.core.text import sanitize
from bot.interface import vocabulary


class SandboxScenario(StrEnum):
    """How test money arrives, for the payer to choose; covers every case of real rails."""

    AT_ONCE = "atOnce"
    LATER = "later"
    TWICE = "twice"
    LATE = "late"
    NEVER = "never"
    UNDERPAID = "underpaid"
    CLAIMED = "claimed"

    @property
    def is_at_once(self) -> bool:
        """True if the money arrives when the form is posted."""
        return self in {SandboxScenario.AT_ONCE, SandboxScenario.TWICE}


@dataclass(frozen=True, slots=True)
class Connected:
    """A validated payout account; if it has a wallet, the wallet was probed."""

    kind: str
    details: dict[str, Any] = field(repr=False)
    """Normalized details that the rail needs later, stored encrypted."""

    label: str
    """The account's name without its secret, such as `DE89…3000`."""

    currencies: tuple[str, ...]
    """Currencies in which it receives money."""

    automatic: bool
    """True if the rail learns of payments itself."""

    scheme: str = ""
    """Format of the bank code, "" for other kinds."""


@dataclass(frozen=True, slots=True)
class Charge:
    """The money that a rail should collect for a checkout."""

    checkout_id: str
    amount: int
    currency: str
    memo: str
    """The product's name."""

    reference: str
    """What the payer writes on a bank transfer."""

    created_at: int
    lapses_at: int
    """Deadline for the money."""

    details: dict[str, Any] = field(default_factory=dict, repr=False)
    """The details of the account, as in `Connected`."""

    hint_url: str | None = None
    """Where a wallet may announce the payment."""

    scenario: SandboxScenario = SandboxScenario.AT_ONCE


@dataclass(frozen=True, slots=True)
class PayWith:
    """What the payer pays with: an invoice or a bank code."""

    lightning_invoice: str | None = None
    qr_text: str | None = None
    """Text of the bank code's QR picture."""

    fields: tuple[tuple[str, str], ...] = ()
    """Names and values that a payer may copy instead, such as `("iban", "DE89…")`."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """Money that arrived."""

    amount: int | None = None
    """None if the rail only knows the amount of the charge."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The invoice or code that a rail opened."""

    external_id: str
    """Unique over all rails."""

    pay_with: PayWith | None = None

    lapses_at: int | None = None
    """The invoice's own expiry, None if it has none."""

    poll_details: dict[str, Any] = field(default_factory=dict)
    """What the rail needs for its polls, such as the address that verifies the invoice."""

    poll_times: tuple[int, ...] | None = None
    """Times of the polls. None for the regular polls of wallets, () if the seller confirms."""

    arrived: Arrived | None = None
    """Money that arrived immediately."""

    claimed: bool = False
    """True if the payer has claimed that the money was sent."""

    host: str = ""
    """The host to poll, "" for the wallet's."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why a rail could not open a checkout."""

    reason: str
    """`slow`, `refused`, `lied`, `tooSmall` or `tooLarge`."""

    detail: str = ""
    """Detail for the log, without secrets."""

    again_in: float | None = None
    """Seconds after which the wallet may be asked; None if it was asked."""


class InvalidWalletAnswer(StrEnum):
    """Why a wallet's answer is not believed, as the operator reads it in the log."""

    OTHER_INVOICE = "otherInvoice"
    PREIMAGE = "preimage"
    AMOUNT = "amount"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing has arrived yet, or the wallet could not say."""

    detail: str = ""
    """For the log."""

    invalid_answer: InvalidWalletAnswer | None = None
    """Set if the wallet reports money but its answer fails a check."""

    again_in: float | None = None
    """Seconds after which the wallet may be asked; None if it was asked."""


@dataclass(frozen=True, slots=True)
class Gone:
    """The wallet doesn't know the invoice, or says that it ended; a later poll may differ."""

    detail: str = ""


PollAnswer: TypeAlias = Waiting | Arrived | Gone


class Rail(ABC):
    """What every rail does; the defaults are for real money without a wallet."""

    kind: str
    """The kind of its accounts; payments are stored with it."""

    test_money: bool = False
    """True if its money is not real; the page says so."""

    @abstractmethod
    async def connect(self, details: Mapping[str, Any]) -> Connected:
        """Validate what a seller typed, and probe the wallet.

        Raises InvalidBody with the problems of `details.<field>`.
        """

    def open_offline(self, charge: Charge) -> Opened | None:
        """Open a checkout without I/O, in the transaction that reserves its units.

        Return None if `open` has to ask a wallet.
        """
        del charge
        return None

    @abstractmethod
    async def open(self, charge: Charge) -> Opened | Unavailable:
        """Ask the wallet for an invoice, for at most ten seconds."""

    @abstractmethod
    async def poll(self, charge: Charge, opened: Opened) -> PollAnswer:
        """Ask the wallet whether the money arrived, for at most ten seconds.

        It never raises, whatever the wallet does.
        """

    def host(self, details: Mapping[str, Any]) -> str:
        """Return the wallet's host, "" if there is no wallet; a slow host delays no other."""
        del details
        return ""

    async def close(self) -> None:  # noqa: B027 - most rails have no connections
        """Close its connections."""


class Rails:
    """The rails of this installation: only test money, or kinds of real money."""

    def __init__(self, *rails: Rail) -> None:
        self._rails = {rail.kind: rail for rail in rails}

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(self._rails)

    @property
    def test_money(self) -> bool:
        """True if payers pay with test money."""
        return any(rail.test_money for rail in self._rails.values())

    @property
    def scenarios(self) -> tuple[SandboxScenario, ...]:
        """The payer's choices of how test money arrives; () for real money."""
        return tuple(SandboxScenario) if self.test_money else ()

    def of(self, kind: str) -> Rail:
        """Return the rail of a kind. Raises KeyError if it is not offered."""
        return self._rails[kind]

    async def close(self) -> None:
        for rail in self._rails.values():
            await rail.close()


# Test money, which arrives in the way that the payer chose.

SANDBOX_DELAY = 5_000
"""Milliseconds until test money arrives if it doesn't arrive at once."""


class SandboxRail(Rail):
    """The rail for test money. It does no I/O, and its polls always find the money."""

    kind = vocabulary.SANDBOX
    test_money = True

    async def connect(self, details: Mapping[str, Any]) -> Connected:
        """Raise InvalidBody, because test money has no payout account."""
        del details
        raise errors.InvalidBody("This server takes test money, which needs no payout account.")

    def open_offline(self, charge: Charge) -> Opened:
        """Return a checkout that is polled when its money arrives."""
        is_underpaid = charge.scenario is SandboxScenario.UNDERPAID
        after: int | None = None
        if charge.scenario is SandboxScenario.LATE:
            after = charge.lapses_at
        elif is_underpaid or charge.scenario in {SandboxScenario.LATER, SandboxScenario.TWICE}:
            after = charge.created_at
        return Opened(
            external_id=charge.reference or f"{self.kind}-{charge.checkout_id}",
            poll_details={"amount": max(1, charge.amount // 2)} if is_underpaid else {},
            poll_times=() if after is None else (after + SANDBOX_DELAY,),
            claimed=charge.scenario is SandboxScenario.CLAIMED,
            arrived=Arrived() if charge.scenario.is_at_once else None,
        )

    async def open(self, charge: Charge) -> Opened:
        return self.open_offline(charge)

    async def poll(self, charge: Charge, opened: Opened) -> PollAnswer:
        """Return the money, because polls are scheduled for its arrival."""
        del charge
        return Arrived(opened.poll_details.get("amount"))


# Refused details: each message has a code for machines.

LONGEST_NAME = 100
"""Characters of a field's name that an answer repeats."""

MOST_PROBLEMS = 20


class BadDetail(errors.BotError):
    """A detail that can't be used; the message says how to correct it."""

    def __init__(self, wrong: vocabulary.DetailError, message: str) -> None:
        super().__init__(message)
        self.wrong = wrong


def problem(name: str, wrong: vocabulary.DetailError, message: str) -> errors.FieldProblem:
    """Return the problem of a field of the details."""
    return errors.FieldProblem(f"details.{name}", message, wrong.value)


def refusal(name: str, wrong: vocabulary.DetailError, message: str) -> errors.InvalidBody:
    """Return the refusal of details for the problem of one field."""
    return errors.InvalidBody(info=[problem(name, wrong, message)])


def check_names(details: Mapping[str, Any], *known: str) -> None:
    """Raise InvalidBody for fields that are not `known`."""
    if problems := unknown_fields(details, known, "details"):
        raise errors.InvalidBody(info=problems)


def unknown_fields(
    details: Mapping[str, Any], known: Iterable[str], path: str
) -> list[errors.FieldProblem]:
    """Return a problem for each field that is not `known`."""
    unknown = sorted(set(details).difference(known))[:MOST_PROBLEMS]
    return [
        errors.FieldProblem(
            f"{path}.{sanitize.line(name, LONGEST_NAME)}",
            "is not a field of this kind of account",
            vocabulary.DetailError.UNKNOWN_FIELD.value,
        )
        for name in unknown
    ]
