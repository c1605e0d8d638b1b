"""Checkouts, ways and requests as values, to show pages of without a service."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from bot.interface.vocabulary import CheckoutState, Kind
from bot.service.checkouts.checkout import Checkout
from bot.service.checkouts.paying import Way
from bot.service.payouts.payout_account import PayoutAccount
from bot.service.rails.rail import PayWith
from bot.service.requests.request import (
    ExchangeRate,
    Payment,
    PaymentRequest,
    PaymentState,
    Product,
    Quote,
    Receiver,
    SellerProfile,
    Terms,
    Units,
)

NOW = 1_800_000_000_000
REQUEST, CHECKOUT = "a" * 24, "c" * 24
SELLER = SellerProfile(name="Mia's Ceramics", contact="@mia_clay")
RATE = ExchangeRate(Decimal("1097.946"), "median of a.example and b.example", NOW - 60_000)
SATS = Quote(20_312, "SAT", (20_312,), RATE)
EUROS = Quote(1_850, "EUR", (1_850,))
INVOICE = "lnbc203120n1pnxyz"
BY_INVOICE = PayWith(lightning_invoice=INVOICE)
BY_BANK = PayWith(
    qr_text="BCD\n002",
    fields=(
        ("holder", "Mia Ferreira"),
        ("iban", "PT50000201231234567890154"),
        ("amount", "18.50"),
        ("reference", "K7M2Q9XD"),
    ),
)
DROP = Units(20, 12, 3)


def request(
    units: Units | None = DROP, seller: SellerProfile | None = SELLER, amount: int = 1_850
) -> PaymentRequest:
    """Return a request in euros, of a drop or without a limit."""
    terms = Terms(
        kind=Kind.LIMIT if units else Kind.NEVER,
        product=Product("Espresso cup"),
        receivers=(Receiver("account:mia", amount),),
        instrument="EUR",
        seller=seller,
    )
    return PaymentRequest(REQUEST, "app", NOW, terms, units)


def lightning(state: CheckoutState = CheckoutState.OPEN, **fields: Any) -> Checkout:
    """Return a checkout whose invoice the rail knows of."""
    made = Checkout(
        id=CHECKOUT,
        request_id=REQUEST,
        token="t" * 32,
        user_data={},
        quote=SATS,
        created_at=NOW,
        lapses_at=NOW + 900_000,
        stored_state=state,
        kind="lightning",
        way="lightning",
        pay_with=BY_INVOICE,
    )
    return replace(made, **fields)


def tap(state: CheckoutState = CheckoutState.OPEN, **fields: Any) -> Checkout:
    """Return a checkout of a Lightning address that reports no payment."""
    return lightning(state, **{"automatic": False, "reference": "K7M2Q9XD"} | fields)


def bank(state: CheckoutState = CheckoutState.OPEN, **fields: Any) -> Checkout:
    """Return a checkout of a bank code."""
    by_bank = {
        "kind": "bank",
        "way": "bank:sepa",
        "quote": EUROS,
        "automatic": False,
        "reference": "K7M2Q9XD",
        "pay_with": BY_BANK,
    }
    return lightning(state, **by_bank | fields)


def payment(state: PaymentState, amount: int) -> Payment:
    """Return a payment of a Lightning checkout, of so many satoshi."""
    paid = replace(SATS, amount=amount)
    return Payment("p" * 24, REQUEST, 1_850, "EUR", (), {}, NOW, paid, state, "lightning")


def way(name: str, **fields: Any) -> Way:
    """Return a way to pay; Lightning kinds are automatic and converted."""
    kind, _, scheme = name.partition(":")
    is_bank = kind == "bank"
    account = PayoutAccount(
        f"account-{name}", "app", "mia", kind, scheme, not is_bank, (), "…", "", NOW, NOW
    )
    made = Way(name, kind, scheme, not is_bank, account, EUROS if is_bank else SATS)
    return replace(made, **fields)
