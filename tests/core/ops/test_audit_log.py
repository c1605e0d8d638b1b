"""The audit log: who changed what and when, in the transaction of the change, without secrets."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pydantic.alias_generators import to_camel

from bot import config
from bot.app.application import sweep
from bot.app.resources import SharedResources
from bot.app.service_side import NOTIFICATIONS_KEPT, ServiceSide
from bot.chat.store.link_rows import LIVE, STOPPED
from bot.cli.commands import main
from bot.core.database.database import Database, Transaction
from bot.core.database.vault import Vault
from bot.core.ops import audit
from bot.core.ops.audit import Line
from bot.interface.bodies import EditBody
from bot.service.notifications import notification_queues
from bot.service.notifications.notification_queues import WEBHOOKS
from bot.service.requests import applications
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer
from tests.support.databases import SQLITE
from tests.support.machine_faults import locked
from tests.support.service_harness import DROP, NOON, REQUESTS_PATH, Clock, ServiceHarness


def lines(db: Database, limit: int = 100, subject: str | None = None) -> list[Line]:
    return db.run(lambda tx: audit.read(tx, limit, subject))


def record(
    db: Database, details: dict[str, Any] | None = None, subject: str = "s", at: int = NOON
) -> None:
    db.run(lambda tx: audit.record(tx, audit.SYSTEM, "thing.done", subject, at, details or {}))


def told(db: Database) -> list[tuple[str, str, str, dict[str, Any]]]:
    """Return actor, action and subject, oldest first, without the test's own application."""
    return [
        (line.actor, line.action, line.subject, line.details)
        for line in reversed(lines(db))
        if line.action != "app.created"
    ]


def test_lines_are_read_newest_first_all_or_of_one_subject(db: Database) -> None:
    for number in range(3):
        record(db, {"number": number}, f"s{number % 2}", NOON + number)
    assert [line.details["number"] for line in lines(db)] == [2, 1, 0]
    assert [line.details["number"] for line in lines(db, 2)] == [2, 1]
    assert [line.at for line in lines(db, subject="s0")] == [NOON + 2, NOON]


def test_a_line_is_rolled_back_with_its_change(db: Database) -> None:
    def change(tx: Transaction) -> None:
        audit.record(tx, audit.SYSTEM, "thing.done", "s", NOON, {})
        raise LookupError

    with pytest.raises(LookupError):
        db.run(change)
    assert lines(db) == []


def test_a_line_is_limited_and_harmless_to_terminals(db: Database) -> None:
    """Whatever people typed, at any length."""
    odd = "a\x1b[31m\u202eb\nc\ud800"
    record(db, {"long": "x" * 9999, "many": ["y" * 999] * 99, "odd": odd}, "i" * 999)
    record(db, {f"n{number}": number for number in range(99)} | {"deep": {"a": "z" * 999}})
    few, one = lines(db)
    assert len(few.details) == audit.MOST_VALUES
    assert len(one.subject) == audit.LONGEST_NAME
    assert one.details["long"] == "x" * audit.LONGEST_TEXT
    assert one.details["many"] == ["y" * audit.LONGEST_TEXT] * audit.MOST_VALUES
    assert one.details["odd"] == "a�[31m�b c�"


def test_values_come_back_as_they_were(db: Database) -> None:
    details = {"none": None, "yes": True, "number": -7, "text": "Grüße", "pair": [None, "b"]}
    record(db, details)
    assert lines(db)[0].details == details


def test_old_lines_are_deleted_in_batches_and_newer_ones_stay(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "SWEPT", 2)
    for number in range(5):
        record(db, at=NOON + number)
    dropped = [db.run(lambda tx: audit.forget(tx, NOON + 3)) for _ in range(3)]
    assert (dropped, [line.at for line in lines(db)]) == ([2, 1, 0], [NOON + 4, NOON + 3])


@pytest.mark.only(SQLITE, "its query plans; PostgreSQL's are in test_query_plans.py")
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM audit ORDER BY id DESC LIMIT 5",
        "SELECT * FROM audit WHERE subject = 's' ORDER BY id DESC LIMIT 5",
        "SELECT id FROM audit WHERE id < '0' ORDER BY id LIMIT 5",
    ],
)
def test_reading_the_log_neither_sorts_nor_scans_it(db: Database, sql: str) -> None:
    plan = db.run(lambda tx: tx.query(f"EXPLAIN QUERY PLAN {sql}"))
    (step,) = [row["detail"] for row in plan]
    assert "USING" in step
    assert "INDEX" in step


def test_the_operator_is_the_systems_user_by_name_or_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert audit.operator().startswith("operator ")
    monkeypatch.setattr(os, "getuid", lambda: 54_321)
    assert audit.operator() == "operator 54321"


async def test_each_change_of_a_request_by_an_application_has_a_line(
    service: ServiceHarness,
) -> None:
    """Price and receivers of a create, each field of an edit, no line without a change."""
    actor = audit.app(service.credentials.app_id)
    made = await service.create(**DROP)
    service.seller.headers["Idempotency-Key"] = "k"
    again = [(await service.create())["id"] for _ in range(2)]
    del service.seller.headers["Idempotency-Key"]
    edits: tuple[dict[str, Any], ...] = (
        {"product": {"name": "Tea"}, "expirationInSeconds": 60},
        {"decreaseRemainingUnits": 2},
        {},
    )
    for body in edits:
        answer = await service.edit(made["id"], body)
        assert answer.status_code in {200, 400}, answer.text
    assert (await service.pay(made["id"])).status_code == 303
    await service.seller.delete(f"{REQUESTS_PATH}/{made['id']}")
    assert (await service.seller.delete(f"{REQUESTS_PATH}/{made['id']}")).status_code == 404
    price = {"price": "5.00 USD", "to": ["alice"]}
    drop = {"kind": "limit", "name": "Coffee", **price, "units": 3}
    edited = {"name": ["Coffee", "Tea"], "expires": [None, "2027-01-15T08:01:00+00:00"]}
    assert told(service.db) == [
        (actor, "request.created", made["id"], drop),
        (actor, "request.created", again[0], {"kind": "never", "name": "Coffee", **price}),
        (actor, "request.edited", made["id"], edited),
        (actor, "request.edited", made["id"], {"units_taken_out": 2}),
        (actor, "request.deleted", made["id"], {"name": "Tea", "payments": 1}),
    ]
    assert len(set(again)) == 1


async def test_a_new_request_has_the_choice_and_all_that_goes_with_it(
    service: ServiceHarness,
) -> None:
    choice = {"suggested": [5, 10], "maximum": 20}
    await service.create(amountChoice=choice, goal=1000, delivery={"text": "geheim"})
    await service.create(**DROP, maxQuantity=2, delivery={"codes": ["geheim"]})
    gift, drop = [details for *_, details in told(service.db)]
    assert gift == {
        "kind": "never",
        "name": "Coffee",
        "price": "5.00 USD",
        "to": ["alice"],
        "minimum": "5.00 USD",
        "suggested": ["5.00 USD", "10.00 USD"],
        "maximum": "20.00 USD",
        "goal": "1000.00 USD",
        "delivery": "text",
    }
    assert (drop["max_quantity"], drop["delivery"]) == (2, "codes")
    assert "geheim" not in json.dumps(told(service.db))


PICTURE = "https://i.example/a.png"
KEEP_URL = "https://shop.example.org/keep?pin=geheim&it={requestId}-{transactionId}"
EDITS: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    "product": ({}, {"name": "Tea"}, {"name": ["Coffee", "Tea"]}),
    "price_before_discount": ({}, 9, {"price_before_discount": [None, "9.00 USD"]}),
    "redirect_url": (
        {"redirectUrl": "https://a.example/?pin=geheim"},
        "https://a.example/?pin=geheim2",
        {"redirect_url": "changed"},
    ),
    "notifications": (
        {},
        {"webhook": {"webhookUrl": "https://h.example/w"}},
        {"webhook": [None, "h.example"]},
    ),
    "seller": ({}, {"name": "Mia"}, {"seller": "changed"}),
    "expiration_in_seconds": ({}, 60, {"expires": [None, "2027-01-15T08:01:00+00:00"]}),
    "expires_at": (
        {},
        "2027-01-15T08:01:00Z",
        {"expires": [None, "2027-01-15T08:01:00+00:00"]},
    ),
    "goal": ({"goal": 10}, 20.5, {"goal": ["10.00 USD", "20.50 USD"]}),
    "max_quantity": (DROP, 2, {"max_quantity": [None, 2]}),
    "thanks": ({}, "geheim", {"thanks": "changed"}),
    "keep_url": ({}, KEEP_URL, {"keep_url": [None, "https://shop.example.org/keep"]}),
    "delivery": ({}, {"text": "geheim"}, {"delivery": "changed"}),
    "decrease_remaining_units": (DROP, 2, {"units_taken_out": 2}),
}
"""For each field of an edit: the request's own fields, the new value and the line's details."""


async def test_an_edit_of_any_field_leaves_a_line(service: ServiceHarness) -> None:
    assert EDITS.keys() == EditBody.model_fields.keys()
    actor = audit.app(service.credentials.app_id)
    for field, (fields, value, details) in EDITS.items():
        made = await service.create(**fields)
        answer = await service.edit(made["id"], {to_camel(field): value})
        assert answer.status_code == 200, (field, answer.text)
        assert told(service.db)[-1] == (actor, "request.edited", made["id"], details), field
    assert len(told(service.db)) == 2 * len(EDITS)
    assert "geheim" not in json.dumps(told(service.db))


async def test_a_line_has_room_for_an_edit_of_every_field(service: ServiceHarness) -> None:
    apart = {"expires_at", "goal"}  # a drop has no goal, and an edit one end
    edits = {field: edit for field, edit in EDITS.items() if field not in apart}
    made = await service.create(
        **{name: it for own, *_ in edits.values() for name, it in own.items()}
    )
    body = {to_camel(field): value for field, (_, value, _) in edits.items()}
    body["product"] = {
        "name": "Tea",
        "description": "Hot",
        "longDescription": "Very hot",
        "imageUrl": PICTURE,
    }
    assert (await service.edit(made["id"], body)).status_code == 200
    *_, (*_, details) = told(service.db)
    assert details.keys() == {
        *("description", "long_description", "image_url"),
        *(name for *_, changed in edits.values() for name in changed),
    }


async def test_secrets_of_a_request_are_logged_only_as_changed(service: ServiceHarness) -> None:
    """The path and query of a webhook may be a password, and so may the query of a redirect."""
    hook = {"webhookUrl": "https://hooks.example.org/T0/geheim?key=geheim"}
    made = await service.create(notifications={"webhook": hook})
    parts: list[dict[str, Any]] = [
        {"notifications": {"webhook": {"webhookUrl": "https://hooks.example.org/T0/geheim2"}}},
        {"notifications": {"webhook": {"webhookUrl": "https://other.example.org/geheim"}}},
        {"notifications": {"webhook": {"customParameters": {"pin": "geheim"}}}},
        {"redirectUrl": "https://shop.example.org/thanks?token=geheim"},
    ]
    for body in parts:
        assert (await service.edit(made["id"], body)).status_code == 200, body
    changes = [details for _, action, _, details in told(service.db) if action == "request.edited"]
    assert changes == [
        {"webhook": "changed"},
        {"webhook": ["hooks.example.org", "other.example.org"]},
        {"webhook": "changed"},
        {"redirect_url": [None, "https://shop.example.org/thanks"]},
    ]
    assert "geheim" not in json.dumps(told(service.db))


async def test_no_line_has_data_of_a_payer(service: ServiceHarness) -> None:
    made = await service.create(requestedUserData=["email"])
    assert (await service.pay(made["id"], email="payer@example.org")).status_code == 303
    await service.seller.delete(f"{REQUESTS_PATH}/{made['id']}")
    assert "payer@example.org" not in json.dumps(told(service.db))


def test_the_operators_changes_of_applications_are_logged_without_secrets(
    service: ServiceHarness,
) -> None:
    made = service.db.run(lambda tx: applications.create(tx, service.vault, "second", NOON))
    new = service.db.run(lambda tx: applications.rotate(tx, service.vault, made.app_id, NOON + 1))
    service.db.run(lambda tx: applications.revoke(tx, service.vault, made.app_id, NOON + 2))
    found = lines(service.db, subject=made.app_id)
    assert [(line.action, line.details) for line in reversed(found)] == [
        ("app.created", {"name": "second"}),
        ("app.rotated", {"overlap_hours": 24}),
        ("app.revoked", {}),
    ]
    assert {line.actor for line in found} == {audit.operator()}
    written = repr(lines(service.db))
    for secret in (made.app_secret, made.webhook_secret, new.app_secret, new.webhook_secret):
        assert secret not in written


def test_the_bots_own_application_is_created_by_the_system(service: ServiceHarness) -> None:
    own = service.db.run(lambda tx: applications.ensure_embedded_app(tx, service.vault, NOON))
    service.db.run(lambda tx: applications.ensure_embedded_app(tx, service.vault, NOON))
    (line,) = lines(service.db, subject=own.app_id)
    assert (line.actor, line.action, line.details) == ("system", "app.created", {"name": "bot"})


async def test_a_delivery_retried_by_hand_has_a_line_with_its_actor(
    service: ServiceHarness, clock: Clock
) -> None:
    """No line if nothing was done: a delivery that is being sent stays as it is."""
    hook = {"webhook": {"webhookUrl": "https://h.example/w", "customParameters": {}}}
    made = await service.create(notifications=hook)
    await service.pay(made["id"])
    (row,) = await service.rows("deliveries")
    key, app = row["id"], service.credentials.app_id
    service.db.run(lambda tx: notification_queues.retry(tx, key, clock()))
    service.db.run(lambda tx: notification_queues.retry(tx, key, clock(), app))
    details = {"request": made["id"], "was": "waiting"}
    expected = [(audit.app(app), details), (audit.operator(), details)]
    assert [(line.actor, line.details) for line in lines(service.db, subject=key)] == expected
    service.db.run(lambda tx: tx.execute(
        "UPDATE outbox SET state = 'leased' WHERE queue = :queue", queue=WEBHOOKS.name
    ))  # fmt: skip
    service.db.run(lambda tx: notification_queues.retry(tx, key, clock()))
    assert len(lines(service.db, subject=key)) == 2


@pytest.mark.parametrize(
    ("state", "wanted"),
    [(LIVE, ["request.stop-asked"]), (STOPPED, ["request.resume-asked"])],
)
async def test_a_press_that_changes_nothing_has_no_line(
    chat: ChatHarness, state: str, wanted: list[str]
) -> None:
    """Old buttons can be pressed forever."""
    sam = chat.add_person("Sam")
    link = chat.add_link(sam, COFFEE, service_answer(), state=state)
    for word in ("stop", "resume", "refresh"):
        await chat.presses(sam, f"{word}:{link.id}")
    assert [action for _, action, _, _ in told(chat.db)] == wanted


async def test_the_sweep_deletes_old_lines_and_logs_its_other_deletions(
    service: ServiceHarness,
) -> None:
    """Changes by the system have lines too, one for many."""
    hook = {"webhook": {"webhookUrl": "https://h.example/w", "customParameters": {}}}
    made = await service.create(notifications=hook)
    await service.pay(made["id"])
    service.db.run(lambda tx: tx.execute(
        "UPDATE outbox SET state = 'done', settled_at = :at WHERE queue = 'webhooks'", at=NOON
    ))  # fmt: skip
    shared = SharedResources(config.load(), service.db, Vault("key"), service.clock)
    side = ServiceSide(shared, None)
    later = NOON + NOTIFICATIONS_KEPT + 1
    for _ in range(2):
        await sweep(service.db, (side, None), later)
    dropped, *older = lines(service.db)
    assert (dropped.actor, dropped.action, dropped.at) == ("system", "deliveries.dropped", later)
    assert dropped.details == {"number": 1}
    assert older[-1].at == NOON
    await sweep(service.db, (side, None), NOON + audit.KEPT + 1)
    assert lines(service.db) == [dropped]
    for close in side.closers:
        await close()


def test_the_command_reads_beside_the_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long log is read while others write, and never more of it than fits in memory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", "sqlite:///bot.db")
    assert CliRunner().invoke(main, ["apps", "create", "shop"]).exit_code == 0
    read = audit.read

    def beside(*given: Any) -> list[Line]:
        with locked(Path("bot.db")):
            return read(*given)

    monkeypatch.setattr(audit, "read", beside)
    listed = CliRunner().invoke(main, ["audit", "--limit", "10000"])
    assert (listed.exit_code, "app.created" in listed.stdout) == (0, True), listed.stderr
    assert CliRunner().invoke(main, ["audit", "--limit", "10001"]).exit_code == 2
