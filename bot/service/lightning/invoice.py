"""Check an invoice of a wallet against what the wallet was asked for."""

from __future__ import annotations

import hashlib
import re

from bot.core.errors import InvoiceError
from bot.service.lightning import bolt11

MSAT = 1_000
"""Millisatoshi in a satoshi."""

MOST = 21_000_000 * 100_000_000 * MSAT
"""Millisatoshi that will ever exist: a wallet that names more breaks the database."""

MAINNET = "bc"
CLOCK_SKEW = 600_000
"""Milliseconds by which a wallet's clock may differ; an invoice of longer ago is an old one."""

LEAST_LIFE = 30_000
"""Milliseconds that a payer needs at least to pay."""

LIFE_TO_ASK = 2 * LEAST_LIFE
"""Milliseconds that an invoice shall last at least: a wallet may answer slowly, and round down."""

_HEX_32_BYTES = re.compile(r"[0-9a-fA-F]{64}")


def expiry(lapses_at: int, now: int) -> int:
    """Return the seconds to ask a wallet for, until a reservation lapses at `lapses_at`."""
    return -(-max(lapses_at - now, LIFE_TO_ASK) // 1000)


def check(text: str, satoshi: int, now: int) -> bolt11.Invoice:
    """Return a wallet's invoice, if it asks for exactly this amount and can be paid from now on.

    Raises InvoiceError, whose message is for the log and holds nothing of the wallet's own words.
    """
    invoice = bolt11.decode(text)
    if invoice.network != MAINNET:
        raise InvoiceError(f"the invoice is of the network {invoice.network}, not of Bitcoin's")
    if invoice.amount != satoshi * MSAT:
        asked = f"{satoshi * MSAT} millisatoshi were asked for"
        raise InvoiceError(f"the invoice asks for {invoice.amount} millisatoshi, {asked}")
    if abs(invoice.created_at - now) > CLOCK_SKEW:
        raise InvoiceError("the invoice was not made just now")
    if invoice.lapses_at - now < LEAST_LIFE:
        raise InvoiceError("the invoice has lapsed or is about to")
    return invoice


def fits(preimage: str, payment_hash: str) -> bool:
    """Return whether a preimage in hex is the one that the payment hash was made of."""
    if not _HEX_32_BYTES.fullmatch(preimage):
        return False
    return hashlib.sha256(bytes.fromhex(preimage)).hexdigest() == payment_hash
