"""SQL of applications."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from bot.core.database import database

SECRETS = "SELECT webhook_secret, former_webhook_secret, former_until FROM apps WHERE id = :id"


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


BY_ID = f"SELECT {database.columns_of(App)} FROM apps WHERE id = :id"  # noqa: S608 - our own names
LOCK = "SELECT id FROM apps WHERE id = :id FOR NO KEY UPDATE"
LIVE = f"{BY_ID} AND revoked_at IS NULL"
OLDEST = f"SELECT {database.columns_of(App)} FROM apps ORDER BY created_at, id"  # noqa: S608 - our own names


def insert(tx: database.Transaction, app: App) -> None:
    """Store a new application."""
    tx.execute(
        "INSERT INTO apps (id, name, secret_hash, webhook_secret, created_at, confirms, seller)"
        " VALUES (:id, :name, :secret_hash, :webhook_secret, :created_at, :confirms, :seller)",
        **asdict(app),
    )


async def read_live(db: database.Database, app_id: str) -> App | None:
    """Return the application, or None if it is unknown or revoked."""
    row = await db.one(LIVE, id=app_id)
    return App(**row) if row else None


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
    return [App(**row) for row in tx.query(OLDEST)]


def replace_secrets(
    tx: database.Transaction, app_id: str, secret_hash: str, webhook_secret: str, former_until: int
) -> bool:
    """Store new secrets; the present secrets become the former secrets.

    Returns False if there is no live application with this id.
    """
    changed = tx.execute(
        "UPDATE apps SET former_secret_hash = secret_hash, secret_hash = :secret_hash,"
        " former_webhook_secret = webhook_secret, webhook_secret = :webhook_secret,"
        " former_until = :former_until"
        " WHERE id = :id AND revoked_at IS NULL",
        id=app_id,
        secret_hash=secret_hash,
        webhook_secret=webhook_secret,
        former_until=former_until,
    )
    return changed == 1


def write_seller(tx: database.Transaction, app_id: str, seller: str | None) -> bool:
    """Store an application's profile; return False if there is no application with this id."""
    sql = "UPDATE apps SET seller = :seller WHERE id = :id"
    return tx.execute(sql, id=app_id, seller=seller) == 1


def forget_former(tx: database.Transaction, now: int) -> int:
    """Delete former secrets after their overlap; return the number of applications."""
    return tx.execute(
        "UPDATE apps SET former_secret_hash = NULL, former_webhook_secret = NULL,"
        " former_until = NULL WHERE former_until <= :now",
        now=now,
    )


def revoke(tx: database.Transaction, app_id: str, now: int) -> bool:
    """Revoke an application; return False if there is no live application with this id."""
    changed = tx.execute(
        "UPDATE apps SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL",
        id=app_id,
        now=now,
    )
    return changed == 1
