"""PostgreSQL's plans of the statements that must not read whole tables, for any parameters.

SQLite's plans are beside the statements' other tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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
from tests.support.many_rows import TABLES, fill

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
