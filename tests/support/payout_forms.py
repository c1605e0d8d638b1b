"""Sellers with payout accounts in tests, and what they type to connect one."""

from __future__ import annotations

from dataclasses import replace

from bot.chat.forms.seller_forms import payout_form
from bot.chat.model.drafts import PayoutService, Seller
from bot.chat.model.payout import PayoutAccount, account_destination
from tests.support.form_harness import FORM, KNOWN, Talk

RAILS = ("bank", "lightning", "lnbits", "nwc")
IBAN, OTHER_IBAN = "DE89370400440532013000", "DE02120300000000202051"
SWISS_IBAN = "CH9300762011623852957"
KEY = "5d0605a2fa0d4d6c8fe13fdec25720ca"
CONNECTION = f"nostr+walletconnect://{'ab' * 32}?relay=wss%3A%2F%2Fr.example&secret={'cd' * 32}"
SEPA = PayoutAccount("1" * 24, "bank", "sepa", automatic=False, currencies=("EUR",), label="DE89…")
LIGHTNING = PayoutAccount(
    "2" * 24, "lightning", "", automatic=True, currencies=("SAT",), label="anna@example.org"
)
UNPAID = replace(KNOWN, destination=account_destination(7), paid_at=PayoutService(rails=RAILS))
"""A seller with real money and without an account."""

TYPED = {
    "bank-sepa": (IBAN, "Anna Ott"),
    "bank-pix": ("anna@example.org", "Anna Ott", "São Paulo"),
    "bank-upi": ("anna@okbank", "Anna Ott"),
    "bank-swiss": (SWISS_IBAN, "Anna Ott", "Seestrasse", "1a", "8001", "Zürich", "CH"),
    "lightning": ("anna@example.org",),
    "lnbits": ("https://lnbits.example.org", KEY),
    "nwc": (CONNECTION,),
}
"""What is typed for each way, field by field."""


def paid_to(*accounts: PayoutAccount) -> Seller:
    """Return a seller with these accounts."""
    return replace(UNPAID, accounts=accounts)


def connecting(way: str, seller: Seller = UNPAID) -> Talk:
    """Begin the form of a way."""
    talk = Talk(seller)
    talk.take(payout_form(way, FORM, seller))
    return talk
