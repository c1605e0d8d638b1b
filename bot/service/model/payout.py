"""A payout account: where the money of a seller's payments goes."""

from __future__ import annotations

from dataclasses import dataclass

BANK = "bank"
LIGHTNING = "lightning"
LNBITS = "lnbits"
NWC = "nwc"
SANDBOX = "sandbox"
KINDS = (BANK, LIGHTNING, LNBITS, NWC)
"""The kinds of real money, in the order that they are offered in."""

DESTINATION = "account:"
"""What a receiver's destination starts with that names an owner's accounts; the owner follows."""


@dataclass(frozen=True, slots=True)
class PayoutAccount:
    """An owner's account; `sealed` are its details, encrypted, `label` names it to people.

    An owner has one account a way. A replaced or removed one is retired: money that was asked for
    before may still arrive. `since` is the time of the first account of this way, in epoch ms, by
    which the ways are ordered.
    """

    id: str
    app_id: str
    owner: str
    kind: str
    scheme: str
    automatic: bool
    currencies: tuple[str, ...]
    label: str
    sealed: str
    since: int
    created_at: int
    retired_at: int | None = None

    @property
    def way(self) -> str:
        """Return the name of its way to pay: its kind, for banks with the scheme."""
        return f"{self.kind}:{self.scheme}" if self.scheme else self.kind

    def takes(self, currency: str) -> bool:
        """Return whether a price in this currency can be paid to it: bank codes never convert."""
        return self.kind != BANK or currency in self.currencies
