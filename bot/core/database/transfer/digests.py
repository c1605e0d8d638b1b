"""Digests of tables: equal where two tables hold the same rows, whatever their order and engine."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BYTES = 16
"""The size of a row's hash."""


@dataclass(slots=True)
class Digest:
    """The number of rows, and the sum of their hashes.

    A sum and not an exclusive or: in that one two equal rows would cancel each other.
    """

    rows: int = 0
    total: int = 0

    def add(self, row: tuple[object, ...]) -> None:
        """Add a row of integers, texts, bytes and nulls."""
        found = blake2b(repr(row).encode(), digest_size=BYTES).digest()
        self.rows += 1
        self.total = (self.total + int.from_bytes(found)) % (1 << 8 * BYTES)

    def count(self, rows: Iterable[tuple[object, ...]]) -> Iterator[tuple[object, ...]]:
        """Yield the rows, and add each."""
        for row in rows:
            self.add(row)
            yield row


def digest(rows: Iterable[tuple[object, ...]]) -> Digest:
    """Return the digest of all rows."""
    found = Digest()
    for row in rows:
        found.add(row)
    return found
