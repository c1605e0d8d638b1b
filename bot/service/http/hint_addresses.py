"""Addresses at which wallets announce money: one a checkout, unguessable, and not stored."""

from __future__ import annotations

import hmac

PATH = "/hints"


def hint_url(public_url: str, key: bytes, checkout_id: str) -> str:
    """Return the address of a checkout; `key` is the payers'."""
    return f"{public_url}{PATH}/{checkout_id}/{_token(key, checkout_id)}"


def is_genuine(key: bytes, checkout_id: str, token: str) -> bool:
    """Return whether a token is of the checkout's address."""
    return hmac.compare_digest(_token(key, checkout_id).encode(), token.encode())


def _token(key: bytes, checkout_id: str) -> str:
    return hmac.digest(key, f"hint {checkout_id}".encode(), "sha256").hex()[:32]
