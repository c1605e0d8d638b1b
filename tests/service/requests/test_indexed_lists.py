"""Lists among very many requests: every page is read from an index and is exact."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import closing
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from bench import million
from bot.core.database.database import Database, Transaction
from bot.core.database.opening import open_database
from bot.core.database.vault import Vault
from bot.interface.vocabulary import Status
from bot.service.goods import fulfillment
from bot.service.pages.app import create_app
from bot.service.payments import payment_rows
from bot.service.requests import applications, request_rows
from tests.support.databases import SQLITE, open_in
from tests.support.list_indexes import indexes_of
from tests.support.service_harness import (
    DROP,
    NOON,
    REQUESTS_PATH,
    ServiceHarness,
    client,
    headers_of,
    make_service,
    open_service,
)

ROW = """
    INSERT INTO payment_requests (
        id, app_id, created_at, name, instrument_currency, receivers, amount, requested_user_data,
        expiration_type, total_units, remaining_units, reserved_units, enabled_at, expires_at)
    VALUES (:id, :app_id, 0, 'Coffee', 'USD', '[{"destination":"alice","amount":500}]', 500, '[]',
        :kind, :total, :remaining, :reserved, :enabled_at, :expires_at)
"""
TIMES = (None, NOON - 1, NOON, NOON + 1)


def insert_every_combination(tx: Transaction, app_id: str) -> int:
    """Insert a request of each kind, state and time; return how many."""
    kinds = (("never", None), ("onPaymentCompleted", 1), ("limit", 2))
    rows = list(product(kinds, (0, 1), (0, 1), TIMES, TIMES))
    for number, ((kind, total), remaining, reserved, enabled_at, expires_at) in enumerate(rows):
        tx.execute(
            ROW,
            id=f"r{number:04d}",
            app_id=app_id,
            kind=kind,
            total=total,
            remaining=None if total is None else remaining,
            reserved=reserved,
            enabled_at=enabled_at,
            expires_at=expires_at,
        )
    return len(rows)


BESIDE = {
    "checkouts_open",
    "checkouts_waiting",
    "sqlite_autoindex_apps_1",
    "sqlite_autoindex_takings_1",
    "sqlite_autoindex_payment_requests_1",
    "sqlite_autoindex_recipients_1",
    "sqlite_autoindex_outbox_1",
    "received_payments_listing",
    "sqlite_autoindex_offered_rails_1",
    "payout_accounts_way",
}
"""What belongs to a row that was found."""


@pytest.mark.only(SQLITE, "its query plans; PostgreSQL's are in test_query_plans.py")
@pytest.mark.parametrize("name", dict(million.statements()))
def test_each_list_is_found_by_its_index(db: Database, name: str) -> None:
    """No statement scans or sorts all rows, which would cost more the more there are.

    The ways in which stages become outdated are scanned, of which each has few rows by then.
    """
    steps = db.run(partial(million.plan, sql=dict(million.statements())[name]))
    whole = [step for step in steps if step.startswith("SCAN") and not step.startswith("SCAN way")]
    assert not whole + [step for step in steps if "TEMP B-TREE" in step]
    used = [step.split(" INDEX ")[1].split()[0] for step in steps if " INDEX " in step]
    assert [index for index in used if index not in BESIDE] == indexes_of(name)


@pytest.mark.only(SQLITE, "its query plans; PostgreSQL's are in test_query_plans.py")
def test_the_middle_of_a_list_is_read_without_the_rows_before_it(db: Database) -> None:
    """The search in the index begins at the place of the page."""
    for name, sql in million.statements():
        if name.endswith("after a place"):
            first = db.run(partial(million.plan, sql=sql))
            assert any(",id)<(?,?)" in step for step in first), name


@pytest.mark.only(SQLITE, "its query plans; PostgreSQL's are in test_query_plans.py")
@pytest.mark.parametrize(
    ("sql", "units"),
    [
        (payment_rows.WITH_LAST_UNIT, "first_unit>? AND first_unit<?"),
        (fulfillment.WAITS, "first_unit>?"),
    ],
)
def test_buyers_who_wait_for_codes_are_found_by_their_units(
    db: Database, sql: str, units: str
) -> None:
    """The payments of the request wait meanwhile, so those of other units are not read."""
    steps = db.run(partial(million.plan, sql=sql))
    searches = [step for step in steps if step.startswith("SEARCH")]
    assert [step.partition("payments_units ")[2] for step in searches] == [
        f"(request_id=? AND {units})",
        "(request_id=? AND first_unit<?)",
    ]
    assert not any("SCAN" in step or "B-TREE" in step for step in steps)


async def test_every_request_is_in_one_status_list_even_if_the_clock_is_set(tmp_path: Path) -> None:
    """The lists by status agree with the requests themselves."""
    with closing(open_in(tmp_path)) as db:
        app_id = db.run(lambda tx: applications.create(tx, Vault("key"), "shop", 0)).app_id
        assert db.run(lambda tx: insert_every_combination(tx, app_id)) == 192
        for now in (NOON - 2, NOON + 2, NOON, NOON + 1, NOON - 1):
            assert await request_rows.refresh_status(db, app_id, partial(int, now)) == now
            every = await request_rows.page(db, app_id, now, limit=1000)
            for status in Status:
                listed = await request_rows.page(db, app_id, now, limit=1000, status=status)
                expected = [one.id for one in every if one.status(now) is status]
                assert expected or now != NOON
                assert [one.id for one in listed] == expected, (now, status)


async def lists_of(service: ServiceHarness, request_id: str) -> list[str]:
    """The statuses whose lists have the request."""
    answers = {
        status: (
            await service.seller.get(REQUESTS_PATH, params={"status": status, "limit": 100})
        ).json()
        for status in Status
    }
    return [
        str(status)
        for status, answer in answers.items()
        if request_id in [item["id"] for item in answer["items"]]
    ]


async def test_a_request_is_in_the_list_of_its_status_through_its_life(
    service: ServiceHarness,
) -> None:
    """The next call lists what time, an edit and a payment have changed."""
    made = await service.create(enabledAt="2027-01-15T08:01:00Z", expirationInSeconds=120, **DROP)
    request_id = made["id"]
    assert await lists_of(service, request_id) == ["scheduled"]
    service.clock.advance(60)
    assert await lists_of(service, request_id) == ["active"]
    service.clock.advance(60)
    assert await lists_of(service, request_id) == ["expired"]
    await service.edit(request_id, {"expirationInSeconds": 60})
    assert await lists_of(service, request_id) == ["active"]
    service.clock.advance(61)
    assert await lists_of(service, request_id) == ["expired"]
    await service.edit(request_id, {"expirationInSeconds": None})
    assert await lists_of(service, request_id) == ["active"]
    await service.edit(request_id, {"decreaseRemainingUnits": 2})
    assert (await service.pay(request_id)).status_code == 303
    assert await lists_of(service, request_id) == ["soldOut"]
    await service.seller.delete(f"{REQUESTS_PATH}/{request_id}")
    assert await lists_of(service, request_id) == []


async def test_a_one_off_is_completed_by_its_payment_and_reserved_before_it(
    service: ServiceHarness,
) -> None:
    """With a reserved unit the request is active until it is paid."""
    request_id = (await service.create(expirationType="onPaymentCompleted"))["id"]
    sql = "UPDATE payment_requests SET remaining_units = 0, reserved_units = 1"
    await service.db.transaction(lambda tx: tx.execute(sql))
    assert await lists_of(service, request_id) == ["active"]
    await service.db.transaction(lambda tx: tx.execute(sql.replace("= 1", "= 0")))
    assert await lists_of(service, request_id) == ["completed"]


async def test_pages_of_a_state_are_full_however_far_apart_its_requests_are(
    service: ServiceHarness,
) -> None:
    """A page has 5 items and a cursor, the last page the rest and none."""
    wanted = []
    for number in range(60):
        end = {"expirationInSeconds": 1} if number % 5 == 0 else {}
        made = await service.create(product={"name": f"Nr. {number}"}, **end)
        wanted += [made["id"]] if end else []
        service.clock.advance(0.001)
    service.clock.advance(1)
    pages: list[list[str]] = []
    query: dict[str, Any] = {"status": "expired", "limit": 5}
    while "cursor" in query or not pages:
        answer = (await service.seller.get(REQUESTS_PATH, params=query)).json()
        pages.append([item["id"] for item in answer["items"]])
        query = {**query, "cursor": answer["nextCursor"]} if "nextCursor" in answer else {}
    assert [len(page) for page in pages] == [5, 5, 2]
    assert [one for page in pages for one in page] == wanted[::-1]


async def test_a_list_without_a_limit_has_every_request(service: ServiceHarness) -> None:
    """The interface promises the whole list, also by status."""
    made = {(await service.create(expirationInSeconds=1))["id"] for _ in range(205)}
    service.clock.advance(1)
    for query in ({}, {"status": "expired"}):
        answer = (await service.seller.get(REQUESTS_PATH, params=query)).json()
        assert len(answer["items"]) == 205
        assert {item["id"] for item in answer["items"]} == made
        assert "nextCursor" not in answer


async def test_a_request_with_an_outdated_status_is_in_no_list(service: ServiceHarness) -> None:
    """A request that ends between refresh and page is in no list, rather than in a wrong one."""
    await service.create(expirationInSeconds=1)
    sql = request_rows.page_sql(None, Status.ACTIVE)
    app_id = service.credentials.app_id
    asked = {"app_id": app_id, "limit": 9, "status": Status.ACTIVE}
    assert len(await service.db.query(sql, now=NOON, **asked)) == 1
    assert await service.db.query(sql, now=NOON + 1000, **asked) == []


async def test_changes_of_status_are_stored_in_bounded_transactions_and_once(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most MANY in a transaction, because payers wait for it; then nothing is stored again."""
    monkeypatch.setattr(request_rows, "MANY", 3)
    app_id = service.credentials.app_id
    for _ in range(7):
        await service.create(expirationInSeconds=1)
    some = partial(request_rows.refresh_some, app_id=app_id, now=NOON + 1000)
    assert [len(await service.db.transaction(some)) for _ in range(4)] == [3, 3, 1, 0]


async def test_a_refresh_that_is_undone_by_another_one_ends(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process's clock may be behind: here every second reading is."""
    monkeypatch.setattr(request_rows, "MANY", 3)
    app_id = service.credentials.app_id
    for _ in range(7):
        await service.create(expirationInSeconds=1)
    told = itertools.chain([NOON + 1000], itertools.cycle([NOON + 1000, NOON + 999]))
    async with asyncio.timeout(20):
        await request_rows.refresh_status(service.db, app_id, lambda: next(told))
    assert (
        await request_rows.refresh_status(service.db, app_id, partial(int, NOON + 1000))
        == NOON + 1000
    )
    assert {row["stage"] for row in await service.rows("payment_requests")} == {"expired"}


async def test_an_item_has_the_status_of_its_list(database_url: str) -> None:
    """The list has the time of the refresh, and so does each of its items."""
    async with open_service(database_url) as service:
        await service.create(expirationInSeconds=1)
        ticks = itertools.count(NOON + 999)
        app = create_app(make_service(service.db, lambda: next(ticks)))
        async with client(app, headers_of(service.credentials)) as seller:
            answer = await seller.get(REQUESTS_PATH, params={"status": "expired", "limit": 9})
    assert [item["status"] for item in answer.json()["items"]] == ["expired"]


async def test_each_applications_status_index_is_its_own(service: ServiceHarness) -> None:
    """A refresh stores the statuses of one application."""
    await service.create(expirationInSeconds=1)
    service.clock.advance(1)
    await request_rows.refresh_status(service.db, "another", service.clock)
    assert [row["stage"] for row in await service.rows("payment_requests")] == ["active"]
    await request_rows.refresh_status(service.db, service.credentials.app_id, service.clock)
    assert [row["stage"] for row in await service.rows("payment_requests")] == ["expired"]


async def payers(service: ServiceHarness, request_id: str) -> int:
    answer = (await service.anyone.get(f"{REQUESTS_PATH}/public/stats/{request_id}")).json()
    return int(answer["uniqueUsers"])


async def test_payers_are_counted_once_each_and_also_without_their_names(
    service: ServiceHarness,
) -> None:
    """Repeated and unnamed payers are no new ones, nor are those of others; erased ones stay."""
    both = [(await service.create(requestedUserData=["email"]))["id"] for _ in range(2)]
    silent = (await service.create())["id"]
    for number, email in enumerate(("a@b.example", "c@d.example", "A@B.example")):
        await service.pay(both[0], f"{number:032}", email=email)
    await service.pay(both[1], "9" * 32, email="a@b.example")
    await service.pay(silent, "8" * 32)
    assert [await payers(service, one) for one in (*both, silent)] == [2, 1, 0]
    erase = "UPDATE payments SET payer = 'token' || id WHERE payer = 'a@b.example'"
    await service.db.transaction(lambda tx: tx.execute(erase))
    assert await payers(service, both[0]) == 2
    await service.pay(both[0], "7" * 32, email="e@f.example")
    assert await payers(service, both[0]) == 3


async def test_the_million_script_creates_the_documented_requests(tmp_path: Path) -> None:
    """A fifth in each status, the oldest sold out, one paid donation, and other applications."""
    path = tmp_path / "many.db"
    app_id = (await asyncio.to_thread(million.make, path, 500)).app_id
    with closing(open_database(f"sqlite:///{path}")) as db:
        every = await db.query("SELECT app_id, created_at, deleted_at FROM payment_requests")
        now = max(row["created_at"] for row in every)
        await request_rows.refresh_status(db, app_id, partial(int, now))
        read = partial(request_rows.page, db, app_id, now, limit=1000)
        listed = {status: await read(status=status) for status in Status}
        assert {status: len(rows) for status, rows in listed.items()} == {
            Status.SOLD_OUT: 100, Status.COMPLETED: 100, Status.EXPIRED: 100,
            Status.ACTIVE: 101, Status.SCHEDULED: 100,
        }  # fmt: skip
        assert (await read())[-100:] == listed[Status.SOLD_OUT]
        assert len({row["app_id"] for row in every}) == 1 + million.NEIGHBOURS
        assert any(row["deleted_at"] for row in every)
        assert [one.payments_count for one in listed[Status.ACTIVE] if one.payments_count] == [10]
        assert len(await db.query("SELECT id FROM payments")) == 10


async def test_pending_is_a_synonym_of_scheduled(service: ServiceHarness) -> None:
    """It is HandCash Cloud's word."""
    made = await service.create(enabledAt="2027-01-15T10:00:00Z")
    await service.create()
    for word in ("pending", "scheduled"):
        listed = (await service.seller.get(REQUESTS_PATH, params={"status": word})).json()["items"]
        assert [(one["id"], one["status"]) for one in listed] == [(made["id"], "scheduled")]
    refused = await service.seller.get(REQUESTS_PATH, params={"status": "Pending"})
    assert (refused.status_code, refused.json()["info"][0]["field"]) == (400, "status")
