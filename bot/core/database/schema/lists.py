"""What lists need to be as quick among a million as among a hundred."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.core.database.schema.tables import Tables

MANY = 500
"""Listings that are read at a time: a seller's could fill the memory."""


def fold_names(tx: Tables) -> None:
    """Write the names that listings are searched by, folded as SQL can't fold them."""
    last = ""
    sql = "SELECT id, wish FROM listings WHERE id > :last ORDER BY id LIMIT :many"
    while rows := tx.query(sql, last=last, many=MANY):
        for row in rows:
            tx.execute(
                "UPDATE listings SET folded_name = :name WHERE id = :id",
                id=row["id"],
                name=_name(row["wish"]).casefold(),
            )
        last = rows[-1]["id"]


def _name(wish: str) -> str:
    """Give the name in it; none in one that can't be read, which is no reason never to start."""
    try:
        return str(json.loads(wish)["name"])
    except (ValueError, TypeError, LookupError, RecursionError):
        return ""


LISTS = (
    # The state that a request was last seen in (see service/store/status_index.py). Times and units
    # say what it is; those that are no more what they were are found by the four indexes below.
    "ALTER TABLE payment_requests ADD COLUMN stage TEXT NOT NULL DEFAULT 'active'",
    """
    UPDATE payment_requests
    SET stage = CASE WHEN expiration_type = 'limit' THEN 'soldOut' ELSE 'completed' END
    WHERE remaining_units = 0 AND reserved_units = 0
    """,
    """
    CREATE INDEX payment_requests_staged ON payment_requests (app_id, stage, created_at, id)
    WHERE deleted_at IS NULL
    """,
    """
    CREATE INDEX payment_requests_spent
    ON payment_requests (app_id, remaining_units, reserved_units)
    WHERE deleted_at IS NULL AND remaining_units = 0 AND reserved_units = 0
      AND stage NOT IN ('soldOut', 'completed')
    """,
    """
    CREATE INDEX payment_requests_ending ON payment_requests (app_id, expires_at)
    WHERE deleted_at IS NULL AND stage IN ('active', 'scheduled') AND expires_at IS NOT NULL
    """,
    """
    CREATE INDEX payment_requests_ended ON payment_requests (app_id, expires_at)
    WHERE deleted_at IS NULL AND stage = 'expired'
    """,
    """
    CREATE INDEX payment_requests_starting ON payment_requests (app_id, stage, enabled_at)
    WHERE deleted_at IS NULL AND enabled_at IS NOT NULL
    """,
    # The payers of a request who said who they are, numbered with the first payment of each:
    # the highest number says how many they are, also once their names are erased.
    "ALTER TABLE payments ADD COLUMN payer_number BIGINT",
    """
    UPDATE payments SET payer_number = numbered.number
    FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY request_id ORDER BY id) AS number
          FROM (SELECT MIN(id) AS id, request_id FROM payments WHERE payer IS NOT NULL
                GROUP BY request_id, payer) AS firsts) AS numbered
    WHERE payments.id = numbered.id
    """,
    """
    CREATE INDEX payments_payer_numbers ON payments (request_id, payer_number)
    WHERE payer_number IS NOT NULL
    """,
    # What sellers look through: their standing requests page by page, and by a part of the name.
    "ALTER TABLE listings ADD COLUMN folded_name TEXT NOT NULL DEFAULT ''",
    fold_names,
    """
    CREATE INDEX listings_standing ON listings (seller_id, created_at, id)
    WHERE state IN ('live', 'stopped')
    """,
)
