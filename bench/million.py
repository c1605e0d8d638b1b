"""`python -m bench.million FILE [N]`: a database with N requests of one application.

It says how to serve it, and by which indexes the lists and the hot paths find their rows.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from bench.hot_statements import hot_statements
from bot.chat.store import link_rows
from bot.core.database import vault
from bot.core.database.database import Database, Transaction
from bot.core.database.opening import open_database
from bot.core.database.sqlite import open_sqlite
from bot.core.database.vault import Vault
from bot.interface.vocabulary import Kind, Status
from bot.service.checkouts import paying
from bot.service.checkouts.paying import PaymentForm
from bot.service.notifications import notification_rows
from bot.service.payments import payment_rows
from bot.service.payments.settling import PaymentContext
from bot.service.rails.exchange_rates import SandboxExchange
from bot.service.rails.rail import Rails, SandboxRail
from bot.service.requests import applications, request_rows
from bot.service.requests.applications import Credentials
from bot.service.requests.request import PaymentRequest, Product, Receiver, Terms, Units
from bot.service.requests.request_rows import Place, new_id

MILLION = 1_000_000
SHOP = "The shop with so many requests"
NEIGHBOURS = 5
SHARE = 100
"""A neighbour has the hundredth part of the shop's requests."""

BATCH = 100_000
"""Requests or payments in one transaction."""

CACHE_KIB = 400_000
"""What SQLite keeps of a transaction in memory: it would write pages again and again."""

YEAR = 365 * 24 * 3600 * 1000
"""In ms: the requests are of the last one."""

AGES = (Status.SOLD_OUT, Status.COMPLETED, Status.EXPIRED, Status.ACTIVE, Status.SCHEDULED)
"""The states of the oldest fifth and so on: a list of one has all the newer ones in its way."""

KINDS = (Kind.NEVER, Kind.ONCE, Kind.LIMIT)
GOODS = ("Coffee for the team", "Sticker pack", 'Painting "Dawn"', "Yoga on Sunday", "Größe L")
CURRENCIES = ("USD", "EUR", "JPY", "BSV")
DELETED = 50
"""After each so many requests there is another one, which is deleted."""

PAID = 50
"""The newest donation has a payment for each so many requests of the shop."""

PAYERS = 4
"""Each payer of it pays so many times."""

CONTEXT = PaymentContext(Rails(SandboxRail()), SandboxExchange(), reservation=1)
"""How test money is paid."""

PARAMETER = re.compile(r":(\w+)")


def make(path: Path, count: int = MILLION) -> Credentials:
    """Make the database, in which nothing may be yet, with `count` requests of the shop."""
    now = time.time_ns() // 1_000_000
    with closing(open_sqlite(f"sqlite:///{path}")) as db:
        db.run(lambda tx: tx.execute(f"PRAGMA cache_size = -{CACHE_KIB}"))
        keys = Vault(vault.load_or_create_key(path.with_suffix(".key")))
        db.run(partial(vault.check_key, vault=keys))
        for number in range(NEIGHBOURS):
            made = application(db, keys, f"Neighbour {number}", now)
            _fill(db, made.app_id, count // SHARE, now)
        shop = application(db, keys, SHOP, now)
        _fill(db, shop.app_id, count, now)
        _pay(db, shop.app_id, count // PAID, now)
        db.checkpoint()
    return shop


def application(db: Database, keys: Vault, name: str, now: int) -> Credentials:
    """Create an application, a year ago."""
    return db.run(lambda tx: applications.create(tx, keys, name, now - YEAR))


def _fill(db: Database, app_id: str, count: int, now: int) -> None:
    for first in range(0, count, BATCH):
        numbers = range(first, min(first + BATCH, count))
        some = (request(number, count, app_id, now) for number in numbers)
        db.run(partial(insert, some=some, now=now))
        db.run(partial(_sell, app_id=app_id))
        while db.run(partial(request_rows.refresh_some, app_id=app_id, now=now)):
            pass


def insert(tx: Transaction, some: Iterable[PaymentRequest], now: int) -> None:
    """Insert requests, and another one that is deleted after each so many."""
    for number, each in enumerate(some):
        request_rows.insert(tx, each)
        if number % DELETED == 0:
            gone = request(1, 2, each.app_id, each.created_at)
            request_rows.insert(tx, gone)
            request_rows.delete(tx, gone.id, now)


def _sell(tx: Transaction, app_id: str) -> None:
    """Count the payments of what is sold, without writing each of them."""
    tx.execute(
        "UPDATE payment_requests AS r SET paid_count = total_units"
        f" WHERE r.app_id = :app_id AND r.deleted_at IS NULL AND {request_rows.SPENT}",
        app_id=app_id,
    )


def state_of(number: int, count: int) -> Status:
    """Return the state of the request of this number, 0 the oldest of `count`."""
    return AGES[number * len(AGES) // count]


def request(number: int, count: int, app_id: str, now: int) -> PaymentRequest:
    """Return the request of this number, 0 the oldest of `count`."""
    state = state_of(number, count)
    kind = {Status.SOLD_OUT: Kind.LIMIT, Status.COMPLETED: Kind.ONCE}.get(
        state, KINDS[number % len(KINDS)]
    )
    total = {Kind.NEVER: None, Kind.ONCE: 1, Kind.LIMIT: 10 + number % 50}[kind]
    is_gone = state in {Status.SOLD_OUT, Status.COMPLETED}
    return PaymentRequest(
        id=new_id(now - YEAR + YEAR * number // count),
        app_id=app_id,
        created_at=now - YEAR + YEAR * number // count,
        terms=terms(number, kind),
        units=None if total is None else Units(total, 0 if is_gone else total),
        enabled_at=now + 10 * YEAR if state is Status.SCHEDULED else None,
        expires_at=now - 1 if state is Status.EXPIRED else None,
    )


def terms(number: int, kind: Kind) -> Terms:
    """Return the terms of the request of this number."""
    shares = [Receiver(f"seller{number % 7}", 100 + number % 5_000)]
    return Terms(
        kind=kind,
        product=Product(f"{GOODS[number % len(GOODS)]} {number}", "As good as the last one"),
        receivers=tuple(shares * (1 + number % 2)),
        instrument=CURRENCIES[number % len(CURRENCIES)],
        requested_user_data=("email",),
        redirect_url="https://shop.example/thanks",
    )


def _pay(db: Database, app_id: str, count: int, now: int) -> None:
    """Pay the newest open donation so often."""
    paid = PaymentRequest(new_id(now), app_id, now, terms(0, Kind.NEVER))
    db.run(partial(request_rows.insert, request=paid))
    for first in range(0, count, BATCH):
        numbers = range(first, min(first + BATCH, count))
        db.run(partial(_pay_some, request_id=paid.id, numbers=numbers, now=now))


def _pay_some(tx: Transaction, request_id: str, numbers: Iterable[int], now: int) -> None:
    for number in numbers:
        email = f"payer{number // PAYERS}@example.org"
        form = PaymentForm(request_id, new_id(now), {"email": email})
        paying.pay(tx, CONTEXT, form, now + number)


def statements() -> Iterator[tuple[str, str]]:
    """Return the name and the SQL of each statement that the lists run."""
    there = Place(0, "")
    for after, where in ((None, ""), (there, ", after a place")):
        yield f"payment requests{where}", request_rows.page_sql(after, None)
        for status in Status:
            yield f"payment requests, {status}{where}", request_rows.page_sql(after, status)
        yield f"payments{where}", payment_rows.page_sql(after)
        for request_id, whose in ((None, ""), ("", " of a request")):
            wanted = notification_rows.NotificationFilter("", request_id, None, after)
            yield f"deliveries{whose}{where}", wanted.sql(notification_rows.EDGE)
    yield "whether stages are outdated", request_rows.has_outdated_status(1)
    yield "stages, brought up to date", request_rows.has_outdated_status(request_rows.MANY)
    yield "payers", payment_rows.PAYERS
    yield "a seller's requests", link_rows.PAGE
    yield "how many they are", link_rows.COUNT
    yield "a seller's search", link_rows.SEARCH_LIVE


def plan(tx: Transaction, sql: str) -> list[str]:
    """Return the database's plan of a statement, a line a step."""
    params = dict.fromkeys(PARAMETER.findall(sql), "")
    return [row["detail"] for row in tx.query(f"EXPLAIN QUERY PLAN {sql}", **params)]


def make_named(module: str, about: str | None, script: Callable[[Path, int], Credentials]) -> Path:
    """Make the database that the command line names, and say how it is served."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=about)
    parser.add_argument("file", type=Path, help="where to make it; nothing may be there yet")
    parser.add_argument("number", type=int, nargs="?", default=MILLION, metavar="N")
    given = parser.parse_args()
    if given.file.exists():
        parser.error(f"{given.file} is there already: name a new file")
    if given.number < 1:
        parser.error(f"N is 1 or more, not {given.number}")
    path: Path = given.file
    shop = script(path, given.number)
    print(f"DATABASE_URL=sqlite:///{path} python -m bot service")
    print(f"APP_ID={shop.app_id}\nAPP_SECRET={shop.app_secret}")
    return path


def main() -> None:
    """Make the database, say how it is served and print the plans."""
    path = make_named("bench.million", __doc__, make)
    with closing(open_database(f"sqlite:///{path}")) as db:
        for name, sql in (*statements(), *hot_statements()):
            steps = db.run(partial(plan, sql=sql))
            print("\n    ".join([f"\n{name}:", *steps]))


if __name__ == "__main__":
    main()
