"""Links in payers' receipts: one keeps the receipt, one ends all receipts to their mailbox.

Nothing is stored for them.
"""

from __future__ import annotations

import hmac
import re

TOKEN = re.compile(r"([0-9a-f]{64})([0-9a-f]{32})")
TAG = 16
"""Bytes of the signature."""

PURPOSE = b"stop receipts "
"""Tells these signatures from others with the same key."""


def keep_link(template: str, request_id: str, transaction_id: str) -> str:
    """Return the address that keeps a receipt; `template` names the ids in braces (`keepUrl`)."""
    return template.replace("{requestId}", request_id).replace("{transactionId}", transaction_id)


def stop_token(key: bytes, mailbox: str) -> str:
    """Return the token of a mailbox, a digest of its address (core/text/email_addresses.py)."""
    return mailbox + _signature(key, mailbox)


def read_stop_token(key: bytes, token: str) -> str | None:
    """Return the mailbox of a token, None for one that this service has not signed."""
    found = TOKEN.fullmatch(token)
    if found is None or not hmac.compare_digest(_signature(key, found[1]), found[2]):
        return None
    return found[1]


def _signature(key: bytes, mailbox: str) -> str:
    return hmac.digest(key, PURPOSE + mailbox.encode(), "sha256")[:TAG].hex()
