"""Tables of a PostgreSQL database with so many rows that the planner prefers their indexes."""

from __future__ import annotations

import psycopg

ROWS = 10_000
TABLES = (
    "apps", "audit", "checkouts", "deliveries", "lanes", "listings", "outbox", "payment_requests",
    "payments", "received_payments",
)  # fmt: skip

NEW, SHARED, MANY = "'k' || g", "'v' || g % 50", "'v' || g % (g / 10 + 1)"
"""Texts that occur once, hundreds of times, and a few times."""

VALUES = {
    ("outbox", "state"): "CASE WHEN g % 100 > 0 THEN 'done'"
    " ELSE (ARRAY['waiting', 'leased', 'dead', 'joined'])[1 + g / 100 % 4] END",
    (
        "payment_requests",
        "stage",
    ): "(ARRAY['active', 'expired', 'scheduled', 'soldOut'])[1 + g % 4]",
    ("payment_requests", "app_id"): "'v'",
    ("payment_requests", "remaining_units"): "CASE g % 4 WHEN 3 THEN 0 ELSE g END",
    ("payment_requests", "reserved_units"): "0",
    ("payment_requests", "deleted_at"): "NULL",
    ("payment_requests", "expires_at"): "CASE g % 2 WHEN 0 THEN g END",
    ("checkouts", "state"): "CASE g % 100 WHEN 0 THEN 'open' ELSE 'paid' END",
    ("received_payments", "received_at"): "g / 100",
}
OF_FEW = {"request_id", "listing_id", "payment_id", "checkout_id"}

REFERENCES = "SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE contype = 'f'"
COLUMNS = """
    SELECT column_name, data_type, EXISTS (
        SELECT 1 FROM pg_index i
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
        WHERE i.indisunique AND i.indrelid::regclass::text = table_name AND attname = column_name
    ) FROM information_schema.columns
    WHERE table_name = '{}' AND table_schema = current_schema() AND is_identity = 'NO'
"""


def fill(url: str) -> None:
    """Fill the tables with rows that refer to nothing, and count them for the planner."""
    with psycopg.connect(url, autocommit=True) as server:
        for table, name in server.execute(REFERENCES).fetchall():
            server.execute(f'ALTER TABLE {table} DROP CONSTRAINT "{name}"'.encode())
        for table in TABLES:
            columns = server.execute(COLUMNS.format(table).encode()).fetchall()
            values = [_value(table, *column) for column in columns]
            server.execute(
                f"INSERT INTO {table} ({', '.join(name for name, _, _ in columns)})"
                f" SELECT {', '.join(values)} FROM generate_series(1, {ROWS}) g".encode()
            )
        server.execute("ANALYZE")


def _value(table: str, column: str, kind: str, is_unique: bool) -> str:  # noqa: FBT001 - of a row
    if (table, column) in VALUES:
        return VALUES[table, column]
    if kind != "text":
        return "g % 50" if column == "seller_id" else "g"
    return NEW if is_unique else MANY if column in OF_FEW else SHARED
