"""The script that makes ten million payments writes them as the product does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing

import pytest

from bench import million, ten_million
from bench.hot_statements import hot_statements
from bot.core.database import sqlite
from bot.core.database.database import Database, Row, Transaction
from bot.core.database.migrations import MIGRATIONS
from bot.core.database.opening import open_database
from bot.core.outbox import outbox
from bot.service.checkouts import paying
from bot.service.checkouts.paying import PaymentForm
from bot.service.notifications import notification_rows
from bot.service.notifications.notification import Attempt
from bot.service.notifications.notification_queues import WEBHOOKS
from bot.service.requests import request_rows
from bot.service.requests.request_rows import new_id

REQUESTS = 500
MISCOUNTED = """
    SELECT r.id FROM payment_requests r LEFT JOIN (
      SELECT request_id, COUNT(*) AS number, SUM(amount) AS total, MAX(first_unit) AS last,
        MAX(payer_number) AS payers, COUNT(DISTINCT payer) AS names
      FROM payments GROUP BY request_id) AS p ON p.request_id = r.id
    WHERE r.paid_count <> COALESCE(p.number, 0) OR r.sales_count <> r.paid_count
      OR r.volume_billions * 1000000000 + r.volume_rest <> COALESCE(p.total, 0)
      OR r.raised_billions <> r.volume_billions OR r.raised_rest <> r.volume_rest
      OR p.last <> p.number OR p.payers <> p.names
      OR r.paid_count <> r.total_units - r.remaining_units
"""
NEWEST = {
    "checkouts": "request_id = :id",
    "payments": "request_id = :id",
    "deliveries": "request_id = :id",
    "outbox": "id IN (SELECT id FROM deliveries WHERE request_id = :id)",
    "delivery_attempts": "delivery_id IN (SELECT id FROM deliveries WHERE request_id = :id)",
}
"""How the rows of a request's payments are found, by table."""

PARTS = re.compile(r"SCAN (class\d|heads$|it$|CONSTANT ROW)")
"""Steps over what another step has found."""

OWN = {
    "id", "token", "checkout_id", "external_id", "payment_id", "delivery_id", "payer",
    "payer_number", "first_unit", "created_at", "opened_at", "lapses_at", "expires_at",
    "completed_at", "due_at", "settled_at", "at",
}  # fmt: skip
"""Columns that belong to one payment alone; of these only the kind of value is compared."""


@pytest.fixture(scope="module")
def sold(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Return a small database of the script."""
    path = tmp_path_factory.mktemp("sold") / "sold.db"
    ten_million.make(path, REQUESTS)
    with closing(open_database(f"sqlite:///{path}")) as db:
        yield db


def rows(db: Database, sql: str, **params: object) -> list[Row]:
    return db.run(lambda tx: tx.query(sql, **params))


def pay_and_deliver(tx: Transaction, form: PaymentForm, now: int) -> None:
    paying.pay(tx, million.CONTEXT, form, now)
    for message in outbox.claim(tx, WEBHOOKS, now, 1):
        outbox.done(tx, WEBHOOKS, message, now)
        notification_rows.add_attempt(tx, message.id, Attempt(now, 1, 200, ""))


def written(db: Database, request_id: str) -> dict[str, Row]:
    """Return the newest row of a request's payments in each table that has one."""
    found = {
        table: rows(db, f"SELECT * FROM {table} WHERE {where} ORDER BY rowid DESC LIMIT 1",
                    id=request_id)
        for table, where in NEWEST.items()
    }  # fmt: skip
    return {table: _comparable(some[0]) for table, some in found.items() if some}


def _comparable(row: Row) -> Row:
    """Return a row with the kinds of values of its OWN columns, and its JSON without them."""
    own = {name: type(row[name]) for name in OWN & row.keys() - {"payer_number"}}
    body = json.loads(row.get("body", "{}")) | {"transaction_id": "", "completed_at": 0}
    kept = {name: row[name] for name in row if name not in {*OWN, "body", "user_data"}}
    body["user_data"] = list(json.loads(row.get("user_data", "{}")))
    return {**kept, **own, "body": list(body.items())}


def test_there_are_ten_payments_for_each_request(sold: Database) -> None:
    """Neighbours have a few more; one donation has as many payments as the shop has requests."""
    numbers = "SELECT a.name, COUNT(*) AS payments, MAX(paid_count) AS most FROM payments p"
    numbers += " JOIN payment_requests r ON r.id = p.request_id JOIN apps a ON a.id = r.app_id"
    (shop,) = rows(sold, f"{numbers} WHERE a.name = :shop GROUP BY a.id", shop=million.SHOP)
    assert shop["payments"] == ten_million.PAYMENTS * REQUESTS + 1  # the product's own
    assert shop["most"] >= REQUESTS


def test_requests_count_their_payments(sold: Database) -> None:
    """Units, sums and payers' numbers agree, and every reference has its row."""
    assert rows(sold, MISCOUNTED) == []
    assert rows(sold, "PRAGMA foreign_key_check") == []
    assert rows(sold, "PRAGMA integrity_check") == [{"integrity_check": "ok"}]


def test_all_indexes_are_there_again(sold: Database) -> None:
    """They are dropped while rows are written."""
    names = "SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY name"
    with closing(sqlite.in_memory(len(MIGRATIONS))) as empty:
        assert [row["name"] for row in rows(sold, names)] == [
            name for (name,) in empty.execute(names)
        ]


def test_stages_are_stored(sold: Database) -> None:
    """The first list by status changes nothing."""
    at = rows(sold, "SELECT MAX(completed_at) AS at FROM payments")[0]["at"]
    for app in rows(sold, "SELECT id FROM apps"):
        assert rows(sold, request_rows.has_outdated_status(1), app_id=app["id"], now=at) == []


@pytest.mark.parametrize("webhook", [False, True])
def test_rows_are_like_those_of_a_payment_by_the_product(sold: Database, *, webhook: bool) -> None:
    """A new payment of the same request differs in what belongs to each payment alone."""
    request_id = rows(
        sold,
        "SELECT MAX(r.id) AS id FROM payment_requests r JOIN payments p ON p.request_id = r.id"
        " WHERE r.stage = 'active' AND (r.webhook_url IS NOT NULL) = :webhook"
        " AND EXISTS (SELECT 1 FROM payments p WHERE p.request_id = r.id)",
        webhook=webhook,
    )[0]["id"]
    copied = written(sold, request_id)
    now = rows(sold, "SELECT MAX(completed_at) AS at FROM payments")[0]["at"] + 1
    form = PaymentForm(request_id, new_id(now), {"email": "new@example.org"})
    sold.run(lambda tx: pay_and_deliver(tx, form, now))
    assert written(sold, request_id) == copied
    assert ("deliveries" in copied) is webhook
    assert rows(sold, MISCOUNTED) == []


@pytest.mark.parametrize(("name", "sql"), [*hot_statements()])
def test_hot_statements_find_their_rows_unsorted(sold: Database, name: str, sql: str) -> None:
    """Only what has the same time is sorted, and the open lanes of the few classes of messages."""
    steps = sold.run(lambda tx: million.plan(tx, sql))
    whole = [step for step in steps if step.startswith("SCAN") and not PARTS.match(step)]
    assert whole == []
    sorts = [step for step in steps if "B-TREE" in step and "RIGHT PART" not in step]
    assert name == "deliver: lanes that are open" or sorts == []
