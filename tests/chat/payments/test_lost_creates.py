"""Creating on a server without Idempotency-Key: one request a spec, whatever answer is lost."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.chat.model.queues import MOST_IN_GROUP
from bot.chat.payments import client, job_context
from bot.chat.payments.client import Client
from bot.chat.payments.create_job import COPIES_DELAY
from bot.chat.payments.request_bodies import SETTLING
from bot.chat.store import payment_rows
from bot.chat.store.link_rows import DELETED, LIVE, PaymentLink
from bot.chat.store.payment_rows import Payment
from bot.core.database import database, sqlite_writer
from bot.core.outbox import leases
from tests.support.chat_harness import PAINTING, STICKERS, ChatHarness
from tests.support.databases import SQLITE
from tests.support.free_ports import free_port
from tests.support.handcash_server import handcash
from tests.support.http_peers import BROKEN, FAILING, LOST, SLOW
from tests.support.request_jobs import HandCashJobs, RequestJobs, service_text


@pytest.fixture
def link(chat: ChatHarness) -> PaymentLink:
    return chat.add_link(chat.add_person("Sam"))


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the client's timeout to one second."""
    monkeypatch.setattr(client, "SECONDS", 1.0)


async def test_a_create_whose_answer_was_lost_is_found_in_the_list(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    await cloud.create(link, LOST)
    await cloud.advance(1)
    assert (cloud.state(link), cloud.shown(link)) == (LIVE, cloud.server.only.id)
    assert (cloud.server.asked("POST"), len(chat.said)) == (1, 2)
    assert (chat.texts[0], cloud.waiting) == (service_text("waiting"), [])


@pytest.mark.long
@pytest.mark.usefixtures("_impatient")
async def test_nothing_is_created_again_while_the_server_may_still_be_at_work(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    """The timeout came first; the request appears in the list half a minute later."""
    await cloud.create(link, SLOW)
    await cloud.advance(30)
    assert (cloud.server.asked("POST"), cloud.server.made) == (1, {})
    cloud.server.release()
    await cloud.server.until(lambda: cloud.server.made)
    await cloud.advance(30)
    assert (cloud.state(link), cloud.shown(link)) == (LIVE, cloud.server.only.id)
    assert (cloud.server.asked("POST"), len(chat.said)) == (1, 2)


async def test_a_request_that_the_list_lacks_for_the_settling_time_is_created_again(
    cloud: HandCashJobs, link: PaymentLink
) -> None:
    await cloud.create(link, BROKEN)
    await cloud.advance(SETTLING / 1000 - 0.001)
    assert (cloud.server.asked("POST"), cloud.server.asked("GET")) == (1, 4)
    await cloud.advance(0.001)
    assert (cloud.server.asked("POST"), cloud.state(link)) == (2, LIVE)


async def test_each_lost_create_gets_its_own_settling_time(
    cloud: HandCashJobs, link: PaymentLink
) -> None:
    await cloud.create(link, BROKEN, BROKEN)
    await cloud.advance(SETTLING / 1000)
    assert cloud.server.asked("POST") == 2
    await cloud.advance(SETTLING / 1000 - 0.001)
    assert cloud.server.asked("POST") == 2
    await cloud.advance(0.001)
    assert cloud.state(link) == LIVE


async def test_a_clock_that_is_set_back_neither_shortens_nor_extends_the_settling_time(
    cloud: HandCashJobs, link: PaymentLink
) -> None:
    await cloud.create(link, BROKEN)
    cloud.chat.clock.advance(-3600)
    cloud.crash()
    await cloud.due()
    assert cloud.server.asked("POST") == 1
    for _ in range(2):
        await cloud.advance(SETTLING / 1000)
    assert (cloud.server.asked("POST"), cloud.state(link)) == (2, LIVE)


@pytest.mark.long
@pytest.mark.usefixtures("_impatient")
async def test_a_request_that_a_lost_create_makes_late_is_deleted(
    cloud: HandCashJobs, link: PaymentLink
) -> None:
    """The seller has the second request; the first one was made after the settling time."""
    await cloud.create(link, SLOW)
    await cloud.advance(SETTLING / 1000)
    shown = cloud.server.only.id
    cloud.server.release()
    await cloud.server.until(lambda: len(cloud.server.made) == 2)
    with capture_logs() as logs:
        await cloud.advance(COPIES_DELAY / 1000)
    assert (cloud.server.only.id, cloud.shown(link)) == (shown, shown)
    (late,) = cloud.server.deleted
    assert [line["request"] for line in logs] == [late]
    assert cloud.waiting == []


async def test_of_two_requests_the_oldest_stays(cloud: HandCashJobs, link: PaymentLink) -> None:
    first = await cloud.make(link)
    cloud.chat.clock.advance(5)
    second = await cloud.make(link)
    await cloud.create(link, LOST)
    await cloud.advance(1)
    assert (cloud.server.only, cloud.shown(link)) == (first, first.id)
    assert second.id in cloud.server.deleted


async def test_of_two_requests_the_paid_one_stays(cloud: HandCashJobs, chat: ChatHarness) -> None:
    link = chat.add_link(chat.add_person("Sam"), STICKERS)
    await cloud.make(link)
    chat.clock.advance(5)
    paid = await cloud.make(link)
    await cloud.server.pay(paid.id, hook=False)
    await cloud.create(link, BROKEN)
    await cloud.advance(1)
    assert (cloud.server.only, cloud.shown(link)) == (paid, paid.id)


async def test_of_two_requests_the_one_with_a_recorded_payment_stays(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    """The server's answer about a donation does not show payments; only the webhook does."""
    await cloud.make(link)
    chat.clock.advance(5)
    paid = await cloud.make(link)
    payment = Payment(paid.id, "t1", 500, "USD", {})
    chat.db.run(lambda tx: payment_rows.add_payment(tx, link.id, payment, chat.clock()))
    await cloud.create(link, BROKEN)
    await cloud.advance(1)
    assert (cloud.server.only, cloud.shown(link)) == (paid, paid.id)


async def test_a_paid_double_is_never_deleted(cloud: HandCashJobs, chat: ChatHarness) -> None:
    link = chat.add_link(chat.add_person("Sam"), PAINTING)
    await cloud.create(link, BROKEN)
    await cloud.advance(SETTLING / 1000)
    late = await cloud.make(link)
    await cloud.server.pay(late.id, hook=False)
    with capture_logs() as logs:
        await cloud.advance(COPIES_DELAY / 1000)
    assert cloud.server.deleted == {}
    assert [(line["event"], line["log_level"]) for line in logs] == [
        ("double request was paid", "error")
    ]


async def test_a_double_that_cannot_be_deleted_now_is_deleted_later(
    cloud: HandCashJobs, link: PaymentLink
) -> None:
    first = await cloud.make(link)
    cloud.chat.clock.advance(5)
    await cloud.make(link)
    cloud.server.fail("DELETE", FAILING, FAILING)
    await cloud.create(link, BROKEN)
    await cloud.advance(1)
    assert (cloud.state(link), len(cloud.server.made)) == (LIVE, 2)
    await cloud.advance(COPIES_DELAY / 1000)
    assert len(cloud.server.made) == 2
    await cloud.advance(1)
    assert (cloud.server.only, cloud.waiting) == (first, [])


async def test_a_request_deleted_by_its_seller_leaves_no_double(
    cloud: HandCashJobs, link: PaymentLink
) -> None:
    await cloud.create(link, BROKEN)
    await cloud.advance(SETTLING / 1000)
    await cloud.make(link)
    cloud.put("delete-yes", cloud.chat.link(link.id))
    await cloud.due()
    await cloud.advance(COPIES_DELAY / 1000)
    assert (cloud.server.made, cloud.state(link)) == ({}, DELETED)


async def test_after_a_crash_a_create_that_may_have_been_sent_is_searched_for(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    cloud.put("create", link)
    cloud.crash()
    await cloud.due()
    assert (cloud.server.asked("GET"), cloud.server.asked("POST")) == (1, 0)
    assert chat.texts == [service_text("unsure")]
    await cloud.advance(SETTLING / 1000)
    assert (cloud.server.asked("POST"), cloud.state(link)) == (1, LIVE)
    assert len(chat.said) == 2


async def test_a_server_that_takes_idempotency_keys_gets_the_create_again_at_once(
    cloud: HandCashJobs, link: PaymentLink
) -> None:
    cloud.handler = cloud.made(cloud.client, instrument="BSV", settling=0)
    cloud.put("create", link)
    cloud.crash()
    await cloud.due()
    assert (cloud.state(link), cloud.server.asked("POST")) == (LIVE, 1)
    assert cloud.waiting == []


async def test_a_create_that_was_not_sent_needs_no_settling_time(
    chat: ChatHarness, link: PaymentLink
) -> None:
    """Nothing was sent, so the first retry creates the request."""
    port = int(free_port())
    client = Client(f"http://127.0.0.1:{port}", "app", "secret")
    calling = RequestJobs(chat, client, instrument="BSV")
    calling.put("create", link)
    await calling.due()
    assert chat.texts == [service_text("waiting")]
    async with handcash(app_id="app", app_secret="secret", port=port) as server:
        chat.clock.advance(1)
        await calling.due()
        assert (calling.state(link), len(server.made)) == (LIVE, 1)
        await client.close()
    assert calling.waiting == []


@pytest.mark.only(SQLITE, "its one lock")
async def test_a_locked_database_is_no_failure_of_the_service(
    cloud: HandCashJobs, link: PaymentLink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request was made, and is stored as soon as the database takes it."""
    monkeypatch.setattr(sqlite_writer, "BUSY_TIMEOUT_SECONDS", 0.05)
    monkeypatch.setattr(database, "STORE_RETRY_SECONDS", 0.01)
    cloud.put("create", link)
    (message,) = cloud.claim()
    cloud.server.fail("POST", SLOW)
    performing = asyncio.create_task(cloud.handler.perform(message))
    await cloud.server.until(lambda: cloud.server.calls)
    with capture_logs() as logs:
        with closing(sqlite3.connect(tmp_path / "bot.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            cloud.server.release()
            done, _ = await asyncio.wait({performing}, timeout=0.3)
            assert done == set()
            other.execute("ROLLBACK")
        await performing
    assert "service call failed" not in [line["event"] for line in logs]
    assert (cloud.shown(link), cloud.server.asked("POST")) == (cloud.server.only.id, 1)


async def test_an_attempt_that_lost_its_lease_writes_nothing(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    cloud.put("create", link)
    (message,) = cloud.claim()
    queue, now = chat.queues.jobs, chat.clock()
    chat.db.run(lambda tx: leases.recover(tx, queue, now))
    await cloud.handler.perform(message)
    assert (chat.said, len(cloud.server.made)) == ([], 1)
    await cloud.due()
    assert (len(chat.said), len(cloud.server.made)) == (1, 1)


@pytest.mark.long
async def test_an_attempt_as_a_whole_has_a_time_limit(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No read times out by itself at a server that drips its answer."""
    monkeypatch.setattr(job_context, "TIME_LIMIT", 1.0)
    await cloud.create(link, SLOW)
    assert chat.texts == [service_text("waiting")]
    cloud.server.release()
    await cloud.server.until(lambda: cloud.server.made)
    await cloud.advance(1)
    assert (cloud.shown(link), cloud.server.asked("POST")) == (cloud.server.only.id, 1)


async def test_retried_creates_leave_room_for_new_jobs(
    cloud: HandCashJobs, chat: ChatHarness
) -> None:
    """A service that hangs holds each job for its whole time limit."""
    sam = chat.add_person("Sam")
    for _ in range(12):
        cloud.put("create", chat.add_link(sam))
    cloud.server.down(FAILING)
    await cloud.due()
    chat.clock.advance(60)
    fresh = chat.add_link(sam)
    cloud.put("create", fresh)
    claimed = [message.body.link_id for message in cloud.claim(8)]
    assert (claimed[0], len(claimed)) == (fresh.id, 1 + MOST_IN_GROUP)
