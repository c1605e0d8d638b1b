"""Payout accounts: where the money of a seller's payments goes, with real money."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from bot.core import errors

BANK, LIGHTNING, LNBITS, NWC = "bank", "lightning", "lnbits", "nwc"
SCHEMES = ("sepa", "pix", "upi", "swiss")
"""The formats of bank codes, in the order that they are offered in."""

WAYS = {
    "bank-sepa": ("iban", "name"),
    "bank-pix": ("key", "name", "city"),
    "bank-upi": ("id", "name"),
    "bank-swiss": (*("iban", "name", "street", "houseNumber", "postalCode", "town", "country"),),
    LIGHTNING: ("address",),
    LNBITS: ("url", "key"),
    NWC: ("connection",),
}
"""What a seller is asked for, by the name of the way in the chat: a kind, for banks its scheme."""

OPTIONAL = frozenset(["street", "houseNumber"])
"""Fields that an account need not have."""

SECRETS = frozenset([(LNBITS, "key"), (NWC, "connection")])
"""The ways and fields that are secrets: sealed wherever they are stored, and never shown."""

ADDRESS = frozenset(["street", "houseNumber", "postalCode", "town", "country"])
"""The fields that the service takes as one `address`."""

PAYOUT_STEPS = {
    f"pay{field.lower()}": field
    for field in dict.fromkeys(f for each in WAYS.values() for f in each)
}
"""The field that each step of the form asks for."""

LONGEST_LABEL = 120
"""Characters of an account's label; a longer one is cut."""

_NO_PART_OF_ACCOUNT = re.compile("[^a-z0-9:]")

CHECKING, FOUND, SAVING = "paycheck", "payfound", "paysave"
"""The steps at which the service checks an account, its seller is shown what it found, and the
service saves it."""


def owner_ref(seller_id: int) -> str:
    """Return the name by which the service knows a seller: 64 letters, digits, _ and - at most."""
    return f"seller-{seller_id}"


def account_destination(seller_id: int) -> str:
    """Return the destination of a receiver that is paid to a seller's accounts."""
    return f"account:{owner_ref(seller_id)}"


def names_accounts(destination: str) -> bool:
    """True if a destination names payout accounts, in any spelling: no seller may type one.

    Telegram ids are public, so anyone could name the accounts of another seller.
    """
    folded = unicodedata.normalize("NFKC", destination).casefold()
    return _NO_PART_OF_ACCOUNT.sub("", folded).startswith("account:")


@dataclass(frozen=True, slots=True)
class PayoutAccount:
    """An account as the service shows it."""

    id: str
    """Empty if the account is checked and not saved yet."""
    kind: str
    scheme: str
    """One of SCHEMES, empty for other kinds."""
    automatic: bool
    """True if the wallet reports payments; otherwise the seller confirms each."""
    currencies: tuple[str, ...]
    """The currencies that its money moves in."""
    label: str
    """Names it without a secret."""

    @property
    def way(self) -> str:
        """Return the name of its way in the chat, one of WAYS."""
        return way_of(self.kind, self.scheme)

    def takes(self, currency: str) -> bool:
        """True if prices in a currency can be paid to it: banks never convert."""
        return self.kind != BANK or currency in self.currencies


@dataclass(frozen=True, slots=True)
class PayoutAnswer:
    """What a seller typed for a field of an account; a secret is sealed before it is stored."""

    field: str
    text: str
    is_sealed: bool = False


def way_of(kind: str, scheme: str) -> str:
    """Return the name in the chat of a way: `bank-sepa`, `lightning`."""
    return f"{kind}-{scheme}" if scheme else kind


def kind_of(way: str) -> str:
    """Return the kind of a way."""
    return way.partition("-")[0]


def details_of(way: str, values: dict[str, str]) -> dict[str, object]:
    """Return the `details` of an account as the service takes them, from its fields."""
    scheme = way.partition("-")[2]
    plain: dict[str, object] = {"scheme": scheme} if scheme else {}
    plain |= {name: text for name, text in values.items() if name not in ADDRESS or not scheme}
    if scheme != "swiss":
        return plain
    return {**plain, "address": {name: values[name] for name in values if name in ADDRESS}}


def read_account(data: Any) -> PayoutAccount:
    """Parse an account as the service sends it. Raises BadAnswer."""
    try:
        account = PayoutAccount(
            id=str(data.get("id") or ""),
            kind=str(data["kind"]),
            scheme=str(data.get("scheme") or ""),
            automatic=data["automatic"] is True,
            currencies=tuple(map(str, data.get("currencies") or [data["currency"]])),
            label=str(data["label"])[:LONGEST_LABEL],
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise errors.BadAnswer("the answer is no payout account") from error
    if account.way not in WAYS:
        raise errors.BadAnswer("the answer is a payout account of an unknown kind")
    return account
