"""Lightning invoices of any content, with a valid checksum and a signature of nobody."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_PICO = 10
"""Pico-bitcoin (the unit `p`) in a millisatoshi."""

PREIMAGE = "11" * 32


def hash_of(preimage: str = PREIMAGE) -> str:
    return hashlib.sha256(bytes.fromhex(preimage)).hexdigest()


@dataclass(frozen=True)
class InvoiceDraft:
    """What an invoice says: `msat` None asks for nothing, times are UTC epoch ms and seconds."""

    msat: int | None
    created_at: int
    expiry: int | None = 900
    payment_hash: str | None = hash_of()
    network: str = "bc"
    secret: bool = True
    extra: tuple[tuple[str, list[int]], ...] = ()

    def write(self) -> str:
        """Encode it as BOLT 11 does."""
        amount = "" if self.msat is None else _amount(self.msat)
        return seal(f"ln{self.network}{amount}", self.words())

    def words(self) -> list[int]:
        """Return the data part without the checksum."""
        fields = list(self.extra)
        if self.payment_hash is not None:
            fields.append(("p", _words(int(self.payment_hash, 16) << 4, 52)))
        if self.secret:
            fields.append(("s", _words(0, 52)))
        if self.expiry is not None:
            fields.append(("x", _words(self.expiry, 13)))
        words = _words(self.created_at // 1000, 7)
        for tag, value in fields:
            words += [ALPHABET.index(tag), *_words(len(value), 2), *value]
        return words + [0] * 104


def seal(head: str, words: list[int]) -> str:
    """Add the checksum."""
    spread = [ord(char) >> 5 for char in head] + [0] + [ord(char) & 31 for char in head]
    check = _polymod(spread + words + [0] * 6) ^ 1
    return f"{head}1" + "".join(ALPHABET[word] for word in words + _words(check, 6))


def _amount(msat: int) -> str:
    for unit, size in (("", 10**11), ("m", 10**8), ("u", 10**5), ("n", 100)):
        if msat % size == 0:
            return f"{msat // size}{unit}"
    return f"{msat * _PICO}p"


def _words(number: int, count: int) -> list[int]:
    return [number >> 5 * (count - 1 - at) & 31 for at in range(count)]


def _polymod(values: list[int]) -> int:
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_GENERATOR):
            check ^= generator if top >> bit & 1 else 0
    return check
