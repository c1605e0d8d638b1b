"""`python -m bench.ten_million FILE [N]`: N requests of one application, with ten payments each.

The product makes the applications, each request, and one payment with its delivered webhook. All
other payments are copies of that one with their own ids, times, payers, units and amounts. They
are written without a journal and without indexes, which are created at the end.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

from bench import million
from bench.million import KINDS, MILLION, PAYERS, SHARE, SHOP, YEAR
from bot.core import stored_json
from bot.core.database import vault
from bot.core.database.database import Row, Transaction, split_amount
from bot.core.database.sqlite import open_sqlite
from bot.core.database.sqlite_writer import SqliteTransaction
from bot.core.database.vault import Vault
from bot.core.outbox import outbox
from bot.interface.vocabulary import Kind, Status
from bot.service.checkouts import paying
from bot.service.checkouts.order import quote
from bot.service.notifications import notification_rows
from bot.service.notifications.notification import Attempt
from bot.service.notifications.notification_queues import WEBHOOKS, lane_of
from bot.service.requests import request_commands, request_rows
from bot.service.requests.applications import Credentials
from bot.service.requests.request import PaymentRequest, Quote, Webhook
from bot.service.requests.request_rows import new_id

PAYMENTS = 10
"""Payments in the file for each request of the shop."""

CHUNK = 2_000
"""Requests whose payments are written by their time, one request's among the others'."""

MONTH = 30 * 24 * 3600 * 1000
"""In ms: so long it takes to sell a limited request, and so long settled deliveries are kept."""

CACHE_KIB = 5_000_000
"""What SQLite keeps in memory: the indexes of random ids, of which it writes each page once."""

HOOK = Webhook("https://shop.example/hook")
VARIED = {
    "checkouts": (
        "id", "request_id", "token", "user_data", "quote", "created_at", "opened_at", "lapses_at",
        "expires_at",
    ),
    "payments": (
        "id", "request_id", "checkout_id", "external_id", "amount", "currency", "receivers",
        "instrument_amount", "instrument_currency", "instrument_shares", "user_data", "payer",
        "payer_number", "completed_at", "first_unit",
    ),
    "deliveries": ("id", "app_id", "request_id", "payment_id", "created_at"),
    "outbox": ("id", "lane", "body", "due_at", "created_at", "settled_at"),
    "delivery_attempts": ("delivery_id", "at"),
}  # fmt: skip
"""The columns in which one payment differs from another, by table."""

COUNT = """
    UPDATE payment_requests SET paid_count = :sold, sales_count = :sold,
      volume_billions = :billions, volume_rest = :rest, raised_billions = :billions,
      raised_rest = :rest
    WHERE id = :id
"""
STORE_STAGES = f"UPDATE payment_requests AS r SET stage = {request_rows.STATUS}"
INDEXES = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
PRAGMAS = (
    "journal_mode = OFF",
    "synchronous = OFF",
    "locking_mode = EXCLUSIVE",
    f"cache_size = -{CACHE_KIB}",
)


@dataclass(frozen=True, slots=True)
class Sale:
    """A request with what its payments repeat: `sold` of them, of one unit each, until a time."""

    request: PaymentRequest
    sold: int
    until: int
    quote: str
    receivers: str
    shares: str

    def times(self, numbers: range) -> Iterator[tuple[int, int, Sale]]:
        """Yield the time of each payment of these numbers, of which the first is 0."""
        began = self.request.created_at
        for number in numbers:
            yield began + (self.until - began) * (number + 1) // (self.sold + 1), number, self


def make(path: Path, count: int = MILLION) -> Credentials:
    """Make the database, in which nothing may be yet, with `count` requests of the shop."""
    now = time.time_ns() // 1_000_000
    with closing(open_sqlite(f"sqlite:///{path}")) as db:
        keys = Vault(vault.load_or_create_key(path.with_suffix(".key")))
        db.run(partial(vault.check_key, vault=keys))
        names = [f"Neighbour {number}" for number in range(million.NEIGHBOURS)]
        neighbours = [million.application(db, keys, name, now) for name in names]
        shop = million.application(db, keys, SHOP, now)
        rows = db.run(partial(_pay_once, app_id=shop.app_id, now=now))
        db.checkpoint()
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        for pragma in PRAGMAS:
            conn.execute(f"PRAGMA {pragma}").close()
        with _one_transaction_without_indexes(conn):
            writer = _Writer(conn, rows, now)
            for made in neighbours:
                writer.fill(made.app_id, count // SHARE)
            writer.fill(shop.app_id, count, PAYMENTS * count)
            conn.execute(STORE_STAGES, {"now": now})
    with closing(open_sqlite(f"sqlite:///{path}")):
        return shop  # the product has opened it, which turns its journal on again


def _pay_once(tx: Transaction, app_id: str, now: int) -> dict[str, Row]:
    """Pay a donation, deliver its webhook, and return the row of each table that this wrote."""
    terms = replace(million.terms(0, Kind.NEVER), webhook=HOOK)
    request_rows.insert(tx, PaymentRequest(first := new_id(now), app_id, now - YEAR, terms))
    form = paying.PaymentForm(first, new_id(now), {"email": _payer(0)})
    paying.pay(tx, million.CONTEXT, form, now)
    (message,) = outbox.claim(tx, WEBHOOKS, now, 1)
    outbox.done(tx, WEBHOOKS, message, now)
    notification_rows.add_attempt(tx, message.id, Attempt(now, 1, 200, ""))
    return {table: tx.query(f"SELECT * FROM {table}")[0] for table in VARIED}


@contextmanager
def _one_transaction_without_indexes(conn: sqlite3.Connection) -> Iterator[None]:
    """Drop the indexes that can be dropped, and create them again once all rows are there."""
    conn.execute("BEGIN")
    dropped = conn.execute(INDEXES).fetchall()
    for name, _ in dropped:
        conn.execute(f"DROP INDEX {name}")
    yield
    for _, sql in dropped:
        conn.execute(sql)
    conn.execute("COMMIT")


class _Writer:
    """Writes requests, and their payments as copies of the first one."""

    def __init__(self, conn: sqlite3.Connection, rows: dict[str, Row], now: int) -> None:
        self._conn = conn
        self._now = now
        self._inserts = {table: _insertion(table, row) for table, row in rows.items()}
        self._body = json.loads(rows["outbox"]["body"])

    def fill(self, app_id: str, count: int, payments: int = 0) -> None:
        """Write `count` requests of an application, and the payments of what is sold out.

        With `payments` there are so many in all: one for each request goes to one donation, and
        the others to the open donations, in equal parts.
        """
        sold_out = sum(_sold_out(million.request(n, count, app_id, 0)) for n in range(count))
        donations = sum(_is_open_donation(n, count) for n in range(count))
        each = max(0, payments - sold_out - count) // max(1, donations)
        often = max(0, payments - sold_out - each * donations)
        paid = self._often_paid(app_id, often)
        for first in range(0, count, CHUNK):
            behind = min(first + CHUNK, count)
            made = [self._sale(number, count, app_id, each) for number in range(first, behind)]
            self._insert([one.request for one in made])
            times = [one.times(range(one.sold)) for one in made]
            times.append(paid.times(range(often * first // count, often * behind // count)))
            self._pay(sorted(chain.from_iterable(times), key=itemgetter(0, 1)))
            self._count(made)

    def _often_paid(self, app_id: str, sold: int) -> Sale:
        """Write the donation that is paid so often."""
        terms = million.terms(0, Kind.NEVER)
        began = self._now - YEAR
        paid = _sale(PaymentRequest(new_id(began), app_id, began, terms), sold, self._now)
        request_rows.insert(SqliteTransaction(self._conn), paid.request)
        self._count([paid])
        return paid

    def _sale(self, number: int, count: int, app_id: str, each: int) -> Sale:
        """Return the request of this number, every other one with a webhook, and what it sold."""
        made = million.request(number, count, app_id, self._now)
        if number % 2:
            made = replace(made, terms=replace(made.terms, webhook=HOOK))
        if _is_open_donation(number, count):
            return _sale(made, each, self._now)
        return _sale(made, _sold_out(made), min(made.created_at + MONTH, self._now))

    def _insert(self, made: list[PaymentRequest]) -> None:
        tx = SqliteTransaction(self._conn)
        million.insert(tx, made, self._now)
        for each in made:
            request_commands.record_created(tx, each)

    def _count(self, made: list[Sale]) -> None:
        for one in made:
            if one.sold:
                billions, rest = split_amount(one.sold * one.request.terms.amount)
                given = {"id": one.request.id, "sold": one.sold}
                self._conn.execute(COUNT, {**given, "billions": billions, "rest": rest})

    def _pay(self, paid: list[tuple[int, int, Sale]]) -> None:
        """Write payments, and the deliveries of those that are not yet old enough to be swept."""
        rows: dict[str, list[tuple[object, ...]]] = {table: [] for table in VARIED}
        for at, number, sale in paid:
            request, terms = sale.request, sale.request.terms
            checkout_id, payment_id, payer = new_id(at), new_id(at), _payer(number)
            user_data = f'{{"email": "{payer}"}}'
            payer_number = None if number % PAYERS else number // PAYERS + 1
            rows["checkouts"].append(
                (checkout_id, request.id, new_id(at), user_data, sale.quote, at, at, at + 1, at + 1)
            )
            rows["payments"].append((
                payment_id, request.id, checkout_id, f"sandbox-{checkout_id}", terms.amount,
                terms.currency, sale.receivers, terms.amount, terms.currency, sale.shares,
                user_data, payer, payer_number, at, number + 1,
            ))  # fmt: skip
            if terms.webhook and at > self._now - MONTH:
                notification_id = f"webhook-{outbox.new_id(at)}"
                body = self._reported(sale, payment_id, at, payer)
                rows["deliveries"].append(
                    (notification_id, request.app_id, request.id, payment_id, at)
                )
                lane = lane_of(terms.webhook.url, request.id)
                rows["outbox"].append((notification_id, lane, body, at, at, at))
                rows["delivery_attempts"].append((notification_id, at))
        for table, some in rows.items():
            self._conn.executemany(self._inserts[table], some)

    def _reported(self, sale: Sale, payment_id: str, at: int, payer: str) -> str:
        request, terms = sale.request, sale.request.terms
        body = self._body | {
            "app_id": request.app_id, "request_id": request.id, "transaction_id": payment_id,
            "amount": terms.amount, "currency": terms.currency, "completed_at": at,
            "user_data": {"email": payer},
        }  # fmt: skip
        return json.dumps(body, separators=(",", ":"))


def _insertion(table: str, row: Row) -> str:
    """Write the INSERT of a copy of a row, with parameters for what varies."""
    values = (
        "?" if name in VARIED[table] else _literal(row[name]) for name in _ordered(table, row)
    )
    names = ", ".join(_ordered(table, row))
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join(values)})"


def _ordered(table: str, row: Row) -> list[str]:
    return [*VARIED[table], *(name for name in row if name not in VARIED[table])]


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def _sale(request: PaymentRequest, sold: int, until: int) -> Sale:
    paid = quote(request.terms, None)
    receivers = request_rows.write_receivers(request.terms.receivers)
    return Sale(
        request,
        sold,
        until,
        stored_json.write(Quote, paid),
        receivers,
        stored_json.write(tuple[int, ...], paid.shares),
    )


def _sold_out(request: PaymentRequest) -> int:
    """Return how many payments took all units of a request, 0 if some remain."""
    return request.units.total if request.units and not request.units.remaining else 0


def _is_open_donation(number: int, count: int) -> bool:
    kind = KINDS[number % len(KINDS)]
    return kind is Kind.NEVER and million.state_of(number, count) is Status.ACTIVE


def _payer(number: int) -> str:
    return f"payer{number // PAYERS}@example.org"


def main() -> None:
    """Make the database, and say how it is served."""
    million.make_named("bench.ten_million", __doc__, make)


if __name__ == "__main__":
    main()
