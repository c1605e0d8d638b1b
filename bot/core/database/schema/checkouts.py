"""The second migration: payments as checkouts that rails settle when they will."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bot.core.net import addresses

if TYPE_CHECKING:
    from bot.core.database.schema.tables import Tables


def move_payments(tx: Tables) -> None:
    """Carry payments over; until now each was paid in the currency of its price.

    JSON is read here and not in SQL, whose functions for it differ from database to database.
    """
    for row in tx.query("SELECT * FROM payments"):
        shares = [receiver[1] for receiver in json.loads(row["receivers"])]
        tx.execute(
            "INSERT INTO payments_anew (id, request_id, checkout_id, rail, external_id, state,"
            " amount, currency, receivers, instrument_amount, instrument_currency,"
            " instrument_shares, user_data, payer, completed_at)"
            " VALUES (:id, :request_id, :checkout_id, :rail, :external_id, 'paid', :amount,"
            " :currency, :receivers, :amount, :currency, :shares, :user_data, :payer,"
            " :completed_at)",
            **row,
            shares=json.dumps(shares),
        )


def quote_checkouts(tx: Tables) -> None:
    """Write what each checkout was opened for: the price, in its own currency."""
    rows = tx.query(
        "SELECT id, receivers, amount, COALESCE(denomination_currency, instrument_currency)"
        " AS currency FROM payment_requests"
        " WHERE EXISTS (SELECT 1 FROM checkouts WHERE request_id = payment_requests.id)"
    )
    for row in rows:
        shares = [receiver[1] for receiver in json.loads(row["receivers"])]
        quote = {"amount": row["amount"], "currency": row["currency"], "shares": shares}
        tx.execute(
            "UPDATE checkouts SET quote = :quote WHERE request_id = :id",
            quote=json.dumps(quote | {"rate": None}),
            id=row["id"],
        )


def owe_deliveries(tx: Tables) -> None:
    """Write down the webhooks that were put into the outbox before there were deliveries.

    Their lanes were hosts and become endpoints; the bot's own receiver has other ones, that stay.
    """
    for row in tx.query("SELECT id, body, created_at FROM outbox WHERE queue = 'webhooks'"):
        body = json.loads(row["body"])
        tx.execute(
            "INSERT INTO deliveries (id, app_id, request_id, payment_id, channel, address,"
            " created_at) VALUES (:id, :app, :request, :payment, 'webhook', :address, :at)",
            id=row["id"],
            app=body["appId"],
            request=body["requestId"],
            payment=body["transactionId"],
            address=body["url"],
            at=row["created_at"],
        )
        endpoint = addresses.endpoint(body["url"])
        if endpoint.host != "bot.internal":
            tx.execute(
                "UPDATE outbox SET lane = :to WHERE id = :id", to=str(endpoint), id=row["id"]
            )
    # A lane that nothing names any more is dropped, one that something waits in is opened.
    tx.execute(
        "DELETE FROM lanes WHERE queue = 'webhooks' AND paused IS NULL AND NOT EXISTS"
        " (SELECT 1 FROM outbox WHERE outbox.queue = lanes.queue AND outbox.lane = lanes.lane)"
    )
    tx.execute(
        "INSERT INTO lanes (queue, lane, open_at, priority)"
        " SELECT queue, lane, MIN(due_at), MIN(priority) FROM outbox"
        " WHERE queue = 'webhooks' AND state = 'waiting' GROUP BY queue, lane"
        " ON CONFLICT DO NOTHING"
    )


# Payments as checkouts that rails settle when they will; deliveries with their attempts.
CHECKOUTS = (
    "ALTER TABLE payment_requests ADD COLUMN oversold_count BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE checkouts ADD COLUMN quote TEXT",
    quote_checkouts,
    # A checkout can bring money twice: `checkout_id` is no longer unique. `instrument_*` is what
    # the payer paid, `amount` and `receivers` what was asked, at `rate` where the two differ.
    """
    CREATE TABLE payments_anew (
        id TEXT PRIMARY KEY,
        request_id TEXT NOT NULL REFERENCES payment_requests (id),
        checkout_id TEXT NOT NULL REFERENCES checkouts (id),
        rail TEXT NOT NULL,
        external_id TEXT NOT NULL,
        state TEXT NOT NULL,
        amount BIGINT NOT NULL,
        currency TEXT NOT NULL,
        receivers TEXT NOT NULL,
        instrument_amount BIGINT NOT NULL,
        instrument_currency TEXT NOT NULL,
        instrument_shares TEXT NOT NULL,
        rate TEXT,
        rate_source TEXT,
        rated_at BIGINT,
        user_data TEXT NOT NULL,
        payer TEXT,
        completed_at BIGINT NOT NULL,
        UNIQUE (rail, external_id)
    )
    """,
    move_payments,
    "DROP TABLE payments",
    "ALTER TABLE payments_anew RENAME TO payments",
    "CREATE INDEX payments_newest ON payments (request_id, completed_at, id)",
    "CREATE INDEX payments_payers ON payments (request_id, payer) WHERE payer IS NOT NULL",
    "CREATE INDEX payments_checkout ON payments (checkout_id)",
    # What is owed of a payment, one a channel; how it stands is in the outbox under the same id.
    """
    CREATE TABLE deliveries (
        id TEXT PRIMARY KEY,
        app_id TEXT NOT NULL REFERENCES apps (id),
        request_id TEXT NOT NULL REFERENCES payment_requests (id),
        payment_id TEXT NOT NULL,
        channel TEXT NOT NULL,
        address TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        UNIQUE (payment_id, channel)
    )
    """,
    "CREATE INDEX deliveries_newest ON deliveries (app_id, created_at, id)",
    "CREATE INDEX deliveries_oldest ON deliveries (created_at, id)",
    "CREATE INDEX deliveries_request ON deliveries (request_id, created_at, id)",
    """
    CREATE TABLE delivery_attempts (
        delivery_id TEXT NOT NULL REFERENCES deliveries (id),
        number INTEGER NOT NULL,
        at BIGINT NOT NULL,
        took BIGINT NOT NULL,
        status INTEGER,
        answer TEXT,
        trouble TEXT,
        PRIMARY KEY (delivery_id, number)
    )
    """,
    owe_deliveries,
    # After a rotation the former secret signs beside the new one until `former_until`.
    "ALTER TABLE apps ADD COLUMN former_webhook_secret TEXT",
    "ALTER TABLE apps ADD COLUMN former_until BIGINT",
    # A lane that waits for room in its group names it in `waits_for` (see core/outbox/groups.py).
    "ALTER TABLE lanes ADD COLUMN waits_for TEXT",
    "DROP INDEX lanes_open",
    """
    CREATE INDEX lanes_open ON lanes (queue, priority, open_at)
    WHERE open_at IS NOT NULL AND paused IS NULL AND waits_for IS NULL
    """,
    """
    CREATE INDEX lanes_waiting ON lanes (queue, waits_for, priority, open_at)
    WHERE waits_for IS NOT NULL
    """,
    "ALTER TABLE received_payments ADD COLUMN oversold INTEGER NOT NULL DEFAULT 0",
)
