"""What sellers do with requests: where they are shown, what they took, how they are told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.core.database.schema.tables import Tables


def count_told(tx: Tables) -> None:
    """Write down of how many payments each listing's seller was told: all, but what waits."""
    tx.execute(
        "UPDATE listings SET told_count ="
        " (SELECT COALESCE(SUM(payments), 0) FROM takings WHERE listing_id = listings.id)"
    )
    rows = tx.query("SELECT body FROM outbox WHERE queue = 'messages' AND state <> 'done'")
    for row in rows:
        for payment in json.loads(row["body"]).get("payments", []):
            if payment.get("repeated"):  # it was told before
                continue
            tx.execute(
                "UPDATE listings SET told_count = told_count - 1 WHERE id = :id AND told_count > 0",
                id=payment["listing_id"],
            )


REQUESTS = (
    # Minutes of the day in the seller's `zone`: `quiet` from-to, `summary` the daily one, whose
    # next time is `summary_at`. `prices` are the last ones, as JSON.
    "ALTER TABLE sellers ADD COLUMN zone TEXT",
    "ALTER TABLE sellers ADD COLUMN prices TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE sellers ADD COLUMN quiet TEXT",
    "ALTER TABLE sellers ADD COLUMN summary INTEGER",
    "ALTER TABLE sellers ADD COLUMN summary_at BIGINT",
    "CREATE INDEX sellers_summary ON sellers (summary_at) WHERE summary_at IS NOT NULL",
    # What a listing took, added up: alerts and cards say it each time. The amounts follow in SUMS.
    """
    CREATE TABLE takings (
        listing_id TEXT NOT NULL REFERENCES listings (id),
        currency TEXT NOT NULL,
        amount BIGINT NOT NULL,
        payments BIGINT NOT NULL,
        PRIMARY KEY (listing_id, currency)
    )
    """,
    """
    INSERT INTO takings (listing_id, currency, amount, payments)
    SELECT listing_id, currency, 0, COUNT(*) FROM received_payments
    GROUP BY listing_id, currency
    """,
    # `due_at`: when its cards change by time alone. `told_count`: payments whose alert was
    # delivered, `muted_count` those that came while alerts were off, `summed_up` whether the line
    # at the end of a drop was said. `file_id`: the picture that Telegram has of it, which shows
    # `file_key`.
    "ALTER TABLE listings ADD COLUMN alerts TEXT NOT NULL DEFAULT 'on'",
    "ALTER TABLE listings ADD COLUMN poster_text TEXT",
    "ALTER TABLE listings ADD COLUMN due_at BIGINT",
    "ALTER TABLE listings ADD COLUMN told_count BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE listings ADD COLUMN muted_count BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE listings ADD COLUMN summed_up INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE listings ADD COLUMN file_id TEXT",
    "ALTER TABLE listings ADD COLUMN file_key TEXT",
    "CREATE INDEX listings_due ON listings (due_at) WHERE due_at IS NOT NULL",
    "CREATE INDEX outbox_dead_lane ON outbox (queue, lane, id) WHERE state = 'dead'",
    count_told,
    # Where a request is shown. `own`: 1 in its seller's chat, 2 in that of somebody who followed
    # its link, 0 in a message posted inline, whose lane says its id and whose message_id is 0.
    # `picture` and `shown` say what it shows, `waiting` which message of the outbox is to change
    # it.
    """
    CREATE TABLE posts (
        id TEXT PRIMARY KEY,
        listing_id TEXT NOT NULL REFERENCES listings (id),
        lane TEXT NOT NULL,
        message_id BIGINT NOT NULL,
        own INTEGER NOT NULL,
        picture TEXT,
        shown TEXT,
        waiting TEXT,
        created_at BIGINT NOT NULL,
        UNIQUE (lane, message_id)
    )
    """,
    "CREATE INDEX posts_listing ON posts (listing_id, own, lane)",
    # What messages with buttons say, by key, so that a second tap changes none into itself.
    """
    CREATE TABLE said (
        lane TEXT NOT NULL,
        message_id BIGINT NOT NULL,
        words TEXT NOT NULL,
        said_at BIGINT NOT NULL,
        PRIMARY KEY (lane, message_id)
    )
    """,
    "CREATE INDEX said_oldest ON said (said_at)",
    # Sellers' pictures, JPEG; `kept` once a request has it, else it goes with its draft.
    """
    CREATE TABLE images (
        id TEXT PRIMARY KEY,
        seller_id BIGINT NOT NULL,
        data BYTEA NOT NULL,
        kept INTEGER NOT NULL DEFAULT 0,
        created_at BIGINT NOT NULL
    )
    """,
    "CREATE INDEX images_loose ON images (created_at) WHERE kept = 0",
)
