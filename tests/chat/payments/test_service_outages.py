"""What the seller and the operator hear while a request can't be created."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.chat.model.jobs import CreateProgress, CreateRequest, ReplyTo
from bot.chat.model.queues import BACKGROUND
from bot.chat.payments.client import Client
from bot.chat.payments.create_job import COPIES_DELAY, PATIENCE
from bot.chat.store import seller_rows
from bot.chat.store.link_rows import CREATING, FAILED, LIVE, PaymentLink
from bot.core.outbox.queue_policy import NOTICE
from tests.support.asgi_server import make_certificate, open_tcp_relay
from tests.support.chat_harness import COFFEE, ChatHarness
from tests.support.free_ports import free_port
from tests.support.http_peers import (
    BROKEN,
    EMPTY,
    FAILING,
    HTML,
    LOST,
    WRONG,
    ServerFailure,
    busy,
    http_response,
    redirect,
)
from tests.support.request_jobs import HandCashJobs, RequestJobs, service_text


@pytest.fixture
def link(chat: ChatHarness) -> PaymentLink:
    return chat.add_link(chat.add_person("Sam"))


ODD = [HTML, EMPTY, WRONG, *(redirect(code, "http://x.test/") for code in (301, 302, 307))]


@pytest.mark.parametrize("failure", ODD, ids=range(len(ODD)))
async def test_answers_of_another_server_are_retried_and_tell_the_operator_the_fix(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink, failure: ServerFailure
) -> None:
    """A maintenance page passes by itself, a wrong address does not: nothing is given up."""
    cloud.server.down(failure)
    with capture_logs() as logs:
        await cloud.create(link)
        await cloud.advance(200)
    assert chat.texts == [service_text("odd")]
    assert {(line["log_level"], line["fix"]) for line in logs} == {("error", "check PAYMENTS_URL")}
    cloud.server.down(None)
    await cloud.advance(120)
    assert (cloud.state(link), len(cloud.server.made)) == (LIVE, 1)
    assert len(chat.said) == 2


async def test_each_kind_of_failure_has_one_text_and_the_end_another(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    await cloud.create(link, FAILING)
    for failure in (HTML, FAILING, busy(1), HTML, BROKEN):
        cloud.server.down(failure)
        await cloud.advance(90)
    chat.clock.advance(PATIENCE / 1000)
    await cloud.due()
    assert chat.texts == [
        service_text("waiting"),
        service_text("odd"),
        service_text("busy"),
        service_text("given-up"),
    ]
    assert cloud.state(link) == FAILED


async def test_a_given_up_request_is_deleted_if_it_was_made_after_all(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    """The seller was asked to create it again."""
    await cloud.create(link, LOST)
    cloud.server.down(FAILING)
    chat.clock.advance(PATIENCE / 1000 + 1)
    await cloud.due()
    assert (cloud.state(link), len(cloud.server.made)) == (FAILED, 1)
    await cloud.advance(COPIES_DELAY / 1000 + 10)
    cloud.server.down(None)
    await cloud.advance(60)
    assert (cloud.server.made, cloud.waiting) == ({}, [])


@pytest.mark.parametrize("status", [401, 403])
async def test_wrong_credentials_end_a_create_with_a_clear_text(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink, status: int
) -> None:
    with capture_logs() as logs:
        await cloud.create(link, ServerFailure(http_response(status)))
    assert chat.texts == [service_text("locked")]
    assert (cloud.state(link), cloud.waiting) == (FAILED, [])
    assert [line["fix"] for line in logs] == ["check APP_ID and APP_SECRET"]


async def test_wrong_credentials_end_no_create_that_may_have_been_made(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    await cloud.create(link, LOST)
    secret, cloud.server.app_secret = cloud.server.app_secret, "another"
    await cloud.advance(30)
    assert (cloud.state(link), chat.texts) == (
        CREATING,
        [service_text("waiting"), service_text("odd")],
    )
    cloud.server.app_secret = secret
    await cloud.advance(60)
    assert (cloud.state(link), cloud.shown(link)) == (LIVE, cloud.server.only.id)


async def test_an_untrusted_certificate_is_named_in_the_log(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink, tmp_path: Path
) -> None:
    """Nothing is sent to such a server; the seller reads that it does not answer."""
    front = free_port()
    async with open_tcp_relay(
        cloud.server.url.rpartition(":")[2], front, make_certificate(tmp_path)
    ):
        client = Client(f"https://127.0.0.1:{front}", "app", "secret")
        calling = RequestJobs(chat, client)
        calling.put("create", link)
        with capture_logs() as logs:
            await calling.due()
        await client.close()
    assert chat.texts == [service_text("waiting")]
    assert "certificate verify failed" in logs[0]["reason"]
    assert cloud.server.calls == []


async def test_a_name_that_is_too_long_for_the_server_is_asked_for_again(
    cloud: HandCashJobs, chat: ChatHarness
) -> None:
    """The server names the field only in its message."""
    sam = chat.add_person("Sam")
    link = chat.add_link(sam, replace(COFFEE, name="C" * 26))
    chat.db.run(lambda tx: seller_rows.change(tx, sam.id, destination="$anna"))
    await cloud.create(link)
    draft = chat.db.run(lambda tx: seller_rows.find_draft(tx, sam.id, sam.id))
    assert draft
    assert draft.step == "name"
    assert "less than or equal to 25 characters" in chat.texts[0]
    assert (cloud.state(link), cloud.waiting) == (FAILED, [])


async def test_a_retry_is_the_same_message_in_the_background_with_what_is_known(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    """A new row would be claimed behind all that was queued since, and count from one again."""
    cloud.put("create", link)
    (before,) = chat.rows("outbox")
    cloud.server.fail("POST", BROKEN)
    await cloud.due()
    (after,) = [row for row in chat.rows("outbox") if row["queue"] == "jobs"]
    assert (after["id"], after["attempts"], after["uncertain"]) == (before["id"], 1, 0)
    assert (after["lane"], after["priority"]) == (f"{BACKGROUND}{link.id}", NOTICE)
    progress = CreateProgress(lost=1, lost_at=chat.clock(), sent_texts=("service-waiting",))
    reply_to = ReplyTo(link.chat_id, "en")
    assert chat.jobs == [CreateRequest(link.id, reply_to, progress)]
