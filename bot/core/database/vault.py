"""Secrets at rest, sealed with SECRET_KEY, which is never in the database."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from bot.core import errors
from bot.core.database import database

PROOF = "proof"
"""The name of a secret whose only use is to check the key."""


class Vault:
    """Seals and opens short texts (Fernet: AES-128-CBC with HMAC-SHA-256)."""

    def __init__(self, key: str) -> None:
        digest = hashlib.sha256(key.encode()).digest()
        self._fernet = Fernet(base64.urlsafe_b64encode(digest))

    def seal(self, text: str) -> str:
        """Encrypt a text; the result differs each time."""
        return self._fernet.encrypt(text.encode()).decode()

    def open(self, sealed: str) -> str:
        """Decrypt a text. Raises ConfigProblem if it was sealed with another key."""
        try:
            return self._fernet.decrypt(sealed.encode()).decode()
        except InvalidToken as error:
            raise errors.ConfigProblem(
                "SECRET_KEY: the secrets in the database were sealed with another key:"
                " set the key that they were sealed with"
            ) from error


def load_or_create_key(path: Path) -> str:
    """Return the key in the file `path`; the first time, create the file with mode 0600.

    The file is linked into place once it is complete, so that no process reads half of it.
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
    """Return 256 random bits as URL-safe text."""
    return secrets.token_urlsafe(32)


def holds_secrets(tx: database.Transaction) -> bool:
    """True if a key has sealed anything yet."""
    return tx.one("SELECT name FROM kept_secrets LIMIT 1") is not None


def check_key(tx: database.Transaction, vault: Vault) -> None:
    """Check the key against a stored secret. Raises ConfigProblem if another key sealed it.

    In an empty database, store a secret so that later keys can be checked.
    """
    row = tx.one("SELECT sealed FROM kept_secrets ORDER BY name LIMIT 1")
    if row:
        vault.open(row["sealed"])
    else:
        load_or_create(tx, vault, PROOF, random_password)


def load_or_create(
    tx: database.Transaction, vault: Vault, name: str, make: Callable[[], str]
) -> str:
    """Return the secret stored under `name`; the first time `make` creates it."""
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
