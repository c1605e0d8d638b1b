"""PostgreSQL's plans of the statements that must not read whole tables, for any parameters.

SQLite's plans are beside the statements' other tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import psycopg
import pytest

from bench import million
from bench.engines import plan
from bot.chat.store import payment_marks, payment_rows
from bot.core.outbox import claiming, lanes, queries
from bot.service.checkouts import checkout_rows
from bot.service.goods import fulfillment
from bot.service.notifications import recipients
from bot.service.payments import payment_rows as payments
from tests.support.databases import PostgresDatabases
from tests.support.list_indexes import indexes_of

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


READ_WHOLE = re.compile(r"Seq Scan on (\w+)")
USED = re.compile(r"(?:Index (?:Only )?Scan(?: Backward)? using|Bitmap Index Scan on) (\w+)")

OTHER = {"a seller's search": ["listings_standing"]}
"""Where PostgreSQL takes another index than SQLite: the smaller one, of links that still stand."""

STATEMENTS = [
    (payment_marks.BY_KEY, ["received_payments_listing"]),
    (payment_marks.BY_SHORT_KEY, ["received_payments_short"]),
    (payment_marks.WHOLE, ["received_payments_number"]),
    (payment_marks.BEGINNING, ["received_payments_number"]),
    (payment_marks.END, ["received_payments_number_reversed"]),
    (payment_marks.PAYMENTS, ["received_payments_listing"]),
    (payment_rows.FREE_PLACEHOLDERS, ["received_payments_pkey"] * 2),
    (lanes.select_open("open_at"), ["lanes_open"]),
    (lanes.select_open("rank"), ["lanes_ranked"]),
    (claiming.CLOSE_LANES, ["lanes_pkey", "outbox_leased"]),
    (claiming.CLAIM_BATCH, ["outbox_pkey", "outbox_due", "outbox_leased"]),
    (checkout_rows.HELD, ["checkouts_site"]),
    (checkout_rows.BY_PAYER, ["checkouts_held"]),
    (checkout_rows.UNPROVEN, ["checkouts_pkey", "checkouts_claimed"]),
    (payments.WITH_LAST_UNIT, ["payments_units"]),
    (fulfillment.WAITS, ["payments_units"]),
    (recipients.STRANDED, ["outbox_joined"]),
    (queries.COUNT_WAITING, ["outbox_due"]),
    (queries.NEAR, ["outbox_heads"] * 2),
    (queries.select_counts("leased"), ["outbox_leased"]),
    (queries.select_counts("dead"), ["outbox_dead_lane"]),
    ("SELECT id FROM audit ORDER BY id DESC LIMIT 5", ["audit_pkey"]),
    ("SELECT id FROM audit WHERE subject = 's' ORDER BY id DESC LIMIT 5", ["audit_subject"]),
    ("SELECT id FROM audit WHERE id < '0' ORDER BY id LIMIT 5", ["audit_pkey"]),
    *((sql, OTHER.get(name) or indexes_of(name)) for name, sql in million.statements()),
]


@pytest.fixture(scope="module")
def many(postgres: PostgresDatabases) -> Iterator[str]:
    """Return the address of a database whose tables have many rows."""
    url = postgres.new()
    fill(url)
    yield url
    postgres.drop(url)


@pytest.mark.long
@pytest.mark.parametrize(("sql", "indexes"), STATEMENTS)
def test_a_statement_finds_its_rows_by_an_index(many: str, sql: str, indexes: list[str]) -> None:
    steps = "\n".join(plan(many, sql))
    assert not {*TABLES}.intersection(READ_WHOLE.findall(steps)), steps
    assert {*indexes} <= {*USED.findall(steps)}, steps


@pytest.mark.parametrize(
    "sql", [lanes.NEXT_DUE, lanes.REOPEN_PLAIN, claiming.DUE, claiming.CLAIM_BATCH]
)
def test_the_next_message_of_a_lane_without_order_is_found_unsorted(many: str, sql: str) -> None:
    """A host that answers nothing for hours has thousands: each new one would sort them all."""
    steps = "\n".join(plan(many, sql))
    assert "using outbox_due" in steps
    assert "Sort" not in steps
