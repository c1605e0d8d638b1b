"""SQL of applications, of Idempotency-Key and of deliveries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.core.db import Database, Row, Transaction

LIVE = "SELECT * FROM apps WHERE id = :id AND revoked_at IS NULL"


@dataclass(frozen=True, slots=True)
class App:
    """An application; its own secret is kept as a hash, that of its webhooks sealed."""

    id: str
    name: str
    secret_hash: str
    webhook_secret: str
    created_at: int
    revoked_at: int | None = None


def insert(tx: Transaction, app: App) -> None:
    """Write a new application."""
    tx.execute(
        "INSERT INTO apps (id, name, secret_hash, webhook_secret, created_at)"
        " VALUES (:id, :name, :secret_hash, :webhook_secret, :created_at)",
        id=app.id,
        name=app.name,
        secret_hash=app.secret_hash,
        webhook_secret=app.webhook_secret,
        created_at=app.created_at,
    )


async def read_live(db: Database, app_id: str) -> App | None:
    """Give the application unless it is unknown or revoked."""
    row = await db.one(LIVE, id=app_id)
    return App(**row) if row else None


async def read_webhook_secret(db: Database, app_id: str) -> str | None:
    """Give the sealed secret that signs the application's webhooks."""
    row = await db.one("SELECT webhook_secret FROM apps WHERE id = :id", id=app_id)
    return row["webhook_secret"] if row else None


def find(tx: Transaction, app_id: str) -> App | None:
    """Give the application, also a revoked one."""
    row = tx.one("SELECT * FROM apps WHERE id = :id", id=app_id)
    return App(**row) if row else None


def every(tx: Transaction) -> list[App]:
    """Give all applications, oldest first."""
    return [App(**row) for row in tx.query("SELECT * FROM apps ORDER BY created_at, id")]


def replace_secrets(tx: Transaction, app_id: str, secret_hash: str, webhook_secret: str) -> bool:
    """Write new secrets; False where there is no live application of this id."""
    changed = tx.execute(
        "UPDATE apps SET secret_hash = :secret_hash, webhook_secret = :webhook_secret"
        " WHERE id = :id AND revoked_at IS NULL",
        id=app_id,
        secret_hash=secret_hash,
        webhook_secret=webhook_secret,
    )
    return changed == 1


def revoke(tx: Transaction, app_id: str, now: int) -> bool:
    """End an application; False where there is no live one of this id."""
    changed = tx.execute(
        "UPDATE apps SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL",
        id=app_id,
        now=now,
    )
    return changed == 1


def take_key(
    tx: Transaction,
    app_id: str,
    key: str,
    *,
    body_hash: str,
    request_id: str,
    now: int,
    before: int,
) -> Row | None:
    """Take an Idempotency-Key for a new request; give who has it where it is taken.

    Keys from before `before` (epoch ms) are forgotten.
    """
    tx.execute("DELETE FROM idempotency WHERE created_at <= :before", before=before)
    fresh = tx.execute(
        "INSERT INTO idempotency (app_id, idempotency_key, body_hash, request_id, created_at)"
        " VALUES (:app_id, :key, :body_hash, :request_id, :now) ON CONFLICT DO NOTHING",
        app_id=app_id,
        key=key,
        body_hash=body_hash,
        request_id=request_id,
        now=now,
    )
    if fresh:
        return None
    return tx.one(
        "SELECT body_hash, request_id FROM idempotency"
        " WHERE app_id = :app_id AND idempotency_key = :key",
        app_id=app_id,
        key=key,
    )


DELIVERIES = (
    "SELECT id, lane, body, state, attempts, due_at, created_at, settled_at, note FROM outbox"
    " WHERE queue = :queue"
)


def deliveries(tx: Transaction, queue: str, limit: int) -> list[Row]:
    """Give the newest deliveries first."""
    sql = f"{DELIVERIES} ORDER BY created_at DESC, id DESC LIMIT :limit"
    return tx.query(sql, queue=queue, limit=limit)


def delivery(tx: Transaction, queue: str, delivery_id: str) -> Row | None:
    """Give one delivery."""
    return tx.one(f"{DELIVERIES} AND id = :id", queue=queue, id=delivery_id)
