"""Reads Lightning invoices, and checks a wallet's invoice against the requested terms.

The format is BOLT 11 of the Lightning specifications: a human-readable part with network and
amount, then words of five bits with time, tagged fields, signature and a checksum, as in BIP 173.
The signature is not checked, because it proves nothing if no particular key is expected.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from bot.core import errors
from bot.service.rails import rail

LONGEST = 3_381
"""Maximum characters of an invoice. Wallets write 200 to 1,500. QR codes fit 3,391 with the scheme.
"""

_ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_VALUES = {char: value for value, char in enumerate(_ALPHABET)}
_HEAD = re.compile(r"ln(bcrt|bc|tbs|tb)(?:([1-9][0-9]{0,19})([munp]?))?", re.ASCII)
_TENTHS = {"": 10**12, "m": 10**9, "u": 10**6, "n": 10**3, "p": 1}
"""Tenths of a millisatoshi in one unit of the amount."""

_BITS = 5
_TIME, _TAG_HEAD, _SIGNATURE, _CHECKSUM = 7, 3, 104, 6  # words
_HASH = 52
"""Number of words in 32 bytes; a hash of another length is skipped."""

_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_DEFAULT_EXPIRY = 3_600  # seconds
_LONGEST_EXPIRY = 10 * 365 * 86_400


@dataclass(frozen=True, slots=True)
class Invoice:
    """An invoice; times in epoch ms."""

    text: str
    network: str
    """`bc` is Bitcoin itself."""

    amount: int | None
    """Millisatoshi, None if the payer chooses."""

    created_at: int
    lapses_at: int
    payment_hash: str
    """Lower-case hex."""


def decode(text: str) -> Invoice:
    """Return the fields of an invoice in upper or lower case. Raises InvoiceError."""
    if len(text) > LONGEST or not text.isascii() or text not in (text.lower(), text.upper()):
        raise errors.InvoiceError("this is no Lightning invoice")
    text = text.lower()
    head, _, tail = text.rpartition("1")
    parts = _HEAD.fullmatch(head)
    words = [_VALUES.get(char, -1) for char in tail]
    if parts is None or -1 in words or len(words) < _TIME + _SIGNATURE + _CHECKSUM:
        raise errors.InvoiceError("this is no Lightning invoice")
    if _checksum(head, words) != 1:
        raise errors.InvoiceError("the invoice has a wrong checksum")
    fields = _tagged_fields(words[_TIME : -_SIGNATURE - _CHECKSUM])
    if "p" not in fields or "s" not in fields:
        raise errors.InvoiceError("the invoice has no payment hash or no payment secret")
    amount = None
    if parts[2] is not None:
        amount, rest = divmod(int(parts[2]) * _TENTHS[parts[3]], 10)
        if rest:
            raise errors.InvoiceError("the invoice asks for a part of a millisatoshi")
    created_at = _number(words[:_TIME])
    expiry = _number(fields["x"]) if "x" in fields else _DEFAULT_EXPIRY
    return Invoice(
        text=text,
        network=parts[1],
        amount=amount,
        created_at=created_at * 1000,
        lapses_at=(created_at + min(expiry, _LONGEST_EXPIRY)) * 1000,
        payment_hash=(_number(fields["p"]) >> 4).to_bytes(32, "big").hex(),
    )


def _checksum(head: str, words: list[int]) -> int:
    """Return the checksum over both parts; it is 1 if the invoice is intact."""
    spread = [ord(char) >> _BITS for char in head] + [0] + [ord(char) & 31 for char in head]
    check = 1
    for value in spread + words:
        top = check >> 25
        check = (check & 0x1FFFFFF) << _BITS ^ value
        for bit, generator in enumerate(_GENERATOR):
            check ^= generator if top >> bit & 1 else 0
    return check


def _tagged_fields(words: list[int]) -> dict[str, list[int]]:
    """Return the words of each field by tag; only the first field of a tag counts."""
    fields: dict[str, list[int]] = {}
    at = 0
    while at < len(words):
        start = at + _TAG_HEAD
        end = start + _number(words[at + 1 : start])
        if start > len(words) or end > len(words):
            raise errors.InvoiceError("a field of the invoice runs past its end")
        tag = _ALPHABET[words[at]]
        if tag not in "ps" or end - start == _HASH:
            fields.setdefault(tag, words[start:end])
        at = end
    return fields


def _number(words: list[int]) -> int:
    value = 0
    for word in words:
        value = value << _BITS | word
    return value


# Invoices of wallets.

MSAT = 1_000
"""Millisatoshi in a satoshi."""

MOST = 21_000_000 * 100_000_000 * MSAT
"""Millisatoshi that can ever exist; a larger number might not fit into the database."""

MAINNET = "bc"
CLOCK_SKEW = 600_000
"""Milliseconds by which a wallet's clock may differ. An invoice that is older was used before."""

LEAST_LIFE = 30_000
"""Minimum milliseconds that a payer needs to pay."""

LIFE_TO_ASK = 2 * LEAST_LIFE
"""Minimum lifetime to ask for, in milliseconds: a wallet may answer slowly and round down."""

_HEX_32_BYTES = re.compile(r"[0-9a-fA-F]{64}")


def expiry(lapses_at: int, now: int) -> int:
    """Return the lifetime to ask a wallet for, in seconds, until `lapses_at`."""
    return -(-max(lapses_at - now, LIFE_TO_ASK) // 1000)


def check_invoice(text: str, satoshi: int, now: int) -> Invoice:
    """Return a wallet's invoice if it is new, has exactly this amount, and can be paid.

    Raises InvoiceError. Its message is for the log and repeats no text from the wallet.
    """
    invoice = decode(text)
    if invoice.network != MAINNET:
        raise errors.InvoiceError(
            f"the invoice is of the network {invoice.network}, not of Bitcoin's"
        )
    if invoice.amount != satoshi * MSAT:
        asked = f"{satoshi * MSAT} millisatoshi were asked for"
        raise errors.InvoiceError(f"the invoice asks for {invoice.amount} millisatoshi, {asked}")
    if abs(invoice.created_at - now) > CLOCK_SKEW:
        raise errors.InvoiceError("the invoice was not made just now")
    if invoice.lapses_at - now < LEAST_LIFE:
        raise errors.InvoiceError("the invoice has lapsed or is about to")
    return invoice


def fits(preimage: str, payment_hash: str) -> bool:
    """True if a preimage in hex belongs to the payment hash."""
    if not _HEX_32_BYTES.fullmatch(preimage):
        return False
    return hashlib.sha256(bytes.fromhex(preimage)).hexdigest() == payment_hash


UNKNOWN_PREIMAGES = ("", "0" * 64)
"""What wallets send if they don't know the preimage."""


def read_arrival(amount: Any, preimage: Any, payment_hash: str) -> rail.Arrived | rail.Waiting:
    """Return the money that a wallet reports, unless its amount or preimage is wrong.

    `amount` is in millisatoshi, None if the wallet doesn't say it; a negative amount was sent. Some
    wallets don't know the preimage, and leave it out or send zeros.
    """
    is_amount = type(amount) is int and MSAT <= amount <= MOST
    if amount is not None and not is_amount:
        return rail.Waiting(
            "the wallet names an impossible amount", rail.InvalidWalletAnswer.AMOUNT
        )
    is_known = isinstance(preimage, str) and preimage not in UNKNOWN_PREIMAGES
    if is_known and not fits(preimage, payment_hash):
        return rail.Waiting(
            "the wallet's preimage does not fit the invoice", rail.InvalidWalletAnswer.PREIMAGE
        )
    return rail.Arrived(None if amount is None else amount // MSAT)
