"""Idempotency-Key: whatever changes something is done once under it, however often it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from bot.interface.vocabulary import BANK
from bot.service.requests import idempotency
from tests.support.goods import ALBUM, FILES_PATH
from tests.support.real_rails import (
    ACCOUNTS_PATH,
    ScriptedRail,
    connect,
    make_bank,
    open_real_service,
)
from tests.support.service_harness import (
    DROP,
    HOOK,
    NEW,
    REQUESTS_PATH,
    ServiceHarness,
    open_service,
    refusal_code,
    refused_fields,
)

if TYPE_CHECKING:
    import httpx


if TYPE_CHECKING:
    Make = Callable[[ServiceHarness], Awaitable["Call"]]

TABLES = (
    *("payment_requests", "checkouts", "payments", "deliveries", "outbox", "audit", "codes"),
    *("files", "file_parts", "payout_accounts", "former_deliveries"),
)
DAY = 24 * 3600
CODES = {"delivery": {"codes": ["A", "B"]}}
ACCOUNT = {"owner": "anna", "kind": BANK, "details": {"name": "Anna", "scheme": "sepa"}}


@dataclass(frozen=True)
class Call:
    """A call that changes something, and the same one with `other` content."""

    method: str
    path: str
    sent: dict[str, Any] = field(default_factory=dict)
    other: dict[str, Any] | None = None

    async def make(
        self, service: ServiceHarness, key: str | None = "k1", **headers: str
    ) -> httpx.Response:
        named = {} if key is None else {"Idempotency-Key": key}
        return await service.seller.request(
            self.method, self.path, headers=named | headers, **self.sent
        )


async def create(_service: ServiceHarness) -> Call:
    return Call("POST", REQUESTS_PATH, {"json": NEW}, {"json": NEW | {"thanks": "Bye"}})


async def create_codes(_service: ServiceHarness) -> Call:
    return Call("POST", REQUESTS_PATH, {"json": NEW | DROP | CODES}, {"json": NEW | DROP})


async def decrease(service: ServiceHarness) -> Call:
    made = await service.create(**DROP | {"totalUnits": 9})
    path = f"{REQUESTS_PATH}/{made['id']}"
    three, four = ({"json": {"decreaseRemainingUnits": units}} for units in (3, 4))
    return Call("PUT", path, three, four)


async def prolong(service: ServiceHarness) -> Call:
    made = await service.create()
    path = f"{REQUESTS_PATH}/{made['id']}"
    hour, two = ({"json": {"expirationInSeconds": 3600 * hours}} for hours in (1, 2))
    return Call("PUT", path, hour, two)


async def delete(service: ServiceHarness) -> Call:
    return Call("DELETE", f"{REQUESTS_PATH}/{(await service.create())['id']}")


async def add_codes(service: ServiceHarness) -> Call:
    made = await service.create(**NEW | DROP | CODES)
    path = f"{REQUESTS_PATH}/{made['id']}/codes"
    return Call("POST", path, {"json": {"codes": ["B", "C"]}}, {"json": {"codes": ["D"]}})


async def mark(service: ServiceHarness) -> Call:
    made = await service.create()
    paid = (await service.pay(made["id"])).headers["location"].rpartition("/")[2]
    path = f"{REQUESTS_PATH}/{made['id']}/payments/{paid}"
    return Call("PUT", path, {"json": {"sent": {}}}, {"json": {"sent": {"note": "By post"}}})


async def upload(_service: ServiceHarness) -> Call:
    sent = {"params": {"name": "album.zip"}, "content": ALBUM}
    return Call("POST", FILES_PATH, sent, sent | {"content": ALBUM + b"!"})


async def retry(service: ServiceHarness) -> Call:
    made = await service.create(notifications={"webhook": HOOK})
    await service.pay(made["id"])
    (row,) = await service.rows("deliveries")
    await service.db.transaction(lambda tx: tx.execute("UPDATE outbox SET state = 'dead'"))
    return Call("POST", f"/v3/deliveries/{row['id']}/retry")


async def open_checkout(service: ServiceHarness, scenario: str) -> str:
    made = await service.create(**DROP)
    where = (await service.pay(made["id"], manner=scenario)).headers["location"]
    return where.rpartition("/")[2]


async def confirm(service: ServiceHarness) -> Call:
    return Call("POST", f"/v3/checkouts/{await open_checkout(service, 'claimed')}/confirm")


async def reject(service: ServiceHarness) -> Call:
    return Call("POST", f"/v3/checkouts/{await open_checkout(service, 'claimed')}/reject")


async def connect_account(_service: ServiceHarness) -> Call:
    details = {"name": "Ann", "scheme": "sepa"}
    return Call("POST", ACCOUNTS_PATH, {"json": ACCOUNT}, {"json": ACCOUNT | {"details": details}})


async def remove_account(service: ServiceHarness) -> Call:
    account = (await connect(service, BANK)).json()
    return Call("DELETE", f"{ACCOUNTS_PATH}/{account['id']}")


OF_TEST_MONEY = (
    *(create, create_codes, decrease, prolong, delete, add_codes, mark, upload, retry),
    *(confirm, reject),
)
OF_REAL_MONEY = (connect_account, remove_account)
EVERY = (*OF_TEST_MONEY, *OF_REAL_MONEY)


@pytest.fixture
async def shop(database_url: str, make: Make) -> AsyncIterator[ServiceHarness]:
    """Open the service that has the call of a test."""
    opened = open_service(database_url)
    if make in OF_REAL_MONEY:
        opened = open_real_service(database_url, make_bank(), ScriptedRail())
    async with opened as it:
        yield it


def each_call(*calls: Make) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("make", calls or EVERY, ids=lambda one: one.__name__)


async def contents(service: ServiceHarness) -> list[str]:
    """Return everything that is stored, but for the keys."""
    rows = [(table, row) for table in TABLES for row in await service.rows(table)]
    return sorted(map(str, rows))


@each_call()
async def test_a_repeated_call_changes_nothing_and_gets_the_same_answer(
    shop: ServiceHarness, make: Make
) -> None:
    """Nothing of it is stored with its key, neither key nor body: at most an id or a count."""
    call, secret = await make(shop), "order-of-anna@example.org"
    first = await call.make(shop, secret)
    assert first.status_code == 200, first.text
    stored = await contents(shop)
    shop.clock.advance(60)
    again = await call.make(shop, secret)
    assert (again.status_code, again.content) == (200, first.content)
    assert await contents(shop) == stored
    (row,) = await shop.rows("idempotency")
    assert secret not in str(row)
    assert len(row["key_digest"]) == len(row["call_digest"]) == 64
    assert len(row["made"]) <= 24


@each_call()
async def test_simultaneous_calls_under_one_key_change_something_once(
    shop: ServiceHarness, make: Make
) -> None:
    call = await make(shop)
    before = await contents(shop)
    answers = await asyncio.gather(*(call.make(shop) for _ in range(4)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    after = await contents(shop)
    assert after != before
    await call.make(shop)
    assert await contents(shop) == after


@each_call()
async def test_a_key_of_another_call_is_refused_and_nothing_changes(
    shop: ServiceHarness, make: Make
) -> None:
    """Another body, another address, another method, another seller: all are other calls."""
    call = await make(shop)
    made = await shop.create()
    assert (await call.make(shop)).status_code == 200
    stored = await contents(shop)
    path = f"{REQUESTS_PATH}/{made['id']}"
    others = [
        Call("DELETE", path),
        Call("PUT", path, {"json": {"product": {"name": "Tea"}}}),
        Call("POST", REQUESTS_PATH, {"json": NEW | {"redirectUrl": "https://a.example/"}}),
        Call("POST", f"/v3/checkouts/{made['id']}/confirm"),
    ]
    if call.other is not None:
        others.append(replace(call, sent=call.other))
    for other in others:
        refused = await other.make(shop)
        assert refusal_code(refused) == (409, "idempotencyMismatch"), other
    if call.path in {REQUESTS_PATH, FILES_PATH}:
        refused = await call.make(shop, **{"Owner-Ref": "anna"})
        assert refusal_code(refused) == (409, "idempotencyMismatch")
    assert await contents(shop) == stored


@each_call()
async def test_a_key_belongs_to_its_application_and_has_1_to_255_characters(
    shop: ServiceHarness, make: Make
) -> None:
    call = await make(shop)
    before = await contents(shop)
    for key in ("", "k" * 256):
        refused = await call.make(shop, key)
        assert refusal_code(refused) == (400, "invalidBody")
        assert refused_fields(refused) == ["Idempotency-Key"]
    assert await contents(shop) == before
    theirs = {"Idempotency-Key": "k" * 255} | shop.stranger()
    await shop.seller.post(REQUESTS_PATH, json=NEW, headers=theirs)
    assert (await call.make(shop, "k" * 255)).status_code == 200


REFUSED = [
    ({"decreaseRemainingUnits": 4}, 409, "notEnoughUnits"),
    ({"decreaseRemainingUnits": 0}, 400, "invalidBody"),
    ({"notifications": {"email": "a@b.example"}}, 400, "emailUnavailable"),
]


@pytest.mark.parametrize(("body", "status", "code"), REFUSED)
async def test_a_refused_call_keeps_no_key(
    service: ServiceHarness, body: dict[str, Any], status: int, code: str
) -> None:
    """It changed nothing, and may be repeated, or put right, under the same key."""
    made = await service.create(**DROP)
    path, key = f"{REQUESTS_PATH}/{made['id']}", {"Idempotency-Key": "k1"}
    for _ in range(2):
        refused = await service.seller.put(path, json=body, headers=key)
        assert refusal_code(refused) == (status, code)
    assert await service.rows("idempotency") == []
    right = await service.seller.put(path, json={"decreaseRemainingUnits": 1}, headers=key)
    assert right.json()["remainingUnits"] == 2


async def test_a_decrease_that_timed_out_takes_its_units_once(service: ServiceHarness) -> None:
    """A repeat is answered with the request as it is now, however it is written."""
    made = await service.create(**DROP | {"totalUnits": 9})
    path, key = f"{REQUESTS_PATH}/{made['id']}", {"Idempotency-Key": "k1"}
    await service.seller.put(path, json={"decreaseRemainingUnits": 3}, headers=key)
    assert (await service.pay(made["id"])).status_code == 303
    spaced = '{ "decreaseRemainingUnits" : 3 }'
    headers = key | {"Content-Type": "application/json"}
    again = await service.seller.put(path, content=spaced, headers=headers)
    assert (again.status_code, again.json()["remainingUnits"]) == (200, 5)
    plain = await service.seller.put(path, json={"decreaseRemainingUnits": 3})
    assert plain.json()["remainingUnits"] == 2


async def test_a_key_is_forgotten_after_24_hours(service: ServiceHarness) -> None:
    call = await decrease(service)
    await call.make(service)
    service.clock.advance(DAY - 1)
    assert (await call.make(service)).json()["remainingUnits"] == 6
    service.clock.advance(1)
    assert (await call.make(service)).json()["remainingUnits"] == 3
    assert len(await service.rows("idempotency")) == 1
    service.clock.advance(DAY)
    now = service.clock()
    assert await service.db.transaction(lambda tx: idempotency.forget(tx, now, 9)) == 1
    assert await service.rows("idempotency") == []


async def test_no_work_is_known_of_a_forgotten_key(service: ServiceHarness) -> None:
    """An upload that is asked before its body must not wait for work that nobody repeats."""
    key = idempotency.CallKey.of(service.credentials.app_id, "key", "call", service.clock())
    work = partial(idempotency.once, key=key, change=str, again=str, made="file")
    await service.db.transaction(work)
    for age, made in ((idempotency.LIFETIME - 1, "file"), (idempotency.LIFETIME, None)):
        later = replace(key, now=key.now + age)
        assert await idempotency.read_made(service.db, later) == made
        assert await idempotency.is_known(service.db, later) is (made is not None)


@each_call(create, upload, connect_account)
async def test_a_repeat_whose_work_is_gone_is_not_found(shop: ServiceHarness, make: Make) -> None:
    call = await make(shop)
    made = (await call.make(shop)).json()
    if make is upload:
        await shop.db.transaction(lambda tx: tx.execute("UPDATE files SET complete = 0"))
    else:
        gone = await shop.seller.delete(f"{call.path}/{made['id']}")
        assert gone.status_code == 200
    stored = await contents(shop)
    assert refusal_code(await call.make(shop)) == (404, "notFound")
    assert await contents(shop) == stored


async def test_a_repeat_asks_no_wallet(database_url: str) -> None:
    """It is answered although the wallet would refuse it now."""
    wallet = ScriptedRail()
    async with open_real_service(database_url, wallet) as shop:
        call = replace(await connect_account(shop), sent={"json": ACCOUNT | {"kind": wallet.kind}})
        first = await call.make(shop)
        wallet.gate = asyncio.Event()
        assert (await call.make(shop)).content == first.content
        assert wallet.probes == 1


async def test_a_dry_run_keeps_no_key(real: ServiceHarness) -> None:
    key = {"Idempotency-Key": "k1"}
    tried = await real.seller.post(ACCOUNTS_PATH, json=ACCOUNT | {"dryRun": True}, headers=key)
    assert tried.status_code == 200
    assert (await real.seller.post(ACCOUNTS_PATH, json=ACCOUNT, headers=key)).status_code == 200


@each_call(create, decrease, upload, confirm)
async def test_a_call_without_a_key_stores_none(shop: ServiceHarness, make: Make) -> None:
    call = await make(shop)
    assert (await call.make(shop, None)).status_code == 200
    assert await shop.rows("idempotency") == []


async def test_the_document_names_the_key_at_each_call_that_changes_something(
    service: ServiceHarness,
) -> None:
    spec = (await service.anyone.get("/openapi.json")).json()
    keyed, changing = set(), set()
    for path, operations in spec["paths"].items():
        for method, call in operations.items():
            names = {one["name"] for one in call.get("parameters", ())}
            if "Idempotency-Key" in names:
                keyed.add((method, path))
                assert "idempotencyMismatch" in call["responses"]["409"]["description"]
                assert {"400", "404"} <= set(call["responses"])
            if method != "get" and call["security"]:
                changing.add((method, path))
    assert keyed == changing
    assert len(keyed) == 11
