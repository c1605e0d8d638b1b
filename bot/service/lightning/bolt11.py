"""Read the fields of a Lightning invoice that decide whether it is the one that was asked for.

The format is BOLT 11 of the Lightning specifications: a human-readable part with network and
amount, then words of five bits with time, tagged fields, signature and a checksum, as in BIP 173.
The signature is not checked: without an expected key it proves nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.core.errors import InvoiceError

LONGEST = 3_381
"""Characters. Wallets write 200 to 1,500; our QR codes take 3,391 with the scheme."""

_ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_VALUES = {char: value for value, char in enumerate(_ALPHABET)}
_HEAD = re.compile(r"ln(bcrt|bc|tbs|tb)(?:([1-9][0-9]{0,19})([munp]?))?", re.ASCII)
_TENTHS = {"": 10**12, "m": 10**9, "u": 10**6, "n": 10**3, "p": 1}
"""Tenths of a millisatoshi in one unit of the amount."""

_BITS = 5
_TIME, _SIGNATURE, _CHECKSUM = 7, 104, 6  # words
_TAG_HEAD = 3
_HASH = 52
"""Words of 32 bytes; a field of another length is to be skipped."""

_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_DEFAULT_EXPIRY = 3_600  # seconds
_LONGEST_EXPIRY = 10 * 365 * 86_400


@dataclass(frozen=True, slots=True)
class Invoice:
    """An invoice as written: `amount` in millisatoshi, None where the payer chooses it.

    `network` is `bc` for Bitcoin itself; times are UTC epoch ms, the hash is lower-case hex.
    """

    text: str
    network: str
    amount: int | None
    created_at: int
    lapses_at: int
    payment_hash: str


def decode(text: str) -> Invoice:
    """Return the fields of an invoice in upper or lower case. Raises InvoiceError."""
    if len(text) > LONGEST or not text.isascii() or text not in (text.lower(), text.upper()):
        raise InvoiceError("this is no Lightning invoice")
    text = text.lower()
    head, _, tail = text.rpartition("1")
    parts = _HEAD.fullmatch(head)
    words = [_VALUES.get(char, -1) for char in tail]
    if parts is None or -1 in words or len(words) < _TIME + _SIGNATURE + _CHECKSUM:
        raise InvoiceError("this is no Lightning invoice")
    if _checksum(head, words) != 1:
        raise InvoiceError("the invoice has a wrong checksum")
    fields = _tagged_fields(words[_TIME : -_SIGNATURE - _CHECKSUM])
    if "p" not in fields or "s" not in fields:
        raise InvoiceError("the invoice has no payment hash or no payment secret")
    created_at = _number(words[:_TIME])
    expiry = _number(fields["x"]) if "x" in fields else _DEFAULT_EXPIRY
    return Invoice(
        text=text,
        network=parts[1],
        amount=_amount(parts[2], parts[3]),
        created_at=created_at * 1000,
        lapses_at=(created_at + min(expiry, _LONGEST_EXPIRY)) * 1000,
        payment_hash=_hash(fields["p"]),
    )


def _amount(number: str | None, unit: str) -> int | None:
    if number is None:
        return None
    whole, rest = divmod(int(number) * _TENTHS[unit], 10)
    if rest:
        raise InvoiceError("the invoice asks for a part of a millisatoshi")
    return whole


def _checksum(head: str, words: list[int]) -> int:
    """Return the checksum over both parts, which is 1 where it is right."""
    spread = [ord(char) >> _BITS for char in head] + [0] + [ord(char) & 31 for char in head]
    check = 1
    for value in spread + words:
        top = check >> 25
        check = (check & 0x1FFFFFF) << _BITS ^ value
        for bit, generator in enumerate(_GENERATOR):
            check ^= generator if top >> bit & 1 else 0
    return check


def _tagged_fields(words: list[int]) -> dict[str, list[int]]:
    """Return the words of each field by its tag; of a tag given twice, the first counts."""
    fields: dict[str, list[int]] = {}
    at = 0
    while at < len(words):
        start = at + _TAG_HEAD
        end = start + _number(words[at + 1 : start])
        if start > len(words) or end > len(words):
            raise InvoiceError("a field of the invoice runs past its end")
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


def _hash(words: list[int]) -> str:
    return (_number(words) >> 4).to_bytes(32, "big").hex()
