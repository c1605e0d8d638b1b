"""A message whose attempts end the process is set aside, and what follows from that happens."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from bot.chat.cards import alerts
from bot.chat.model.payloads import CallbackAnswer
from bot.chat.payments.client import Client
from bot.core.database.database import Database, Transaction
from bot.core.outbox import outbox
from bot.core.outbox.outbox import Message
from bot.core.outbox.queue_policy import Queue
from bot.core.outbox.worker import CRASHED, QueueHandler, Worker
from bot.core.text.translations import t
from bot.interface.vocabulary import NotificationState
from bot.service.notifications import notification_rows
from bot.service.notifications.notification_queues import WEBHOOKS
from bot.service.notifications.webhooks import WebhookSender
from tests.support.chat_harness import STICKERS, ChatHarness, service_answer
from tests.support.drop_payments import lines, pay
from tests.support.outbox_queue import QueueHarness, crash, work
from tests.support.product_process import until
from tests.support.request_jobs import PLACE, RequestJobs
from tests.support.sender_harness import SenderHarness
from tests.support.service_harness import LOOPBACK, Clock, open_service

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


QUEUE = Queue("test", lease=60_000, max_crashes=3)

ONE_LEFT = service_answer(total_units=1, remaining_units=1)


@pytest.fixture
def sam(chat: ChatHarness) -> Person:
    return chat.add_person("Sam")


@pytest.fixture
def post(db: Database, clock: Clock) -> QueueHarness:
    return QueueHarness(db, QUEUE, clock)


async def refused(message: Message) -> None:
    raise AssertionError(message)


def test_attempts_whose_worker_died_are_counted_in_a_row(post: QueueHarness) -> None:
    post.put("a", "one")
    counts = [crash(post.db, QUEUE, post.clock)[0].crashes for _ in range(3)]
    assert counts == [0, 1, 2]


def test_an_attempt_with_an_outcome_resets_the_count(post: QueueHarness) -> None:
    post.put("a", "one")
    crash(post.db, QUEUE, post.clock, 2)
    post.retry(post.first(), 0)
    assert post.first().crashes == 0


def test_a_release_is_neither_a_crash_nor_an_outcome(post: QueueHarness) -> None:
    post.put("a", "one")
    crash(post.db, QUEUE, post.clock, 2)
    message = post.first()
    post.db.run(lambda tx: outbox.release(tx, QUEUE, message, post.clock()))
    assert post.first().crashes == 2


def test_each_crash_after_the_second_delays_the_message_and_no_other(post: QueueHarness) -> None:
    """A storm of restarts makes no dead letter of it at once; if it is the cause, others go on."""
    post.put("a", "first")
    waits = []
    for _ in range(10):
        began = post.clock()
        crash(post.db, QUEUE, post.clock)
        waits.append((post.clock() - began) // 1000)
        assert post.next_open() == 0  # the clock is at the end of the delay
    assert waits == [0, 0, 2, 4, 8, 16, 30, 60, 60, 60]
    crash(post.db, QUEUE, post.clock)
    post.clock.advance(-1)
    post.put("b", "second")
    assert post.words() == ["second"]


def test_reviving_resets_the_count(post: QueueHarness) -> None:
    post.put("a", "one", key="k")
    crash(post.db, QUEUE, post.clock, 3)
    post.db.run(lambda tx: outbox.revive(tx, QUEUE, "k", post.clock()))
    assert post.first().crashes == 0


async def test_the_message_becomes_a_dead_letter_and_its_lane_continues(post: QueueHarness) -> None:
    """With what follows from it in the same transaction; the line in the log says why."""
    post.put("a", "poison")
    crash(post.db, QUEUE, post.clock, 3)
    post.put("a", "next")
    handled: list[str] = []

    async def handle(message: Message) -> None:
        handled.append(message.body["word"])
        await post.db.transaction(lambda tx: outbox.done(tx, QUEUE, message, post.clock()))

    def on_dead_letter(tx: Transaction, message: Message) -> None:
        outbox.put(tx, replace(QUEUE, name="after"), "a", message.body, post.clock())

    worker = Worker(post.db, QueueHandler(QUEUE, handle, on_dead_letter=on_dead_letter), post.clock)
    running = asyncio.create_task(worker.run())

    async def look() -> bool:
        return handled == ["next"] and post.states() == {"poison": "dead"}

    with capture_logs() as logs:
        await until(look)
    await worker.stop(5)
    await running
    (row,) = post.rows()
    assert row["note"] == CRASHED
    assert [(line["event"], line["why"]) for line in logs if line["log_level"] == "error"] == [
        ("message set aside", CRASHED)
    ]
    after = post.db.run(lambda tx: tx.query("SELECT * FROM outbox WHERE queue = 'after'"))
    assert len(after) == 1


async def test_the_lane_continues_even_if_on_dead_letter_raises(post: QueueHarness) -> None:
    post.put("a", "poison")
    crash(post.db, QUEUE, post.clock, 3)

    def on_dead_letter(_tx: Transaction, _message: Message) -> None:
        raise LookupError

    await work(post.db, QueueHandler(QUEUE, refused, on_dead_letter=on_dead_letter), post.clock)
    assert post.states() == {"poison": "dead"}


async def test_a_message_whose_handler_always_raises_becomes_a_dead_letter_too(
    post: QueueHarness,
) -> None:
    post.put("a", "bug")
    followed: list[str] = []
    for _ in QUEUE.failures.delays:
        first = post.first()
        post.db.run(lambda tx, it=first: outbox.fail(tx, QUEUE, it, post.clock(), "x"))  # type: ignore[misc]

    def on_dead_letter(_tx: Transaction, message: Message) -> None:
        followed.append(message.body["word"])

    await work(post.db, QueueHandler(QUEUE, refused, on_dead_letter=on_dead_letter), post.clock)
    assert followed == ["bug"]


def test_a_photo_becomes_a_dead_letter_before_messages_beside_it(chat: ChatHarness) -> None:
    queues = chat.queues
    others = (queues.updates, queues.jobs, queues.messages, queues.answers)
    assert all(queues.photos.max_crashes < other.max_crashes for other in others)


async def test_an_update_is_set_aside_with_an_apology_and_its_press_is_answered(
    chat: ChatHarness, sam: Person, clock: Clock
) -> None:
    query = sam.press_old(sam.send("x"), "list:0")
    chat.world.updates.pending.popleft()
    await chat.store()
    queue = chat.queues.updates
    crash(chat.db, queue, clock, queue.max_crashes)
    await work(
        chat.db, QueueHandler(queue, refused, on_dead_letter=chat.dialogue.on_dead_letter), clock
    )
    assert chat.texts == [t("en", "update-failed")]
    assert chat.answers == [CallbackAnswer(query.id)]


async def test_an_alert_that_is_set_aside_is_listed_and_the_drop_ends(
    chat: ChatHarness, sam: Person, sending: SenderHarness, clock: Clock
) -> None:
    link = chat.add_link(sam, replace(STICKERS, units=1), ONE_LEFT)
    pay(chat, link, 1)
    queue = chat.queues.messages
    crash(chat.db, queue, clock, queue.max_crashes)
    sender = sending.sender
    await work(
        chat.db, QueueHandler(queue, sender.send, on_dead_letter=sender.on_dead_letter), clock
    )
    await sending.work_later()
    (line,) = lines(sam)
    assert "/alerts" in line
    lost = chat.db.run(lambda tx: alerts.given_up_payments(chat.step(tx), str(sam.id)))
    assert [payment.link_id for payment in lost] == [link.id]


@pytest.mark.parametrize(("call", "key"), [("create", "given-up"), ("stop", "silent")])
async def test_the_seller_is_told_of_a_job_that_became_a_dead_letter(
    chat: ChatHarness, sam: Person, clock: Clock, call: str, key: str
) -> None:
    link = chat.add_link(sam, STICKERS)
    client = Client("http://127.0.0.1:1", "app", "secret")
    calling = RequestJobs(chat, client)
    calling.put(call, link, **PLACE)
    queue = chat.queues.jobs
    crash(chat.db, queue, clock, queue.max_crashes)
    await work(
        chat.db, QueueHandler(queue, refused, on_dead_letter=calling.handler.on_dead_letter), clock
    )
    await client.close()
    assert chat.texts == [t("en", f"service-{key}", name="Stickers")]


async def test_a_delivery_is_dead_and_listed_with_the_reason(database_url: str) -> None:
    async with (
        open_service(database_url) as service,
        WebhookSender(service.db, service.vault, service.clock, LOOPBACK) as out,
    ):
        made = await service.create(
            notifications={"webhook": {"webhookUrl": "https://h.example/w"}}
        )
        assert (await service.pay(made["id"])).status_code == 303
        crash(service.db, WEBHOOKS, service.clock, WEBHOOKS.max_crashes)
        await work(service.db, out.queue_handler, service.clock)
        (delivery,) = service.db.run(notification_rows.list_all)
        assert (delivery.state, delivery.note) == (NotificationState.DEAD, CRASHED)
