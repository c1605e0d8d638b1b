"""Payout accounts, which receive a seller's money if real money is used."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from bot.chat.model import lenient
from bot.core import errors
from bot.interface import answers, vocabulary

BANK, LIGHTNING = vocabulary.BANK, vocabulary.LIGHTNING
LNBITS, NWC = vocabulary.LNBITS, vocabulary.NWC
SCHEMES = ("sepa", "pix", "upi", "swiss")
"""The bank code formats, in the order in which they are offered."""

WAYS = {
    "bank-sepa": ("iban", "name"),
    "bank-pix": ("key", "name", "city"),
    "bank-upi": ("id", "name"),
    "bank-swiss": (*("iban", "name", "street", "houseNumber", "postalCode", "town", "country"),),
    LIGHTNING: ("address",),
    LNBITS: ("url", "key"),
    NWC: ("connection",),
}
"""The fields that a seller is asked for, by payout method: a kind, or for banks a scheme."""

OPTIONAL = frozenset(["street", "houseNumber"])
"""Optional fields of an account."""

SECRETS = frozenset([(LNBITS, "key"), (NWC, "connection")])
"""The secret fields by payout method; they are encrypted when stored, and never shown."""

ADDRESS = frozenset(["street", "houseNumber", "postalCode", "town", "country"])
"""The fields that are sent to the service as one `address`."""

BIC = "bic"
"""The field that is also asked for if a SEPA account is outside the European Economic Area."""

PAYOUT_STEPS = {
    f"pay{field.lower()}": field
    for field in dict.fromkeys([*(f for each in WAYS.values() for f in each), BIC])
}
"""The field that each form step asks for."""

LONGEST_LABEL = 120
"""Maximum characters of an account's label; a longer label is cut."""

_NO_PART_OF_ACCOUNT = re.compile("[^a-z0-9:]")

CHECKING, FOUND, SAVING = "paycheck", "payfound", "paysave"
"""The steps of connecting an account: the service checks it, the seller sees the result, and the
service saves it."""


def owner_ref(seller_id: int) -> str:
    """Return a seller's reference at the service: at most 64 letters, digits, _ and -."""
    return f"seller-{seller_id}"


def account_destination(seller_id: int) -> str:
    """Return the destination that stands for a seller's payout accounts."""
    return f"{vocabulary.DESTINATION}{owner_ref(seller_id)}"


def names_accounts(destination: str) -> bool:
    """True if a destination names payout accounts, in any spelling; sellers may not type it.

    Telegram ids are public, so anyone could name the accounts of another seller.
    """
    folded = unicodedata.normalize("NFKC", destination).casefold()
    return _NO_PART_OF_ACCOUNT.sub("", folded).startswith(vocabulary.DESTINATION)


@dataclass(frozen=True, slots=True)
class PayoutAccount:
    """A payout account as the service shows it."""

    id: str
    """Empty if the account is checked but not saved yet."""
    kind: str
    scheme: str
    """One of SCHEMES for a bank account, otherwise empty."""
    automatic: bool
    """True if the wallet reports payments; otherwise the seller confirms each payment."""
    currencies: tuple[str, ...]
    """Currencies that the account can receive."""
    label: str
    """Name of the account, without secrets."""

    @property
    def way(self) -> str:
        """Return the account's payout method, one of WAYS: `bank-sepa`, `lightning`."""
        return f"{self.kind}-{self.scheme}" if self.scheme else self.kind

    def takes(self, currency: str) -> bool:
        """True if the account can receive a price in this currency; banks never convert."""
        return self.kind != BANK or currency in self.currencies


@dataclass(frozen=True, slots=True)
class PayoutAnswer:
    """A seller's answer for an account field; secrets are encrypted before they are stored."""

    field: str
    text: str
    is_sealed: bool = False


def fields_of(way: str, answers: Iterable[PayoutAnswer]) -> tuple[str, ...]:
    """Return the fields that a seller is asked for, after these answers."""
    iban = next((answer.text for answer in answers if answer.field == "iban"), "")
    if way == "bank-sepa" and vocabulary.needs_bic(iban):
        return (*WAYS[way], BIC)
    return WAYS[way]


def kind_of(way: str) -> str:
    """Return the account kind of a payout method."""
    return way.partition("-")[0]


def details_of(way: str, values: dict[str, str]) -> dict[str, object]:
    """Return the `details` of an account in the service's form, from its fields."""
    scheme = way.partition("-")[2]
    plain: dict[str, object] = {"scheme": scheme} if scheme else {}
    plain |= {name: text for name, text in values.items() if name not in ADDRESS or not scheme}
    if scheme != "swiss":
        return plain
    return {**plain, "address": {name: values[name] for name in values if name in ADDRESS}}


def read_account(data: object) -> PayoutAccount:
    """Parse an account as the service sends it. Raises BadAnswer."""
    return account_of(lenient.read(answers.PayoutAnswer, data, "payout account"))


def account_of(sent: answers.PayoutAnswer) -> PayoutAccount:
    """Return an account for the chat. Raises BadAnswer if its kind is unknown."""
    account = PayoutAccount(
        id=sent.id or "",
        kind=sent.kind,
        scheme=sent.scheme or "",
        automatic=sent.automatic,
        currencies=tuple(sent.currencies),
        label=sent.label[:LONGEST_LABEL],
    )
    if account.way not in WAYS:
        raise errors.BadAnswer("the answer is a payout account of an unknown kind")
    return account
