"""Secrets at rest: sealed with SECRET_KEY, which is never in the database."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import secrets
import tempfile
from typing import TYPE_CHECKING

from cryptography.fernet import Fernet, InvalidToken

from bot.core.errors import ConfigProblem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bot.core.database.database import Transaction

PROOF = "proof"
"""Name of what is kept for nothing but to tell the right key."""


class Vault:
    """Seals and opens short texts (Fernet: AES-128-CBC with HMAC-SHA-256)."""

    def __init__(self, key: str) -> None:
        digest = hashlib.sha256(key.encode()).digest()
        self._fernet = Fernet(base64.urlsafe_b64encode(digest))

    def seal(self, text: str) -> str:
        """Give the sealed form of `text`, another one each time."""
        return self._fernet.encrypt(text.encode()).decode()

    def open(self, sealed: str) -> str:
        """Give the text; ConfigProblem where it was sealed with another key."""
        try:
            return self._fernet.decrypt(sealed.encode()).decode()
        except InvalidToken as error:
            raise ConfigProblem(
                "SECRET_KEY: the secrets in the database were sealed with another key:"
                " give the one that they were sealed with"
            ) from error


def load_or_create_key(path: Path) -> str:
    """Give the key kept in `path`, made there with mode 0600 at the first time.

    Linked into place when it is whole, so that nobody ever reads half of it.
    """
    if not path.exists():
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f"{path.name}.") as made:
            made.write(random_password())
            made.flush()
            os.fsync(made.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(made.name, path)
    return path.read_text().strip()


def random_password() -> str:
    """Give 256 random bits as URL-safe text."""
    return secrets.token_urlsafe(32)


def check_key(tx: Transaction, vault: Vault) -> None:
    """Hold the key against what is kept; ConfigProblem where that was sealed with another.

    An empty database is given something to hold the next key against.
    """
    row = tx.one("SELECT sealed FROM kept_secrets ORDER BY name LIMIT 1")
    if row:
        vault.open(row["sealed"])
    else:
        load_or_create(tx, vault, PROOF, random_password)


def load_or_create(tx: Transaction, vault: Vault, name: str, make: Callable[[], str]) -> str:
    """Give the secret that was kept under `name`, made with `make` at the first time."""
    row = tx.one("SELECT sealed FROM kept_secrets WHERE name = :name", name=name)
    if row:
        return vault.open(row["sealed"])
    secret = make()
    tx.execute(
        "INSERT INTO kept_secrets (name, sealed) VALUES (:name, :sealed)",
        name=name,
        sealed=vault.seal(secret),
    )
    return secret
