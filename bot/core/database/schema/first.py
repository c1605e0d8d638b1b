"""The first migration: the outbox, the service's tables, the chat's."""

FLOOR = (
    # Messages that must not be lost, on their way in or out (see core/outbox/outbox.py).
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
