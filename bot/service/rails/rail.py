"""Rails: a rail moves the money of one kind of payout account.

It opens checkouts and polls for their money has arrived (see rails/rail.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

# What a rail is asked and what it answers: values without any I/O.
#
# A rail moves the money of one kind of payout account. Amounts are minor units of the payer's
# currency (`SAT` has none), times are UTC epoch ms.


class SandboxScenario(StrEnum):
    """How test money arrives, for the payer to choose; every case that a real rail has."""

    AT_ONCE = "atOnce"
    LATER = "later"
    TWICE = "twice"
    LATE = "late"
    NEVER = "never"
    UNDERPAID = "underpaid"
    CLAIMED = "claimed"

    @property
    def is_at_once(self) -> bool:
        """Return whether the money is here when the form is posted."""
        return self in {SandboxScenario.AT_ONCE, SandboxScenario.TWICE}


@dataclass(frozen=True, slots=True)
class Connected:
    """A payout account that was validated and, where there is a wallet, probed.

    `details` is what the rail needs later, normalized; it is sealed. `currencies` are those that
    its money moves in. `label` names it without its secret (`DE89…3000`), `scheme` the format of
    the bank code ('' for other kinds); `automatic` says whether the rail learns of payments itself.
    """

    kind: str
    details: dict[str, Any] = field(repr=False)
    label: str
    currencies: tuple[str, ...]
    automatic: bool
    scheme: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a rail is asked to open: `amount` of `currency`, to arrive before `lapses_at`.

    `details` are those of `Connected`. `reference` is what a payer writes on a bank transfer,
    `memo` the product's name, `hint_url` where a wallet may announce the payment.
    """

    checkout_id: str
    amount: int
    currency: str
    memo: str
    reference: str
    created_at: int
    lapses_at: int
    details: dict[str, Any] = field(default_factory=dict, repr=False)
    hint_url: str | None = None
    scenario: SandboxScenario = SandboxScenario.AT_ONCE


@dataclass(frozen=True, slots=True)
class PayWith:
    """What the payer pays with: a Lightning invoice, or the text of a bank code's QR picture.

    `fields` are the names and values that a payer may copy instead, such as `("iban", "DE89…")`.
    """

    lightning_invoice: str | None = None
    qr_text: str | None = None
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Arrived:
    """Money that arrived; `amount` is None where the rail can't tell another than was asked."""

    amount: int | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """What a rail has opened."""

    external_id: str
    """Unique over all rails."""

    pay_with: PayWith | None = None

    lapses_at: int | None = None
    """The invoice's own end, None without one."""

    poll_details: dict[str, Any] = field(default_factory=dict)
    """What the rail needs for its polls, such as the address that verifies the invoice."""

    poll_times: tuple[int, ...] | None = None
    """Times of the polls; None: as often as wallets are polled; (): never, the seller confirms."""

    arrived: Arrived | None = None
    """Money that is here at once."""

    claimed: bool = False
    """True if the payer says that the money was sent."""

    host: str = ""
    """The host to poll, "" for the wallet's."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why a rail could not open a checkout; `detail` is for the log, without a secret.

    `reason` is one of `slow`, `refused`, `lied`, `tooSmall` and `tooLarge`. `again_in`: seconds
    after which the wallet may be asked again, as it was not asked at all; None if it was.
    """

    reason: str
    detail: str = ""
    again_in: float | None = None


class InvalidWalletAnswer(StrEnum):
    """What can't be true of a wallet's answer, as the operator reads it in the log."""

    OTHER_INVOICE = "otherInvoice"
    PREIMAGE = "preimage"
    AMOUNT = "amount"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing has arrived yet, or the wallet could not say; `detail` is for the log.

    `lie`: the wallet says that money arrived, and its answer is not believed. `again_in`: seconds
    after which the wallet may be asked again, as it was not asked at all; None if it was.
    """

    detail: str = ""
    invalid_answer: InvalidWalletAnswer | None = None
    again_in: float | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """The wallet doesn't know the invoice, or says that it ended; a later poll may differ."""

    detail: str = ""


PollAnswer: TypeAlias = Waiting | Arrived | Gone


class Rail(Protocol):
    """A kind of money, and how it is asked for and found."""

    @property
    def kind(self) -> str:
        """Return the kind of its accounts, under which its payments are stored."""

    @property
    def test_money(self) -> bool:
        """Return whether its money is not real, which the page then writes."""

    async def connect(self, details: Mapping[str, Any]) -> Connected:
        """Validate what a seller typed, and probe the wallet.

        Raises InvalidBody with the problems of `details.<field>`.
        """

    def open_offline(self, asked: Asked) -> Opened | None:
        """Open a checkout without I/O, in the transaction that reserves its unit.

        None where a wallet has to be asked: `open` does.
        """

    async def open(self, asked: Asked) -> Opened | Unavailable:
        """Ask the wallet for an invoice, for at most ten seconds."""

    async def poll(self, asked: Asked, opened: Opened) -> PollAnswer:
        """Ask the wallet for the money, for at most ten seconds.

        Raises nothing for what a peer does.
        """

    def host(self, details: Mapping[str, Any]) -> str:
        """Return the wallet's host, '' without one: a slow wallet delays no other."""

    async def close(self) -> None:
        """Close its connections."""


class Rails:
    """The rails of this installation: test money alone, or kinds of real money."""

    def __init__(self, *rails: Rail) -> None:
        self._rails = {rail.kind: rail for rail in rails}

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds that are offered."""
        return tuple(self._rails)

    @property
    def test_money(self) -> bool:
        """Return whether payers pay with test money."""
        return any(rail.test_money for rail in self._rails.values())

    @property
    def scenarios(self) -> tuple[SandboxScenario, ...]:
        """Return how a payer may have the money arrive; nothing where it is real."""
        return tuple(SandboxScenario) if self.test_money else ()

    def of(self, kind: str) -> Rail:
        """Return the rail of a kind. Raises KeyError for one that is not offered."""
        return self._rails[kind]

    async def close(self) -> None:
        """Close the connections of all rails."""
        for rail in self._rails.values():
            await rail.close()
