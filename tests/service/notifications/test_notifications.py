"""Notifications: queued with the payment, each attempt stored, and swept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from bot.core import exact_json
from bot.core.database.database import Row, Transaction
from bot.core.outbox import outbox
from bot.interface.vocabulary import NotificationState
from bot.service.checkouts.checkout import Settlement
from bot.service.notifications import notification_queues, notification_rows
from bot.service.notifications.notification import Attempt
from bot.service.notifications.notification_queues import WEBHOOKS
from bot.service.notifications.recipients import MAILS
from bot.service.payments.settling import record_settlement
from bot.service.requests import request_rows
from bot.service.requests.request import Payment, PaymentState, Quote
from tests.support.databases import SQLITE
from tests.support.http_peers import empty_answer
from tests.support.outbox_queue import claim
from tests.support.service_harness import DROP, HOOK, LOOPBACK, NOON, ServiceHarness, open_service
from tests.support.webhook_delivery import Endpoint, handle

BOTH = {"notifications": {"webhook": HOOK, "email": "Ann.Lee@Shop.example"}}


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[ServiceHarness]:
    async with open_service(database_url, allow=LOOPBACK, mails=True) as it:
        yield it


def a_payment(request_id: str, number: int, **fields: Any) -> Payment:
    plain = Payment(
        id=f"{number:024x}",
        request_id=request_id,
        amount=500,
        currency="USD",
        receivers=(),
        user_data={"email": "payer@b.example"},
        completed_at=NOON + number,
        paid=Quote(500, "USD", (500,)),
    )
    return replace(plain, **fields)


async def owed(
    service: ServiceHarness, number: int = 1, /, *, made: str = "", **fields: Any
) -> str:
    """Queue the notifications of a payment; return the request's id."""
    request_id = made or (await service.create(**(DROP | BOTH)))["id"]

    def work(tx: Transaction) -> None:
        request = request_rows.find(tx, request_id, service.clock())
        assert request
        notification_queues.queue_notifications(
            tx, request, a_payment(request_id, number, **fields)
        )

    service.db.run(work)
    return str(request_id)


async def messages(service: ServiceHarness, queue: str) -> list[Row]:
    return [row for row in await service.rows("outbox") if row["queue"] == queue]


async def test_a_payment_has_one_notification_a_channel_with_the_id_of_its_message(
    service: ServiceHarness,
) -> None:
    request_id = await owed(service)
    rows = {row["channel"]: row for row in await service.rows("deliveries")}
    assert set(rows) == {"webhook", "email"}
    for channel, row in rows.items():
        queue = {"webhook": "webhooks", "email": "mails"}[channel]
        (message,) = await messages(service, queue)
        assert message["id"] == row["id"]
        assert row["id"].startswith(f"{channel}-")
        assert (row["app_id"], row["request_id"]) == (service.credentials.app_id, request_id)
        assert (row["payment_id"], row["created_at"]) == (f"{1:024x}", NOON + 1)
        assert (message["due_at"], message["created_at"]) == (NOON + 1, NOON + 1)
    assert rows["webhook"]["address"] == HOOK["webhookUrl"]
    assert rows["email"]["address"] == "Ann.Lee@Shop.example"


@pytest.mark.parametrize(
    ("notifications", "channels"),
    [
        ({}, set()),
        ({"webhook": HOOK}, {"webhook"}),
        ({"email": "a@b.example"}, {"email"}),
    ],
)
async def test_only_the_channels_of_the_request_get_notifications(
    service: ServiceHarness, notifications: dict[str, Any], channels: set[str]
) -> None:
    made = await service.create(notifications=notifications)
    assert (await service.pay(made["id"])).status_code == 303
    assert {row["channel"] for row in await service.rows("deliveries")} == channels
    assert len(await service.rows("outbox")) == len(channels)


async def test_a_letters_payload_has_everything_that_it_reports(service: ServiceHarness) -> None:
    """Its lane is the mailbox, however its address is written."""
    request_id = await owed(service)
    (row,) = await messages(service, MAILS.name)
    assert row["lane"] == "ann.lee@shop.example"
    assert exact_json.loads(row["body"]) == {
        "kind": "letter",
        "app_id": service.credentials.app_id,
        "request_id": request_id,
        "transaction_id": f"{1:024x}",
        "address": "Ann.Lee@Shop.example",
        "product": "Coffee",
        "amount": 500,
        "currency": "USD",
        "remaining_units": 3,
        "user_data": {"email": "payer@b.example"},
        "completed_at": NOON + 1,
        "recipient_id": (await service.rows("recipients"))[0]["id"],
    }


async def test_a_letter_has_the_paid_amount_in_another_currency(service: ServiceHarness) -> None:
    await owed(service, paid=Quote(12_345, "BSV", (12_345,)))
    body = exact_json.loads((await messages(service, MAILS.name))[0]["body"])
    assert (body["paid_amount"], body["paid_currency"]) == (12_345, "BSV")
    assert (body["amount"], body["currency"]) == (500, "USD")


async def test_an_oversold_payment_is_reported_as_oversold(service: ServiceHarness) -> None:
    await owed(service, state=PaymentState.OVERSOLD)
    for queue in (WEBHOOKS, MAILS):
        (row,) = await messages(service, queue.name)
        assert exact_json.loads(row["body"])["oversold"] is True


async def test_money_reported_again_has_no_further_notifications(service: ServiceHarness) -> None:
    request_id = (await service.create(**(DROP | BOTH)))["id"]
    assert (await service.pay(request_id)).status_code == 303
    (paid,) = await service.rows("payments")
    again = Settlement(paid["rail"], paid["checkout_id"], paid["external_id"])
    assert service.db.run(lambda tx: record_settlement(tx, again, service.clock())) is None
    assert len(await service.rows("deliveries")) == len(await service.rows("outbox")) == 2


def log(service: ServiceHarness, notification_id: str) -> list[Attempt]:
    return service.db.run(lambda tx: notification_rows.attempts(tx, notification_id))


async def test_every_attempt_is_stored_with_its_outcome(endpoint: Endpoint) -> None:
    """Also one without an answer; after a retry the numbers continue."""
    service = endpoint.service
    body = "grüße\x00\x1b[2J".encode() + b"x" * 2000
    head = b"HTTP/1.1 500 X\r\nContent-Length: %d\r\n\r\n" % len(body)
    endpoint.receiver.answers = [head + body, b"nonsense\r\n\r\n", empty_answer(410)]
    await endpoint.owe()
    began = []
    for _ in range(3):
        began.append(service.clock.at)
        row = await endpoint.attempt()
        service.clock.at = row["due_at"]
    assert row["state"] == "dead"
    service.clock.advance(60)
    began.append(service.clock.at)
    service.db.run(lambda tx: notification_queues.retry(tx, row["id"], service.clock()))
    assert (await endpoint.attempt())["state"] == "done"
    first, second, third, fourth = log(service, row["id"])
    assert [one.at for one in (first, second, third, fourth)] == began
    assert first.status == 500
    assert first.answer == ("grüße\x00\x1b[2J" + "x" * 1012).replace("\x00", "\ufffd").replace(
        "\x1b", "\ufffd"
    )
    assert (second.status, second.answer) == (None, None)
    assert (second.problem or "").startswith("RemoteProtocolError: ")
    assert third == Attempt(began[2], 0, 410, "")
    assert fourth == Attempt(began[3], 0, 200, "ok")
    numbers = [one["number"] for one in await service.rows("delivery_attempts")]
    assert numbers == [1, 2, 3, 4]


async def test_an_attempt_that_outlived_its_lease_is_stored_and_decides_nothing(
    endpoint: Endpoint,
) -> None:
    """The receiver has seen both attempts; the second one decides."""
    service = endpoint.service
    await endpoint.owe()

    (slow,) = service.db.run(lambda tx: claim(tx, WEBHOOKS, service.clock(), 1))
    service.clock.advance(WEBHOOKS.lease / 1000)
    (quick,) = service.db.run(lambda tx: claim(tx, WEBHOOKS, service.clock(), 1))
    await handle(endpoint.notifier.queue_handler, quick)
    endpoint.receiver.answers = [empty_answer(410)]
    await handle(endpoint.notifier.queue_handler, slow)
    (row,) = await service.rows("outbox")
    assert (row["state"], row["attempts"], row["note"]) == ("done", 2, None)
    assert [one.status for one in log(service, row["id"])] == [200, 410]


async def test_an_attempt_of_a_notification_deleted_meanwhile_is_ignored(
    endpoint: Endpoint,
) -> None:
    service = endpoint.service
    await endpoint.owe()
    claimed = service.db.run(lambda tx: outbox.claim(tx, WEBHOOKS, service.clock(), 1))
    for table in ("deliveries", "outbox"):
        service.db.run(lambda tx, table=table: tx.execute(f"DELETE FROM {table}"))  # type: ignore[misc]
    await handle(endpoint.notifier.queue_handler, claimed[0])
    assert len(endpoint.receiver.received) == 1
    assert await service.rows("delivery_attempts") == []


async def test_the_operator_sees_the_notifications_of_every_application(endpoint: Endpoint) -> None:
    endpoint.receiver.answers = [empty_answer(500)]
    request_id = await endpoint.owe()
    row = await endpoint.attempt()
    (seen,) = endpoint.service.db.run(notification_rows.list_all)
    assert seen == endpoint.service.db.run(lambda tx: notification_rows.find(tx, seen.id))
    assert (seen.request_id, seen.address, seen.state, seen.attempts, seen.next_at) == (
        request_id,
        endpoint.receiver.url,
        "waiting",
        1,
        row["due_at"],
    )
    assert (seen.note, seen.channel) == ("answered 500", "webhook")


def dead_letter(service: ServiceHarness, *ids: str) -> None:
    """Make these notifications dead letters, with an attempt each; release the others."""

    def work(tx: Transaction) -> None:
        for queue in (WEBHOOKS, MAILS):
            while claimed := outbox.claim(tx, queue, service.clock(), 100):
                for message in claimed:
                    if message.id in ids:
                        outbox.dead_letter(tx, queue, message, service.clock(), "no use")
                        notification_rows.add_attempt(tx, message.id, Attempt(NOON, 1, 500))
                    else:
                        outbox.retry(tx, queue, message, service.clock() + 1, "later")

    service.db.run(work)


async def test_the_operator_lists_notifications_by_state(service: ServiceHarness) -> None:
    """The newest first, of both channels."""
    made = await owed(service, 1)
    await owed(service, 2, made=made)
    service.clock.advance(1)
    every = service.db.run(notification_rows.list_all)
    assert [one.created_at for one in every] == [NOON + 2] * 2 + [NOON + 1] * 2
    dead = every[1].id
    dead_letter(service, dead)
    for state, ids in {
        NotificationState.DEAD: [dead],
        NotificationState.WAITING: [one.id for one in every if one.id != dead],
        NotificationState.DELIVERED: [],
        NotificationState.SENDING: [],
    }.items():
        found = service.db.run(lambda tx, state=state: notification_rows.list_all(tx, 9, state))  # type: ignore[misc]
        assert [one.id for one in found] == ids
    assert [one.id for one in service.db.run(lambda tx: notification_rows.list_all(tx, 1))] == [
        every[0].id
    ]


async def test_notifications_settled_long_ago_are_deleted_with_their_attempts(
    service: ServiceHarness,
) -> None:
    """Waiting notifications, however old, and those settled since stay."""
    made = await owed(service, 1)
    await owed(service, 2, made=made)
    service.clock.advance(1)
    first, second, third, fourth = (one.id for one in service.db.run(notification_rows.list_all))
    dead_letter(service, first, second)
    service.clock.advance(10)
    dead_letter(service, third)
    before = service.clock.at
    assert service.db.run(lambda tx: notification_queues.sweep(tx, before)) == 2
    assert service.db.run(lambda tx: notification_queues.sweep(tx, before)) == 0
    for table in ("deliveries", "outbox"):
        assert {row["id"] for row in await service.rows(table)} == {third, fourth}
    assert [row["delivery_id"] for row in await service.rows("delivery_attempts")] == [third]
    if service.db.engine == SQLITE:  # PostgreSQL checks by itself
        assert await service.db.query("PRAGMA foreign_key_check") == []


async def test_a_sweep_deletes_a_bounded_number(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Payments wait for the transaction."""
    monkeypatch.setattr(notification_queues, "MOST_SWEPT", 2)
    made = await owed(service, 1)
    for number in range(2, 6):
        await owed(service, number, made=made)
    service.clock.advance(1)
    dead_letter(service, *(one.id for one in service.db.run(notification_rows.list_all)))
    gone = [
        service.db.run(lambda tx: notification_queues.sweep(tx, service.clock() + 1))
        for _ in range(4)
    ]
    assert gone == [4, 4, 2, 0]
    assert await service.rows("deliveries") == await service.rows("outbox") == []
