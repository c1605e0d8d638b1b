"""SQL of sellers' pictures, stored as they are served: checked, reduced JPEGs."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from bot.chat.store import link_rows
from bot.core.database import database

ID_BYTES = 12

UNUSED = (
    "kept = 0 AND NOT EXISTS (SELECT 1 FROM drafts WHERE drafts.seller_id = images.seller_id"
    " AND drafts.body LIKE '%' || images.id || '%')"
)

RELEASE = (
    "UPDATE images SET kept = 0 WHERE id = :id AND NOT EXISTS (SELECT 1 FROM listings"
    " WHERE listings.seller_id = images.seller_id AND listings.state <> :deleted"
    " AND wish LIKE '%' || images.id || '%')"
)
DELETE = f"DELETE FROM images WHERE id = :id AND {UNUSED}"  # noqa: S608 - our own words
SWEEP = f"DELETE FROM images WHERE created_at < :before AND {UNUSED}"  # noqa: S608 - our own words

UNUSED_FOR = 30 * 24 * 3600 * 1000
"""Milliseconds that an unused picture is kept; a draft's picture is kept with the draft."""


def add_image(tx: database.Transaction, seller_id: int, data: bytes, now: int) -> str:
    """Store a picture; return its unguessable id. Anyone who knows the id can fetch it."""
    image_id = secrets.token_hex(ID_BYTES)
    sql = "INSERT INTO images (id, seller_id, data, created_at) VALUES (:id, :seller, :data, :now)"
    tx.execute(sql, id=image_id, seller=seller_id, data=data, now=now)
    return image_id


async def image_data(db: database.Database, image_id: str) -> bytes | None:
    """Return a picture, or None; does not use the writer."""
    rows = await db.query("SELECT data FROM images WHERE id = :id", id=image_id)
    return bytes(rows[0]["data"]) if rows else None


def keep_image(tx: database.Transaction, image_id: str, seller_id: int) -> bool:
    """Mark a picture as used by a request; return False if this seller has no such picture."""
    sql = "UPDATE images SET kept = 1 WHERE id = :id AND seller_id = :seller"
    return bool(tx.execute(sql, id=image_id, seller=seller_id))


def release_image(tx: database.Transaction, image_id: str) -> None:
    """Mark a picture as unused, unless another request of its seller still uses it."""
    tx.execute(RELEASE, id=image_id, deleted=link_rows.DELETED)


def delete_unused(tx: database.Transaction, image_ids: Iterable[str | None]) -> None:
    """Delete the given pictures, except those used by a request or a draft."""
    for image_id in filter(None, image_ids):
        tx.execute(DELETE, id=image_id)


def sweep_images(tx: database.Transaction, before: int) -> int:
    """Delete pictures older than `before` (epoch ms) that neither a request nor a draft uses."""
    return tx.execute(SWEEP, before=before)
