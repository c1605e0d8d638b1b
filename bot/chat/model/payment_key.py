"""The key of a payment in the data of buttons: ids of other servers are too long for that."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PaymentKey:
    """A payment by its listing, the time of its record (epoch ms) and a digest of its number."""

    listing_id: str
    at: int
    digest: str

    @classmethod
    def of(cls, listing_id: str, at: int, transaction_id: str) -> PaymentKey:
        """Return the key of a payment."""
        digest = hashlib.blake2b(transaction_id.encode("utf-8", "replace"), digest_size=4)
        return cls(listing_id, at, digest.hexdigest())

    @property
    def words(self) -> tuple[str, str, str]:
        """Return the key as words of a button's action."""
        return self.listing_id, str(self.at), self.digest
