"""Applications and their credentials (interface section 5)."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields

from bot.core import errors, signing, stored_json
from bot.core.database import database, vault
from bot.core.ops import audit
from bot.service.requests import changes, request, request_rows

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
class App:
    """An application; times in epoch ms."""

    id: str
    name: str
    secret_hash: str

    webhook_secret: str
    """Sealed."""

    created_at: int
    revoked_at: int | None = None
    former_secret_hash: str | None = None
    former_webhook_secret: str | None = None

    former_until: int | None = None
    """Until then the former secrets are valid in addition to the new secrets."""

    confirms: int = 0
    """1 if holders of email addresses that it names must confirm them."""

    seller: str | None = None
    """JSON of the profile for requests without their own profile."""

    def overlaps(self, now: int) -> bool:
        """Return whether the former secrets are still valid."""
        return self.former_until is not None and now < self.former_until


SELECT = f"SELECT {database.columns_of(App)} FROM apps"  # noqa: S608 - our own names
BY_ID = f"{SELECT} WHERE id = :id"
INSERT = database.insert_into(
    "apps", "id, name, secret_hash, webhook_secret, created_at, confirms, seller"
)
LOCK = "SELECT id FROM apps WHERE id = :id FOR NO KEY UPDATE"
SECRETS = "SELECT webhook_secret, former_webhook_secret, former_until FROM apps WHERE id = :id"
ROTATE = """
    UPDATE apps SET former_secret_hash = secret_hash, secret_hash = :secret_hash,
      former_webhook_secret = webhook_secret, webhook_secret = :webhook_secret,
      former_until = :former_until
    WHERE id = :id AND revoked_at IS NULL
"""
REVOKE = "UPDATE apps SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL"
FORGET_FORMER = """
    UPDATE apps SET former_secret_hash = NULL, former_webhook_secret = NULL, former_until = NULL
    WHERE former_until <= :now
"""


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
    return _create(tx, keys, name, now, audit.operator(), seller=request_rows.write_seller(seller))


def rotate(
    tx: database.Transaction, keys: vault.Vault, app_id: str, now: int, overlap: int = OVERLAP
) -> Credentials:
    """Replace an application's secrets; the former ones stay valid for `overlap` ms.

    So its programs and receivers have time to change their secrets. An earlier overlap ends
    immediately. Raises NotFound, and Refused for an application that is revoked or the bot's own.
    """
    _check_not_embedded(tx, keys, app_id)
    made = _new(app_id)
    if not tx.execute(
        ROTATE,
        id=app_id,
        secret_hash=_hash(made.app_secret),
        webhook_secret=keys.seal(made.webhook_secret),
        former_until=now + overlap,
    ):
        raise _not_live_error(tx, app_id)
    forget_former(tx, now)
    details = {"overlap_hours": overlap // HOUR}
    audit.record(tx, audit.operator(), "app.rotated", app_id, now, details)
    return made


def find_changeable(tx: database.Transaction, keys: vault.Vault, app_id: str) -> App:
    """Return a live application that is not the bot's own.

    Raises NotFound, and Refused for an application that is revoked or the bot's own.
    """
    _check_not_embedded(tx, keys, app_id)
    app = find(tx, app_id)
    if app is None or app.revoked_at is not None:
        raise _not_live_error(tx, app_id)
    return app


def revoke(tx: database.Transaction, keys: vault.Vault, app_id: str, now: int) -> None:
    """Revoke an application's access; its requests stay payable and its webhooks continue.

    Raises NotFound, and Refused for an application that is revoked or the bot's own.
    """
    _check_not_embedded(tx, keys, app_id)
    if not tx.execute(REVOKE, id=app_id, now=now):
        raise _not_live_error(tx, app_id)
    audit.record(tx, audit.operator(), "app.revoked", app_id, now, {})


def change_seller(
    tx: database.Transaction, app_id: str, change: changes.SellerEdit | None, now: int
) -> request.SellerProfile | None:
    """Change the profile that the application's requests show; None removes it.

    The audit log records only the names of the changed fields. Raises NotFound, and InvalidBody if
    a new profile has no name.
    """
    lock(tx, app_id)
    before = seller_of(tx, app_id)
    after = None if change is None else changes.edit_seller(before, change)
    if after != before:
        sql = "UPDATE apps SET seller = :seller WHERE id = :id"
        tx.execute(sql, id=app_id, seller=request_rows.write_seller(after))
        names = [one.name for one in fields(request.SellerProfile)]
        changed = [
            name for name in names if getattr(before, name, None) != getattr(after, name, None)
        ]
        audit.record(tx, audit.operator(), "app.seller_changed", app_id, now, {"changed": changed})
    return after


def seller_of(tx: database.Transaction, app_id: str) -> request.SellerProfile | None:
    """Return an application's profile. Raises NotFound."""
    app = find(tx, app_id)
    if app is None:
        raise _not_live_error(tx, app_id)
    return request_rows.read_seller(app.seller)


def ensure_embedded_app(tx: database.Transaction, keys: vault.Vault, now: int) -> Credentials:
    """Return the bot's own credentials, created at the first call and stored sealed."""

    def make() -> str:
        # Anyone can sell through the bot and name any address.
        made = _create(tx, keys, "bot", now, audit.SYSTEM, confirms=True)
        return stored_json.write(Credentials, made)

    return stored_json.read(Credentials, vault.load_or_create(tx, keys, EMBEDDED, make))


async def read_webhook_secrets(db: database.Database, app_id: str, now: int) -> list[str]:
    """Return the sealed secrets that sign the application's webhooks, the newest first.

    The former secret is included until `former_until`. Returns [] for an unknown application.
    """
    row = await db.one(SECRETS, id=app_id)
    if row is None:
        return []
    former = row["former_webhook_secret"]
    overlaps = former is not None and row["former_until"] > now
    return [row["webhook_secret"], *([former] if overlaps else [])]


def lock(tx: database.Transaction, app_id: str) -> None:
    """Lock an application until the transaction ends, before reading values to change."""
    tx.lock(LOCK, id=app_id)


def find(tx: database.Transaction, app_id: str) -> App | None:
    """Return the application, even if it is revoked."""
    row = tx.one(BY_ID, id=app_id)
    return App(**row) if row else None


def list_all(tx: database.Transaction) -> list[App]:
    """Return all applications, including revoked applications, oldest first."""
    return [App(**row) for row in tx.query(f"{SELECT} ORDER BY created_at, id")]


def forget_former(tx: database.Transaction, now: int) -> int:
    """Delete former secrets after their overlap; return the number of applications."""
    return tx.execute(FORGET_FORMER, now=now)


class Logins:
    """Checks credentials. An application that was read less than FRESH ms ago isn't read again.

    So every process refuses a revoked application or secret after FRESH ms at most.
    """

    def __init__(self, db: database.Database, now: Callable[[], int]) -> None:
        self._db = db
        self._now = now
        self._known: dict[str, tuple[App, int]] = {}

    async def authenticate(self, app_id: str, app_secret: str) -> App:
        """Return the application of these credentials.

        Raises Unauthorized. A wrong id takes as much time as a wrong secret.
        """
        hashed, now = _hash(app_secret), self._now()
        known, read_at = self._known.get(app_id, (None, 0))
        if known and 0 <= now - read_at < FRESH and _is_secret_of(known, hashed, now):
            return known
        row = await self._db.one(f"{BY_ID} AND revoked_at IS NULL", id=app_id)
        app = App(**row) if row else None
        right = _is_secret_of(app, hashed, now)
        if app is None or not right:
            raise errors.Unauthorized
        self._known[app_id] = app, now
        return app


def _is_secret_of(app: App | None, hashed: str, now: int) -> bool:
    """Compare with the application's secret and, during an overlap, with its former secret."""
    former = app.former_secret_hash if app and app.overlaps(now) else None
    matches = [
        hmac.compare_digest(hashed, one or _NO_HASH)
        for one in (app.secret_hash if app else None, former)
    ]
    return any(matches)


def _new(app_id: str) -> Credentials:
    return Credentials(app_id, secrets.token_urlsafe(SECRET_BYTES), signing.new_secret())


def _create(
    tx: database.Transaction,
    keys: vault.Vault,
    name: str,
    now: int,
    actor: str,
    *,
    confirms: bool = False,
    seller: str | None = None,
) -> Credentials:
    made = _new(request_rows.new_id(now))
    app = App(
        id=made.app_id,
        name=name,
        secret_hash=_hash(made.app_secret),
        webhook_secret=keys.seal(made.webhook_secret),
        created_at=now,
        confirms=int(confirms),
        seller=seller,
    )
    tx.execute(INSERT, **asdict(app))
    audit.record(tx, actor, "app.created", made.app_id, now, {"name": name})
    return made


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _not_live_error(tx: database.Transaction, app_id: str) -> errors.Refused:
    if find(tx, app_id):
        return errors.Refused(f"The application {app_id} is revoked.")
    return errors.NotFound(f"There is no application {app_id}.")


def _check_not_embedded(tx: database.Transaction, keys: vault.Vault, app_id: str) -> None:
    row = tx.one("SELECT sealed FROM kept_secrets WHERE name = :name", name=EMBEDDED)
    if row and stored_json.read(Credentials, keys.open(row["sealed"])).app_id == app_id:
        raise errors.Refused("This is the bot's own application: its credentials can't be changed.")
