"""SQL of what a seller looks through: the requests that stand, page by page, and a search."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bot.chat.store import SELECT_LISTING, read_listing

if TYPE_CHECKING:
    from bot.chat.store import Listing
    from bot.core.db import Transaction

STANDING = "WHERE seller_id = :seller AND state IN ('live', 'stopped')"
NEWEST = "ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :start"
COUNT = f"SELECT COUNT(*) AS number FROM listings {STANDING}"  # noqa: S608 - our own words
PAGE = f"{SELECT_LISTING} {STANDING} {NEWEST}"
SEARCH = (
    f"{SELECT_LISTING} WHERE seller_id = :seller AND state = 'live'"
    f" AND (folded_name LIKE :part ESCAPE '!' OR id = :id) {NEWEST}"
)
PATTERN_SIGN = re.compile("[!%_]")
"""What a LIKE would not take for itself, unless `!` comes before it."""


def count(tx: Transaction, seller_id: int) -> int:
    """Count a seller's listings that stand, live or stopped."""
    row = tx.one(COUNT, seller=seller_id)
    return int(row["number"]) if row else 0


def page(tx: Transaction, seller_id: int, limit: int, start: int) -> list[Listing]:
    """Give up to `limit` of them, newest first, after the first `start`."""
    rows = tx.query(PAGE, seller=seller_id, limit=limit, start=start)
    return [read_listing(row) for row in rows]


def search(tx: Transaction, seller_id: int, text: str, limit: int, start: int) -> list[Listing]:
    """Give the same of a seller's live listings whose id `text` is, or a part of whose name."""
    folded = text.strip().casefold()
    part = PATTERN_SIGN.sub(r"!\g<0>", folded)
    rows = tx.query(SEARCH, seller=seller_id, id=folded, part=f"%{part}%", limit=limit, start=start)
    return [read_listing(row) for row in rows]
