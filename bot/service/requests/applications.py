"""Applications and their credentials (interface section 5)."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from bot.core import errors, signing, stored_json
from bot.core.database import database, vault
from bot.core.ops import audit
from bot.service.requests import app_rows, changes, request, request_commands, request_rows

EMBEDDED = "embedded-app"
MAX_NAME = 100
SECRET_BYTES = 32  # too many to guess, so a plain hash is enough to store it
HOUR = 3600 * 1000
OVERLAP = 24 * HOUR
"""Milliseconds for which former secrets stay valid, for logins and webhook signatures."""

FRESH = 250
"""Milliseconds for which an application's row is cached."""

_NO_HASH = "0" * 64


@dataclass(frozen=True, slots=True)
class Credentials:
    """The secrets with which an application authenticates; shown once."""

    app_id: str
    app_secret: str
    webhook_secret: str


def create(
    tx: database.Transaction,
    keys: vault.Vault,
    name: str,
    now: int,
    seller: request.SellerProfile | None = None,
) -> Credentials:
    """Create an application with the profile to show on its requests.

    Raises Refused for a name that is empty, too long or not one line.
    """
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise errors.Refused(f"A name has 1 to {MAX_NAME} characters in one line.")
    made = _new(request_commands.new_id(now))
    app = replace(_app(made, keys, name, now), seller=request_rows.write_seller(seller))
    app_rows.insert(tx, app)
    audit.record(tx, audit.operator(), "app.created", made.app_id, now, {"name": name})
    return made


def rotate(
    tx: database.Transaction, keys: vault.Vault, app_id: str, now: int, overlap: int = OVERLAP
) -> Credentials:
    """Replace an application's secrets; the former ones stay valid for `overlap` ms.

    So its programs and receivers have time to change their secrets. An earlier overlap ends
    immediately. Raises NotFound, and Refused for an application that is revoked or the bot's own.
    """
    _check_not_embedded(tx, keys, app_id)
    made = _new(app_id)
    sealed = keys.seal(made.webhook_secret)
    if not app_rows.replace_secrets(tx, app_id, _hash(made.app_secret), sealed, now + overlap):
        raise _not_live_error(tx, app_id)
    app_rows.forget_former(tx, now)
    details = {"overlap_hours": overlap // HOUR}
    audit.record(tx, audit.operator(), "app.rotated", app_id, now, details)
    return made


def find_changeable(tx: database.Transaction, keys: vault.Vault, app_id: str) -> app_rows.App:
    """Return a live application that is not the bot's own.

    Raises NotFound, and Refused for an application that is revoked or the bot's own.
    """
    _check_not_embedded(tx, keys, app_id)
    app = app_rows.find(tx, app_id)
    if app is None or app.revoked_at is not None:
        raise _not_live_error(tx, app_id)
    return app


def revoke(tx: database.Transaction, keys: vault.Vault, app_id: str, now: int) -> None:
    """Revoke an application's access; its requests stay payable and its webhooks continue.

    Raises NotFound, and Refused for an application that is revoked or the bot's own.
    """
    _check_not_embedded(tx, keys, app_id)
    if not app_rows.revoke(tx, app_id, now):
        raise _not_live_error(tx, app_id)
    audit.record(tx, audit.operator(), "app.revoked", app_id, now, {})


def change_seller(
    tx: database.Transaction, app_id: str, change: changes.SellerEdit | None, now: int
) -> request.SellerProfile | None:
    """Change the profile that the application's requests show; None removes it.

    The audit log records only the names of the changed fields. Raises NotFound, and InvalidBody if
    a new profile has no name.
    """
    app_rows.lock(tx, app_id)
    before = seller_of(tx, app_id)
    after = None if change is None else changes.edit_seller(before, change)
    if after != before:
        app_rows.write_seller(tx, app_id, request_rows.write_seller(after))
        details = {"changed": _differences(before, after)}
        audit.record(tx, audit.operator(), "app.seller_changed", app_id, now, details)
    return after


def seller_of(tx: database.Transaction, app_id: str) -> request.SellerProfile | None:
    """Return an application's profile. Raises NotFound."""
    app = app_rows.find(tx, app_id)
    if app is None:
        raise _not_live_error(tx, app_id)
    return request_rows.read_seller(app.seller)


def _differences(
    before: request.SellerProfile | None, after: request.SellerProfile | None
) -> list[str]:
    """Return the names of the fields in which two profiles differ."""
    names = (one.name for one in fields(request.SellerProfile))
    return [name for name in names if getattr(before, name, None) != getattr(after, name, None)]


def ensure_embedded_app(tx: database.Transaction, keys: vault.Vault, now: int) -> Credentials:
    """Return the bot's own credentials, created at the first call and stored sealed."""

    def make() -> str:
        made = _new(request_commands.new_id(now))
        # Anyone can sell through the bot and name any address.
        app_rows.insert(tx, _app(made, keys, "bot", now, confirms=True))
        audit.record(tx, audit.SYSTEM, "app.created", made.app_id, now, {"name": "bot"})
        return stored_json.write(Credentials, made)

    return stored_json.read(Credentials, vault.load_or_create(tx, keys, EMBEDDED, make))


class Logins:
    """Checks credentials. An application that was read less than FRESH ms ago isn't read again.

    So every process refuses a revoked application or secret after FRESH ms at most.
    """

    def __init__(self, db: database.Database, now: Callable[[], int]) -> None:
        self._db = db
        self._now = now
        self._known: dict[str, tuple[app_rows.App, int]] = {}

    async def authenticate(self, app_id: str, app_secret: str) -> app_rows.App:
        """Return the application of these credentials.

        Raises Unauthorized. A wrong id takes as much time as a wrong secret.
        """
        hashed, now = _hash(app_secret), self._now()
        known, read_at = self._known.get(app_id, (None, 0))
        if known and 0 <= now - read_at < FRESH and _is_secret_of(known, hashed, now):
            return known
        app = await app_rows.read_live(self._db, app_id)
        right = _is_secret_of(app, hashed, now)
        if app is None or not right:
            raise errors.Unauthorized
        self._known[app_id] = app, now
        return app


def _is_secret_of(app: app_rows.App | None, hashed: str, now: int) -> bool:
    """Compare with the application's secret and, during an overlap, with its former secret."""
    former = app.former_secret_hash if app and app.overlaps(now) else None
    matches = [
        hmac.compare_digest(hashed, one or _NO_HASH)
        for one in (app.secret_hash if app else None, former)
    ]
    return any(matches)


def _new(app_id: str) -> Credentials:
    return Credentials(app_id, secrets.token_urlsafe(SECRET_BYTES), signing.new_secret())


def _app(
    made: Credentials, keys: vault.Vault, name: str, now: int, *, confirms: bool = False
) -> app_rows.App:
    return app_rows.App(
        id=made.app_id,
        name=name,
        secret_hash=_hash(made.app_secret),
        webhook_secret=keys.seal(made.webhook_secret),
        created_at=now,
        confirms=int(confirms),
    )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _not_live_error(tx: database.Transaction, app_id: str) -> errors.Refused:
    if app_rows.find(tx, app_id):
        return errors.Refused(f"The application {app_id} is revoked.")
    return errors.NotFound(f"There is no application {app_id}.")


def _check_not_embedded(tx: database.Transaction, keys: vault.Vault, app_id: str) -> None:
    row = tx.one("SELECT sealed FROM kept_secrets WHERE name = :name", name=EMBEDDED)
    if row and stored_json.read(Credentials, keys.open(row["sealed"])).app_id == app_id:
        raise errors.Refused("This is the bot's own application: its credentials can't be changed.")
