"""Applications and their credentials (interface section 5)."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.core import exact_json, signing
from bot.core.database import vault
from bot.core.errors import NotFound, Refused, Unauthorized
from bot.core.ops import audit
from bot.service.store import apps as store
from bot.service.store import recipients
from bot.service.store.apps import App
from bot.service.usecases.request_commands import new_id

if TYPE_CHECKING:
    from bot.core.database.database import Database, Transaction
    from bot.core.database.vault import Vault

EMBEDDED = "embedded-app"
MAX_NAME = 100
SECRET_BYTES = 32  # beyond guessing, so a plain hash keeps it
HOUR = 3600 * 1000
OVERLAP = 24 * HOUR
"""Milliseconds that webhooks are signed with the former secret too, unless told otherwise."""

_NOBODY = "0" * 64


@dataclass(frozen=True, slots=True)
class Credentials:
    """What an application proves itself with; told once."""

    app_id: str
    app_secret: str
    webhook_secret: str


def create(tx: Transaction, keys: Vault, name: str, now: int) -> Credentials:
    """Make an application. Raises Refused for a name that is empty, too long or not a line."""
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise Refused(f"A name has 1 to {MAX_NAME} characters in one line.")
    made = _new(new_id())
    store.insert(tx, _app(made, keys, name, now))
    audit.record(tx, audit.operator(), "app.created", made.app_id, now, {"name": name})
    return made


def every(tx: Transaction) -> list[App]:
    """Give all applications, oldest first; revoked ones carry when."""
    return store.list_all(tx)


def rotate(
    tx: Transaction, keys: Vault, app_id: str, now: int, overlap: int = OVERLAP
) -> Credentials:
    """Give an application new secrets; the old APP_SECRET ends at once.

    Webhooks are signed with the former secret too for `overlap` ms, so that receivers can change
    theirs in peace. Raises NotFound, and Refused for one that is revoked or the bot's own.
    """
    _not_embedded(tx, keys, app_id)
    made = _new(app_id)
    sealed = keys.seal(made.webhook_secret)
    if not store.replace_secrets(tx, app_id, _hash(made.app_secret), sealed, now + overlap):
        raise _not_live(tx, app_id)
    store.forget_former(tx, now)
    details = {"overlap_hours": overlap // HOUR}
    audit.record(tx, audit.operator(), "app.rotated", app_id, now, details)
    return made


def forget_former(tx: Transaction, now: int) -> int:
    """Drop the webhook secrets of rotations that are over; how many."""
    return store.forget_former(tx, now)


def revoke(tx: Transaction, keys: Vault, app_id: str, now: int) -> None:
    """End an application's access; its requests stay payable, its webhooks go on.

    Raises NotFound, and Refused for one that is revoked already or the bot's own.
    """
    _not_embedded(tx, keys, app_id)
    if not store.revoke(tx, app_id, now):
        raise _not_live(tx, app_id)
    audit.record(tx, audit.operator(), "app.revoked", app_id, now, {})


def ensure_embedded_app(tx: Transaction, keys: Vault, now: int) -> Credentials:
    """Give the bot's own credentials, made at the first time and kept sealed."""

    def make() -> str:
        made = _new(new_id())
        store.insert(tx, _app(made, keys, "bot", now))
        audit.record(tx, audit.SYSTEM, "app.created", made.app_id, now, {"name": "bot"})
        return json.dumps([made.app_id, made.app_secret, made.webhook_secret])

    own = Credentials(*exact_json.loads(vault.load_or_create(tx, keys, EMBEDDED, make)))
    if store.require_confirmation(
        tx, own.app_id
    ):  # anybody may be a seller there, and name any address
        recipients.require_confirmation(tx, own.app_id)
    return own


async def authenticate(db: Database, app_id: str, app_secret: str) -> App:
    """Give the application that these credentials prove.

    Raises Unauthorized, after the same work whether the id or the secret is wrong.
    """
    app = await store.read_live(db, app_id)
    right = hmac.compare_digest(_hash(app_secret), app.secret_hash if app else _NOBODY)
    if app is None or not right:
        raise Unauthorized
    return app


def _new(app_id: str) -> Credentials:
    return Credentials(app_id, secrets.token_urlsafe(SECRET_BYTES), signing.new_secret())


def _app(made: Credentials, keys: Vault, name: str, now: int) -> App:
    return App(
        id=made.app_id,
        name=name,
        secret_hash=_hash(made.app_secret),
        webhook_secret=keys.seal(made.webhook_secret),
        created_at=now,
    )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _not_live(tx: Transaction, app_id: str) -> Refused:
    """Tell one that is revoked, as the list shows it, from one that never was."""
    if store.find(tx, app_id):
        return Refused(f"The application {app_id} is revoked.")
    return NotFound(f"There is no application {app_id}.")


def _not_embedded(tx: Transaction, keys: Vault, app_id: str) -> None:
    row = tx.one("SELECT sealed FROM kept_secrets WHERE name = :name", name=EMBEDDED)
    if row and exact_json.loads(keys.open(row["sealed"]))[0] == app_id:
        raise Refused("This is the bot's own application: its credentials are not to be changed.")
