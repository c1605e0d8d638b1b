"""Databases of earlier versions, brought up to date: nothing is lost, nothing is made up."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from bot.chat.alerts import alert_text
from bot.chat.model.wish import Wish
from bot.chat.store import listings
from bot.chat.store import received_payments as stored_payments
from bot.chat.store.received_payments import takings
from bot.core import signing
from bot.core.database.database import Database, open_database, sqlite_path
from bot.core.database.schema import migrations
from bot.core.database.vault import Vault
from bot.core.outbox import outbox
from bot.service.app import create_app
from bot.service.http.dependencies import Service
from bot.service.model.delivery import Channel, DeliveryState
from bot.service.model.request import Payment, Quote, Receiver
from bot.service.notify.webhook_delivery import Webhooks
from bot.service.store import payments
from bot.service.usecases import applications, delivery_queues
from bot.service.usecases.applications import Credentials
from bot.service.usecases.delivery_queues import WEBHOOKS, lane_of, queue_of
from tests.support.service_harness import LOOPBACK, NOON, URL, Clock, client, headers_of
from tests.support.webhook_receiver import receiving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bot.core.database.database import Transaction

VAULT = Vault("key")
LANE = lane_of("http://h.example/w", "")
REQUEST, ID = f"{7:024x}", "webhook-{:024x}"
CREDENTIALS = Credentials("f" * 24, "app secret", signing.new_secret())
STATES = {1: ("waiting", 1), 2: ("done", 1), 3: ("dead", 8)}
"""State and attempts of each old webhook, by the number of its payment."""


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/bot.db"


@pytest.fixture
def old(url: str, monkeypatch: pytest.MonkeyPatch) -> Credentials:
    """A database of the first version with an application, three payments and their webhooks."""
    with monkeypatch.context() as first:
        first.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:1])
        with closing(open_database(url)) as db:
            db.run(lambda tx: fill(tx, CREDENTIALS.app_id))
    return CREDENTIALS


@pytest.fixture
def db(old: Credentials, url: str) -> Iterator[Database]:
    """The same, brought up to date."""
    del old
    with closing(open_database(url)) as it:
        yield it


def add(tx: Transaction, table: str, **row: object) -> None:
    columns, values = ", ".join(row), ", ".join(f":{name}" for name in row)
    tx.execute(f"INSERT INTO {table} ({columns}) VALUES ({values})", **row)


def fill(tx: Transaction, app_id: str) -> None:
    add(
        tx, "apps",
        id=app_id, name="shop", created_at=NOON - 9,
        secret_hash=hashlib.sha256(CREDENTIALS.app_secret.encode()).hexdigest(),
        webhook_secret=VAULT.seal(CREDENTIALS.webhook_secret),
    )  # fmt: skip
    add(
        tx, "payment_requests",
        id=REQUEST, app_id=app_id, created_at=NOON, name="Coffee", instrument_currency="USD",
        receivers='[["alice",300],["bob",200,"tip"]]', amount=500, requested_user_data='["email"]',
        webhook_url="http://h.example/w", expiration_type="limit", total_units=9,
        remaining_units=5, reserved_units=1, paid_count=3,
    )  # fmt: skip
    add(
        tx, "checkouts",
        id=f"{90:024x}", request_id=REQUEST, token="open", state="open", user_data="{}",
        created_at=NOON, lapses_at=NOON + 900_000,
    )  # fmt: skip
    for number, (state, attempts) in STATES.items():
        pay(tx, number)
        owe(tx, app_id, number, state, attempts)
    add(tx, "lanes", queue="webhooks", lane="h.example", open_at=NOON + 300_000, priority=0)
    add(tx, "lanes", queue="updates", lane="7", open_at=None, priority=None)


def pay(tx: Transaction, number: int) -> None:
    checkout = f"{90 + number:024x}"
    add(
        tx, "checkouts",
        id=checkout, request_id=REQUEST, token=f"t{number}", state="paid",
        user_data='{"email":"p@b.example"}', created_at=NOON, lapses_at=NOON + 900_000,
    )  # fmt: skip
    add(
        tx, "payments",
        id=f"{number:024x}", request_id=REQUEST, checkout_id=checkout, rail="sandbox",
        external_id=f"x{number}", amount=500, currency="USD",
        receivers='[["alice",300],["bob",200,"tip"]]', user_data='{"email":"p@b.example"}',
        payer="p@b.example", completed_at=NOON + number,
    )  # fmt: skip


def owe(tx: Transaction, app_id: str, number: int, state: str, attempts: int) -> None:
    """The body is as the first version wrote it: it knows of nothing oversold."""
    body = {
        "appId": app_id, "url": "http://h.example/w", "requestId": REQUEST,
        "transactionId": f"{number:024x}", "customParameters": '{"order":7}',
        "userData": {"email": "p@b.example"}, "amount": 500, "currency": "USD",
        "remainingUnits": 9 - number, "completedAt": NOON + number,
    }  # fmt: skip
    waits = state == "waiting"
    add(
        tx, "outbox",
        id=ID.format(number), queue="webhooks", lane="h.example", priority=0,
        body=json.dumps(body), state=state, attempts=attempts,
        due_at=NOON + 300_000 if waits else NOON, created_at=NOON + number,
        settled_at=None if waits else NOON + 50, note=None if state == "done" else "answered 500",
    )  # fmt: skip


def everything(db: Database) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables, and the statements that made them."""

    def read(tx: Transaction) -> dict[str, list[dict[str, Any]]]:
        made = tx.query("SELECT name, sql FROM sqlite_master ORDER BY name")
        tables = [row["name"] for row in tx.query(TABLES)]
        return {"": made} | {name: tx.query(f"SELECT * FROM {name}") for name in tables}

    return db.run(read)


TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"


async def test_payments_are_carried_over_exactly(db: Database) -> None:
    """Each was paid in the currency of its price: what was asked is what was given."""
    found = await payments.read(db, REQUEST, f"{2:024x}")
    assert found == Payment(
        id=f"{2:024x}",
        request_id=REQUEST,
        amount=500,
        currency="USD",
        receivers=(Receiver("alice", 300), Receiver("bob", 200, ("tip",))),
        user_data={"email": "p@b.example"},
        completed_at=NOON + 2,
        paid=Quote(500, "USD", (300, 200)),
    )
    rows = await db.query("SELECT * FROM payments ORDER BY id")
    kept = ("checkout_id", "rail", "external_id", "payer", "state")
    assert [tuple(row[name] for name in kept) for row in rows] == [
        (f"{90 + number:024x}", "sandbox", f"x{number}", "p@b.example", "paid") for number in STATES
    ]


async def test_the_request_keeps_its_units(db: Database) -> None:
    (row,) = await db.query("SELECT * FROM payment_requests")
    units = ("total_units", "remaining_units", "reserved_units", "paid_count", "oversold_count")
    assert [row[name] for name in units] == [9, 5, 1, 3, 0]
    assert len(await db.query("SELECT id FROM checkouts WHERE state = 'open'")) == 1


async def test_webhooks_that_were_owed_before_are_deliveries(db: Database) -> None:
    """Listed, shown without attempts that nobody kept, and sent again."""
    listed = db.run(delivery_queues.every)
    assert [(one.id, one.state, one.attempts) for one in listed] == [
        (ID.format(3), DeliveryState.DEAD, 8),
        (ID.format(2), DeliveryState.DELIVERED, 1),
        (ID.format(1), DeliveryState.WAITING, 1),
    ]
    shown = db.run(lambda tx: delivery_queues.show(tx, ID.format(1)))
    assert (shown.request_id, shown.transaction_id) == (REQUEST, f"{1:024x}")
    assert (shown.channel, shown.address) == ("webhook", "http://h.example/w")
    assert (shown.created_at, shown.next_at) == (NOON + 1, NOON + 300_000)
    assert db.run(lambda tx: delivery_queues.attempts(tx, shown.id)) == []
    again = db.run(lambda tx: delivery_queues.retry(tx, ID.format(3), NOON + 99))
    assert (again.state, again.attempts, again.next_at) == ("waiting", 0, NOON + 99)


async def test_their_applications_see_them_too(old: Credentials, db: Database) -> None:
    service = Service(db=db, now=Clock(), public_url=URL)
    async with client(create_app(service), headers_of(old)) as seller:
        items = (await seller.get("/v3/deliveries")).json()["items"]
        again = await seller.post(f"/v3/deliveries/{ID.format(2)}/retry")
    assert [item["id"] for item in items] == [ID.format(number) for number in (3, 2, 1)]
    assert (again.status_code, again.json()["state"]) == (200, "waiting")


async def test_a_webhook_that_waits_is_delivered(db: Database) -> None:
    """In its endpoint's lane, which opens when it is due; lanes of other queues stay."""
    lanes = await db.query("SELECT queue, lane, open_at, priority FROM lanes ORDER BY queue")
    assert [tuple(row.values()) for row in lanes] == [
        ("updates", "7", None, None),
        ("webhooks", "http://h.example:80/w", NOON + 300_000, 0),
    ]
    assert {row["lane"] for row in await db.query("SELECT lane FROM outbox")} == {LANE}
    clock = Clock()
    clock.at = NOON + 300_000
    async with receiving() as receiver, Webhooks(db, VAULT, clock, LOOPBACK) as notifier:
        db.run(
            lambda tx: tx.execute(
                "UPDATE outbox SET body = replace(body, 'http://h.example/w', :url)",
                url=receiver.url,
            )
        )
        (message,) = db.run(lambda tx: outbox.claim(tx, WEBHOOKS, clock(), 9))
        await notifier.handle(message)
        told = json.loads(receiver.received[0].body)
    assert told["transactionId"] == f"{1:024x}"
    assert (told["remainingUnits"], told["customParameters"]) == (8, {"order": 7})
    assert db.run(lambda tx: delivery_queues.show(tx, ID.format(1))).state == "delivered"
    assert [one.status for one in db.run(lambda tx: delivery_queues.attempts(tx, message.id))] == [
        200
    ]


@pytest.mark.parametrize(
    ("url_then", "lane"),
    [("http://h.example/w", "h.example"), ("http://bot.internal/w", f"bot.internal/{REQUEST}")],
)
def test_a_webhook_that_was_under_way_comes_again(
    url: str, old: Credentials, url_then: str, lane: str
) -> None:
    """In the queue and the lane where it would be today."""
    del old
    with closing(Database(sqlite_path(url))) as then:
        then.run(
            lambda tx: tx.execute(
                "UPDATE outbox SET state = 'leased', leased_until = 1, lane = :lane,"
                " body = replace(body, 'http://h.example/w', :url) WHERE state = 'waiting'",
                lane=lane,
                url=url_then,
            )
        )
    with closing(open_database(url)) as db:
        queue = queue_of(Channel.WEBHOOK, url_then)
        db.run(lambda tx: outbox.recover(tx, queue, NOON + 300_000))
        (message,) = db.run(lambda tx: outbox.claim(tx, queue, NOON + 300_000, 9))
    assert message.lane == lane_of(url_then, REQUEST)


async def test_what_was_settled_before_is_forgotten_in_its_time(db: Database) -> None:
    assert db.run(lambda tx: delivery_queues.forget(tx, NOON + 51)) == 2
    assert [one.id for one in db.run(delivery_queues.every)] == [ID.format(1)]


async def test_credentials_of_before_are_those_of_now(old: Credentials, db: Database) -> None:
    app = await applications.authenticate(db, old.app_id, old.app_secret)
    assert (app.former_webhook_secret, app.former_until) == (None, None)
    assert VAULT.open(app.webhook_secret) == old.webhook_secret


OLD_WISH = {
    "kind": "drop", "name": "Pack", "description": None, "amount": 250, "currency": "USD",
    "units": 9, "destination": "$anna",
}  # fmt: skip
"""As a wish was written before migration 5."""


def sell(tx: Transaction) -> None:
    """A listing with payments in two currencies; one alert waits, one was given up."""
    wish = json.dumps(OLD_WISH)
    add(
        tx, "listings",
        id="abcdefghij", seller_id=7, chat_id=7, token="t", state="live", wish=wish,
        request_id=REQUEST, created_at=NOON, folded_name="pack",
    )  # fmt: skip
    add(
        tx, "listings",
        id="zyxwvutsrq", seller_id=7, chat_id=7, token="u", state="live", wish=wish,
        created_at=NOON, folded_name="pack",
    )  # fmt: skip
    for number, (amount, currency) in enumerate([(250, "USD"), (300, "EUR"), (250, "USD")] * 2):
        add(
            tx, "received_payments",
            request_id=REQUEST, transaction_id=f"t{number}", listing_id="abcdefghij",
            amount=amount, currency=currency, body="{}", received_at=NOON,
        )  # fmt: skip
    owe_alert(tx, 1, "waiting", repeated=False)
    owe_alert(tx, 2, "dead", repeated=False)
    owe_alert(tx, 3, "waiting", repeated=True)
    add(
        tx, "outbox",
        id="reply", queue="messages", lane="7", priority=0, state="waiting", due_at=NOON,
        body='{"method":"sendMessage","args":{"text":"Hello"}}', created_at=NOON,
    )  # fmt: skip


def owe_alert(tx: Transaction, number: int, state: str, *, repeated: bool) -> None:
    """The body is as earlier versions wrote it: it knows of no running total."""
    payment = {
        "listing_id": "abcdefghij", "kind": "drop", "name": "Pack", "amount": 250,
        "currency": "USD", "payer": {}, "remaining_units": 3, "total_units": 9,
        "reserved_units": 0, "oversold": False, "found": False, "repeated": repeated,
    }  # fmt: skip
    add(
        tx, "outbox",
        id=f"alert{number}", queue="messages", lane="7", priority=1, state=state, due_at=NOON,
        body=json.dumps({"payments": [payment], "language": "en"}), created_at=NOON,
    )  # fmt: skip


@pytest.fixture
def sold(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A chat's database of the fourth version, brought up to date."""
    with monkeypatch.context() as fourth:
        fourth.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:4])
        with closing(open_database(url)) as then:
            then.run(sell)
    with closing(open_database(url)) as it:
        yield it


def test_what_was_paid_is_added_up_by_currency(sold: Database) -> None:
    assert sold.run(lambda tx: takings(tx, "abcdefghij")) == [(1000, "USD"), (600, "EUR")]
    assert sold.run(lambda tx: takings(tx, "zyxwvutsrq")) == []
    assert [sold.run(lambda tx: listings.get_listing(tx, "abcdefghij")).paid_count] == [6]


def test_what_was_told_is_all_but_what_waits_or_was_given_up(sold: Database) -> None:
    """What says that it may be a repetition was told before."""
    account = sold.run(lambda tx: stored_payments.alert_counts(tx, "abcdefghij"))
    assert account is not None
    assert (account.told, account.muted, account.is_summed_up) == (4, 0, False)
    other = sold.run(lambda tx: stored_payments.alert_counts(tx, "zyxwvutsrq"))
    assert other is not None
    assert other.told == 0


def test_a_wish_of_before_is_still_read(sold: Database) -> None:
    """With nothing of what it could not wish for then, and alerts on."""
    listing = sold.run(lambda tx: listings.get_listing(tx, "abcdefghij"))
    assert listing.wish == Wish("drop", "Pack", None, 250, "USD", 9, "$anna")
    assert (listing.alerts, listing.poster_text) == ("on", None)


def test_an_alert_that_waits_is_still_told(sold: Database) -> None:
    rows = sold.run(lambda tx: tx.query("SELECT body FROM outbox WHERE id = 'alert1'"))
    call = alert_text.worded(json.loads(rows[0]["body"]))
    assert call["args"]["text"] == ("💰 <b>$2.50</b> received for <b>Pack</b>\n3 of 9 left")


async def test_every_reference_leads_somewhere(db: Database) -> None:
    assert await db.query("PRAGMA foreign_key_check") == []
    assert await db.query("PRAGMA integrity_check") == [{"integrity_check": "ok"}]


def test_to_migrate_again_changes_nothing(db: Database, url: str) -> None:
    before = everything(db)
    db.migrate()
    with closing(open_database(url)) as again:
        assert everything(again) == before == everything(db)


def test_a_database_brought_up_to_date_is_made_like_a_new_one(db: Database, tmp_path: Path) -> None:
    with closing(open_database(f"sqlite:///{tmp_path}/new.db")) as new:
        assert everything(db)[""] == everything(new)[""]


def test_a_migration_that_fails_leaves_the_database_as_it_was(
    old: Credentials, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the next start does it whole."""
    del old

    def fail(_tx: object) -> None:
        raise LookupError

    broken = (migrations.MIGRATIONS[0], (*migrations.MIGRATIONS[1], fail))
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "MIGRATIONS", broken)
        with pytest.raises(LookupError):
            open_database(url)
    with closing(open_database(url)) as db:
        assert len(db.run(delivery_queues.every)) == len(STATES)
