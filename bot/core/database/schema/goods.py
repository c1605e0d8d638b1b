"""Tables of what payers get after payment; they refer to those of service.py."""

GOODS = (
    # Files that payers get, in parts of 256 KiB. `complete`: 0 while one is uploaded, and again
    # while it is deleted; `expires_at` is when it is deleted, null while a request or a receipt
    # needs it.
    """
    CREATE TABLE files (
        id TEXT PRIMARY KEY,
        app_id TEXT NOT NULL REFERENCES apps (id),
        owner TEXT NOT NULL DEFAULT '',
        name TEXT NOT NULL,
        media_type TEXT NOT NULL,
        size BIGINT NOT NULL,
        complete INTEGER NOT NULL DEFAULT 0,
        expires_at BIGINT,
        created_at BIGINT NOT NULL
    )
    """,
    "CREATE INDEX files_owner ON files (app_id, owner)",
    "CREATE INDEX files_loose ON files (expires_at) WHERE expires_at IS NOT NULL",
    """
    CREATE TABLE file_parts (
        file_id TEXT NOT NULL REFERENCES files (id),
        place INTEGER NOT NULL,
        data BYTEA NOT NULL,
        PRIMARY KEY (file_id, place)
    )
    """,
    # What a request delivered before an edit changed it, to the units up to number `last_unit`;
    # null where it delivered nothing. A text or a file that was corrected has no row.
    """
    CREATE TABLE former_deliveries (
        request_id TEXT NOT NULL REFERENCES payment_requests (id),
        last_unit BIGINT NOT NULL,
        delivery TEXT,
        delivery_text TEXT,
        delivery_file TEXT,
        PRIMARY KEY (request_id, last_unit)
    )
    """,
    """
    CREATE INDEX former_deliveries_file ON former_deliveries (delivery_file)
    WHERE delivery_file IS NOT NULL
    """,
    # The code of a request's unit number n is the one at place n.
    """
    CREATE TABLE codes (
        request_id TEXT NOT NULL REFERENCES payment_requests (id),
        place BIGINT NOT NULL,
        code TEXT NOT NULL,
        PRIMARY KEY (request_id, place),
        UNIQUE (request_id, code)
    )
    """,
    """
    CREATE INDEX payment_requests_file ON payment_requests (delivery_file)
    WHERE delivery_file IS NOT NULL
    """,
    """
    CREATE INDEX payment_requests_codes ON payment_requests (app_id, owner)
    WHERE codes_count > 0
    """,
)
