"""Updates as they are stored: what their senders typed is sealed if it may have a wallet's key.

A key that a seller types is erased once its update is handled. But a database doesn't forget at
once: SQLite keeps it in its -wal and in free parts of pages, PostgreSQL in its log and archives.
So a key is never written there as it is (docs/decisions/conversation.md#0105).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bot.core import erasure, errors, exact_json, stored_json
from bot.core.database import vault

SEALED = "sealed"
"""The field of a stored update with the sealed fields of its message."""

TYPED = ("text", "caption", "entities", "caption_entities")
"""The fields of a message that its sender typed (Bot API, Message)."""

LONG_WORD = re.compile(r"\S{16}")
"""The keys of wallets are longer: an LNbits key has 32 characters."""


def seal(update: Mapping[str, Any], keys: vault.Vault) -> Mapping[str, Any]:
    """Return an update as it is stored. Any long word may be a key."""
    message = update.get("message")
    if not isinstance(message, dict):
        return update
    typed = {name: message[name] for name in TYPED if name in message}
    if not any(map(LONG_WORD.search, erasure.find_texts(typed))):
        return update
    rest = {name: value for name, value in message.items() if name not in typed}
    return {**update, "message": rest, SEALED: keys.seal(exact_json.dumps(typed))}


def unseal(stored: Mapping[str, Any], keys: vault.Vault) -> Mapping[str, Any]:
    """Return the update of a stored body. Raises Unreadable if another key sealed it."""
    sealed = stored.get(SEALED)
    if not isinstance(sealed, str):
        return stored
    rest = {name: value for name, value in stored.items() if name != SEALED}
    try:
        typed = stored_json.read_object(keys.open(sealed))
    except errors.ConfigProblem:
        raise errors.Unreadable("it was sealed with another SECRET_KEY") from None
    return {**rest, "message": {**rest["message"], **typed}}
