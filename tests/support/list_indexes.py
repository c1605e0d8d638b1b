"""The indexes by which the statements of `bench.million` find their rows, on both engines."""

from __future__ import annotations

from bot.interface.vocabulary import Status

INDEXES = {
    "payment requests": "payment_requests_newest",
    "payments": "payments_newest",
    "deliveries": "deliveries_newest",
    "deliveries of a request": "deliveries_request",
    "payers": "payments_payer_numbers",
    "a seller's requests": "listings_standing",
    "how many they are": "listings_standing",
    "a seller's search": "listings_newest",
} | {f"payment requests, {status}": "payment_requests_staged" for status in Status}
WATCHES = ("spent", "ending", "ended", "ended", "starting", "starting")
"""The indexes by which each way is found in which a state is no more what is written down."""


def indexes_of(name: str) -> list[str]:
    """Return the indexes that a statement uses, without those of what belongs to a row."""
    expected = INDEXES.get(name.removesuffix(", after a place"))
    return [expected] if expected else [f"payment_requests_{watch}" for watch in WATCHES]
