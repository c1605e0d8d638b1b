"""The schema as numbered migrations, in SQL that SQLite and PostgreSQL both take.

Ids are text made by the application, times are UTC epoch milliseconds, money is
minor units of the currency beside it, JSON is text. A migration that has been
released is never changed: add the next one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from bot.core import addresses

if TYPE_CHECKING:
    from collections.abc import Callable


class Tables(Protocol):
    """What a step that needs more than SQL works with: the transaction of its migration."""

    def query(self, sql: str, **params: object) -> list[dict[str, Any]]:
        """All rows of a SELECT."""

    def execute(self, sql: str, **params: object) -> int:
        """Run a statement; the number of rows that it changed."""


Step: TypeAlias = "str | Callable[[Tables], None]"

FLOOR = (
    # Messages that must not be lost, on their way in or out (see core/outbox.py).
    """
    CREATE TABLE outbox (
        id TEXT PRIMARY KEY,
        queue TEXT NOT NULL,
        lane TEXT NOT NULL,
        priority INTEGER NOT NULL,
        body TEXT NOT NULL,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        uncertain INTEGER NOT NULL DEFAULT 0,
        due_at BIGINT NOT NULL,
        leased_until BIGINT,
        created_at BIGINT NOT NULL,
        settled_at BIGINT,
        note TEXT
    )
    """,
    "CREATE INDEX outbox_heads ON outbox (queue, lane, priority, id) WHERE state = 'waiting'",
    "CREATE INDEX outbox_due ON outbox (queue, lane, due_at) WHERE state = 'waiting'",
    "CREATE INDEX outbox_leased ON outbox (queue, lane, leased_until) WHERE state = 'leased'",
    "CREATE INDEX outbox_settled ON outbox (queue, settled_at) WHERE settled_at IS NOT NULL",
    # `open_at`: when the lane's next message may be claimed, null where none waits.
    """
    CREATE TABLE lanes (
        queue TEXT NOT NULL,
        lane TEXT NOT NULL,
        arrival_at BIGINT NOT NULL DEFAULT 0,
        held_until BIGINT NOT NULL DEFAULT 0,
        open_at BIGINT,
        priority INTEGER,
        paused TEXT,
        PRIMARY KEY (queue, lane)
    )
    """,
    "CREATE INDEX lanes_open ON lanes (queue, priority, open_at) WHERE open_at IS NOT NULL",
    # What the bot made for itself and keeps, sealed with SECRET_KEY.
    "CREATE TABLE kept_secrets (name TEXT PRIMARY KEY, sealed TEXT NOT NULL)",
)

SERVICE = (
    """
    CREATE TABLE apps (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        secret_hash TEXT NOT NULL,
        webhook_secret TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        revoked_at BIGINT
    )
    """,
    # A one-off is a request of one unit; `remaining_units` is null where any number may pay.
    """
    CREATE TABLE payment_requests (
        id TEXT PRIMARY KEY,
        app_id TEXT NOT NULL REFERENCES apps (id),
        created_at BIGINT NOT NULL,
        name TEXT NOT NULL,
        description TEXT,
        long_description TEXT,
        image_url TEXT,
        instrument_currency TEXT NOT NULL,
        denomination_currency TEXT,
        receivers TEXT NOT NULL,
        amount BIGINT NOT NULL,
        price_before_discount BIGINT,
        requested_user_data TEXT NOT NULL,
        redirect_url TEXT,
        webhook_url TEXT,
        custom_parameters TEXT,
        email TEXT,
        expiration_type TEXT NOT NULL,
        total_units BIGINT,
        remaining_units BIGINT CHECK (remaining_units >= 0),
        reserved_units BIGINT NOT NULL DEFAULT 0 CHECK (reserved_units >= 0),
        decreased_units BIGINT NOT NULL DEFAULT 0,
        paid_count BIGINT NOT NULL DEFAULT 0,
        enabled_at BIGINT,
        expires_at BIGINT,
        deleted_at BIGINT
    )
    """,
    """
    CREATE INDEX payment_requests_newest ON payment_requests (app_id, created_at, id)
    WHERE deleted_at IS NULL
    """,
    """
    CREATE TABLE checkouts (
        id TEXT PRIMARY KEY,
        request_id TEXT NOT NULL REFERENCES payment_requests (id),
        token TEXT NOT NULL,
        state TEXT NOT NULL,
        user_data TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        lapses_at BIGINT NOT NULL,
        UNIQUE (request_id, token)
    )
    """,
    "CREATE INDEX checkouts_open ON checkouts (request_id, lapses_at) WHERE state = 'open'",
    """
    CREATE TABLE payments (
        id TEXT PRIMARY KEY,
        request_id TEXT NOT NULL REFERENCES payment_requests (id),
        checkout_id TEXT NOT NULL UNIQUE REFERENCES checkouts (id),
        rail TEXT NOT NULL,
        external_id TEXT NOT NULL,
        amount BIGINT NOT NULL,
        currency TEXT NOT NULL,
        receivers TEXT NOT NULL,
        user_data TEXT NOT NULL,
        payer TEXT,
        completed_at BIGINT NOT NULL,
        UNIQUE (rail, external_id)
    )
    """,
    "CREATE INDEX payments_newest ON payments (request_id, completed_at, id)",
    "CREATE INDEX payments_payers ON payments (request_id, payer) WHERE payer IS NOT NULL",
    """
    CREATE TABLE idempotency (
        app_id TEXT NOT NULL,
        idempotency_key TEXT NOT NULL,
        body_hash TEXT NOT NULL,
        request_id TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        PRIMARY KEY (app_id, idempotency_key)
    )
    """,
    "CREATE INDEX idempotency_oldest ON idempotency (created_at)",
)

CHAT = (
    """
    CREATE TABLE sellers (
        id BIGINT PRIMARY KEY,
        language TEXT NOT NULL,
        destination TEXT,
        currency TEXT,
        greeted_at BIGINT,
        created_at BIGINT NOT NULL
    )
    """,
    """
    CREATE TABLE drafts (
        chat_id BIGINT NOT NULL,
        seller_id BIGINT NOT NULL,
        body TEXT NOT NULL,
        updated_at BIGINT NOT NULL,
        PRIMARY KEY (chat_id, seller_id)
    )
    """,
    # A request as its seller knows it: the `wish` asked for, the server's last `answer`.
    """
    CREATE TABLE listings (
        id TEXT PRIMARY KEY,
        seller_id BIGINT NOT NULL,
        chat_id BIGINT NOT NULL,
        token TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL,
        wish TEXT NOT NULL,
        request_id TEXT UNIQUE,
        answer TEXT,
        created_at BIGINT NOT NULL
    )
    """,
    "CREATE INDEX listings_newest ON listings (seller_id, created_at, id)",
    """
    CREATE TABLE received_payments (
        request_id TEXT NOT NULL,
        transaction_id TEXT NOT NULL,
        listing_id TEXT NOT NULL REFERENCES listings (id),
        amount BIGINT NOT NULL,
        currency TEXT NOT NULL,
        body TEXT NOT NULL,
        received_at BIGINT NOT NULL,
        PRIMARY KEY (request_id, transaction_id)
    )
    """,
    "CREATE INDEX received_payments_listing ON received_payments (listing_id, received_at)",
)


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
    # A lane that waits for room in its group names it in `waits_for` (see core/groups.py).
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

# Who has a message under way, told from whoever has it later; payments that no webhook told.
RELAY = (
    "ALTER TABLE outbox ADD COLUMN lease TEXT",
    "ALTER TABLE received_payments ADD COLUMN found INTEGER NOT NULL DEFAULT 0",
)

MIGRATIONS: tuple[tuple[Step, ...], ...] = ((*FLOOR, *SERVICE, *CHAT), CHECKOUTS, RELAY)
