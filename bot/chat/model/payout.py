"""Payout accounts: where the money of a seller's payments goes, with real money."""

from __future__ import annotations


def owner_ref(seller_id: int) -> str:
    """Return the name by which the service knows a seller: 64 letters, digits, _ and - at most."""
    return f"seller-{seller_id}"


def account_destination(seller_id: int) -> str:
    """Return the destination of a receiver that is paid to a seller's accounts."""
    return f"account:{owner_ref(seller_id)}"
