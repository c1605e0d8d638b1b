"""A seller's profile on its way to the service: with new requests, and after a change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.chat.forms.seller_texts import offer_key
from bot.chat.model.drafts import Profile
from bot.chat.model.jobs import SendProfile
from bot.chat.payments.client import Client
from bot.chat.payments.seller_jobs import (
    ATTEMPTS_IN_TURN,
    PROFILE_PATIENCE,
    PROFILE_SPACING,
    REFUSAL_KEPT,
    SENT_AT_ONCE,
)
from bot.chat.store import link_rows, seller_rows
from bot.chat.store.link_rows import PaymentLink
from bot.core import exact_json
from bot.core.database.vault import Vault
from bot.sandbox.world.people import Person
from bot.service.pages.app import create_app
from bot.service.requests import applications
from tests.support.asgi_server import serve_asgi
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer
from tests.support.handcash_server import handcash
from tests.support.http_peers import CUT, ScriptedServer, http_response, open_scripted_server
from tests.support.outbox_queue import bodies
from tests.support.request_jobs import IMAGES, RequestJobs, create_answer, list_answer
from tests.support.service_harness import make_service

IMAGE = "0123456789ab0123456789ab"
ANNA = Profile("Anna's Bakery", IMAGE, "Bread", "@anna_bakes", "green")
SENT = {
    "name": "Anna's Bakery",
    "imageUrl": f"{IMAGES}/{IMAGE}",
    "contact": "@anna_bakes",
    "accentColor": "green",
    "description": "Bread",
}
RECEIVER = "https://hooks.example.org/payments"
CARD = "<b>Tea</b>"
OFFER = "Payers trust a name. Should your links say they're from <b>Anna</b>?"


@pytest.fixture
def anna(chat: ChatHarness) -> Person:
    """Add a seller who knows where the money goes."""
    person = chat.add_person("Anna")

    def known(tx: Any) -> None:
        seller_rows.ensure_seller(tx, person.id, "en", chat.clock())
        seller_rows.change(tx, person.id, destination="$anna")

    chat.db.run(known)
    return person


def save(chat: ChatHarness, person: Person, wanted: Profile) -> int:
    return chat.db.run(lambda tx: seller_rows.save_profile(tx, person.id, wanted))


@asynccontextmanager
async def slices(chat: ChatHarness) -> AsyncIterator[RequestJobs]:
    """Run the chat's jobs against the service, over HTTP, both on one database."""
    vault = Vault("key")
    made = chat.db.run(lambda tx: applications.create(tx, vault, "bot", chat.clock()))
    async with serve_asgi(create_app(make_service(chat.db, chat.clock))) as root:
        client = Client(root, made.app_id, made.app_secret, owners=True)
        try:
            yield RequestJobs(chat, client, receiver=RECEIVER, settling=0)
        finally:
            await client.close()


@asynccontextmanager
async def foreign(chat: ChatHarness) -> AsyncIterator[tuple[RequestJobs, ScriptedServer]]:
    """Run the chat's jobs against another server, which follows a script."""
    async with open_scripted_server() as peer:
        client = Client(peer.url, "id", "secret")
        try:
            yield RequestJobs(chat, client, url=peer.url), peer
        finally:
            await client.close()


async def order(chat: ChatHarness, person: Person, name: str = "Tea") -> None:
    await chat.says(person, f"/donation 5 USD {name}")


async def test_each_create_names_its_seller_to_the_embedded_service_alone(
    chat: ChatHarness, anna: Person
) -> None:
    """With test money too: an account that it names has to be its seller's own."""
    async with slices(chat) as jobs:
        await order(chat, anna)
        await jobs.due()
    assert [row["owner"] for row in chat.rows("payment_requests")] == [f"seller-{anna.id}"]
    async with foreign(chat) as (jobs, peer):
        await order(chat, anna, "Cake")
        await peer.add_answers(create_answer(COFFEE))
        await jobs.due()
        assert "owner-ref" not in peer.calls[0].headers
        assert b"seller-" not in peer.calls[0].body


async def order_three(chat: ChatHarness, person: Person, jobs: RequestJobs) -> None:
    for name in ("Tea", "Cake", "Bread"):
        await order(chat, person, name)
        await jobs.due()
        chat.clock.advance(1)


async def shown(jobs: RequestJobs, chat: ChatHarness) -> list[Any]:
    """Return the seller of each request at the service, the oldest request first."""
    ids = [row["request_id"] for row in chat.rows("listings")]
    return [(await jobs.client.get_with_fields(each))[1].get("seller") for each in ids]


def sent(peer: ScriptedServer) -> list[Any]:
    """Return the seller in each body that a server was sent; "none" where a body has none."""
    calls = (call for call in peer.calls if call.body)
    return [exact_json.loads(call.body).get("seller", "none") for call in calls]


async def test_the_profile_is_asked_for_once_after_the_card_of_the_first_link(
    chat: ChatHarness, anna: Person
) -> None:
    async with slices(chat) as jobs:
        await order(chat, anna)
        await jobs.due()
        assert [text.partition("\n")[0] for text in chat.texts] == [CARD, OFFER]
        assert chat.rows("drafts") == []
        await order(chat, anna)
        await jobs.due()
        assert [text.partition("\n")[0] for text in chat.texts] == [CARD, OFFER, CARD]


async def test_who_has_a_name_is_not_asked(chat: ChatHarness, anna: Person) -> None:
    save(chat, anna, ANNA)
    async with slices(chat) as jobs:
        await order(chat, anna)
        await jobs.due()
        assert len(chat.texts) == 1
        assert await shown(jobs, chat) == [SENT]


async def test_the_name_on_the_button_reaches_the_link_at_once(
    chat: ChatHarness, anna: Person
) -> None:
    async with slices(chat) as jobs:
        await order(chat, anna)
        await jobs.due()
        assert await shown(jobs, chat) == [None]
        await chat.presses(anna, f"profile:use:{offer_key('Anna')}")
        await jobs.due()
        assert await shown(jobs, chat) == [{"name": "Anna"}]


@pytest.mark.simulation
async def test_a_change_reaches_250_links_one_at_a_time_at_a_pace(
    chat: ChatHarness, anna: Person
) -> None:
    async with slices(chat) as jobs:
        await order(chat, anna)
        await jobs.due()
        for number in range(249):
            body = {
                "product": {"name": f"Tea {number}"},
                "receivers": [{"sendAmount": 5, "destination": "$anna"}],
                "currencyCode": "USD",
                "expirationType": "never",
            }
            answer = await jobs.client.create(body, f"key-{number}")
            chat.clock.advance(1)
            chat.add_link(anna, told=answer)
        chat.clear_messages()
        await chat.presses(anna, f"profile:use:{offer_key('Anna')}")
        most, began = 0, chat.clock()
        while waiting := bodies(chat.db, chat.queues.jobs):
            most = max(most, len(waiting))
            chat.clock.advance((jobs.waits or 0) / 1000)
            (message,) = jobs.claim()
            await jobs.handler.perform(message)
        assert most == 1
        assert chat.clock() - began == (249 - SENT_AT_ONCE) * PROFILE_SPACING
        assert await shown(jobs, chat) == [{"name": "Anna"}] * 250


async def test_what_the_profile_lost_is_cleared_at_the_service(
    chat: ChatHarness, anna: Person
) -> None:
    save(chat, anna, ANNA)
    async with slices(chat) as jobs:
        await order(chat, anna)
        await jobs.due()
        await chat.presses(anna, "settings:sellercontact")
        draft = exact_json.loads(chat.rows("drafts")[0]["body"])["id"]
        await chat.presses(anna, f"draft:{draft}:clear:sellercontact")
        await jobs.due()
        assert await shown(jobs, chat) == [{k: v for k, v in SENT.items() if k != "contact"}]
        await chat.presses(anna, "settings:sellername")
        draft = exact_json.loads(chat.rows("drafts")[0]["body"])["id"]
        await chat.presses(anna, f"draft:{draft}:clear:sellername")
        await jobs.due()
        assert await shown(jobs, chat) == [None]


async def test_a_crash_half_way_loses_no_link(chat: ChatHarness, anna: Person) -> None:
    async with slices(chat) as jobs:
        await order_three(chat, anna, jobs)
        await chat.presses(anna, f"profile:use:{offer_key('Anna')}")
        (message,) = jobs.claim()
        await jobs.handler.perform(message)
        jobs.crash()
        await jobs.due()
        assert await shown(jobs, chat) == [{"name": "Anna"}] * 3


async def test_the_latest_of_two_changes_wins(chat: ChatHarness, anna: Person) -> None:
    """The jobs of the first change end without effect, wherever they are."""
    async with slices(chat) as jobs:
        await order_three(chat, anna, jobs)
        await chat.presses(anna, f"profile:use:{offer_key('Anna')}")
        (message,) = jobs.claim()
        await jobs.handler.perform(message)
        await chat.presses(anna, "settings:sellername")
        await chat.says(anna, "Anna & Mia")
        assert {job.version for job in chat.jobs if isinstance(job, SendProfile)} == {1, 2}
        await jobs.due()
        assert await shown(jobs, chat) == [{"name": "Anna & Mia"}] * 3
        assert chat.jobs == []


async def test_a_change_while_a_link_is_made_reaches_it(chat: ChatHarness, anna: Person) -> None:
    """Jobs of a change pass over what is not made yet."""
    save(chat, anna, Profile("Anna"))
    async with foreign(chat) as (jobs, peer):
        link = chat.add_link(anna)
        jobs.put("create", link)
        await peer.add_answers(CUT)
        await jobs.due()
        save(chat, anna, Profile("Mia"))
        chat.clock.advance(70)
        await peer.add_answers(list_answer(link))
        (message,) = jobs.claim()
        await jobs.handler.perform(message)
        assert sent(peer) == [{"name": "Anna"}]
        assert chat.jobs == [SendProfile(link.id, version=2)]


async def test_a_server_that_knows_no_seller_is_asked_once_and_the_link_is_made_all_the_same(
    chat: ChatHarness, anna: Person
) -> None:
    save(chat, anna, ANNA)
    refused = {"code": "invalidBody", "message": '"seller" is not allowed', "info": []}
    refusal = http_response(400, exact_json.dumps(refused).encode())
    async with foreign(chat) as (jobs, peer):
        first, second = chat.add_link(anna), chat.add_link(anna)
        await peer.add_answers(refusal, create_answer(COFFEE))
        jobs.put("create", first)
        await jobs.due()
        assert sent(peer) == [SENT, "none"]
        assert jobs.state(first) == "live"
        assert len(chat.texts) == 1
        await peer.add_answers(http_response(500, b"{}"))
        jobs.put("create", second)
        await jobs.due()
        assert sent(peer) == [SENT, "none", "none"]
        keys = [call.headers["idempotency-key"] for call in peer.calls]
        assert keys == [first.id, f"{first.id}.plain", second.id]


async def test_a_server_that_refused_is_tried_again_after_a_week(
    chat: ChatHarness, anna: Person
) -> None:
    """It may have been updated."""
    save(chat, anna, ANNA)
    refusal = http_response(400, b'{"message": "unknown field"}')
    async with foreign(chat) as (jobs, peer):
        await peer.add_answers(refusal, create_answer(COFFEE))
        jobs.put("create", chat.add_link(anna))
        await jobs.due()
        chat.clock.advance(REFUSAL_KEPT / 1000 + 1)
        await peer.add_answers(http_response(500, b"{}"))
        jobs.put("create", chat.add_link(anna))
        await jobs.due()
        assert sent(peer) == [SENT, "none", SENT]


async def test_a_refusal_of_something_else_reaches_the_seller_as_before(
    chat: ChatHarness, anna: Person
) -> None:
    save(chat, anna, ANNA)
    refused = {"message": "too long", "info": [{"field": "product.name", "message": "too long"}]}
    refusal = http_response(400, exact_json.dumps(refused).encode())
    async with foreign(chat) as (jobs, peer):
        await peer.add_answers(refusal, refusal)
        link = chat.add_link(anna)
        jobs.put("create", link)
        await jobs.due()
        assert sent(peer) == [SENT, "none"]
        assert "too long" in chat.texts[-1]
        assert chat.rows("seller_refusals") == []


async def test_a_refused_change_only_redraws_the_cards(chat: ChatHarness, anna: Person) -> None:
    chat.add_link(anna, told=service_answer())
    newest = chat.add_link(anna, told=service_answer(id="2" * 24))
    version = save(chat, anna, Profile("Anna"))
    async with foreign(chat) as (jobs, peer):
        await peer.add_answers(*[http_response(400, b'{"message": "unknown field"}')] * 2)
        jobs.put_job(SendProfile(newest.id, version, goes_on=True))
        await jobs.due()
        assert len(peer.calls) == 2  # once more without nulls; the older link is not tried
        assert len(chat.rows("seller_refusals")) == 1
        assert chat.jobs == []


async def test_links_go_on_without_one_that_fails(chat: ChatHarness, anna: Person) -> None:
    """It is tried again in the background until the patience ends."""
    older = chat.add_link(anna, told=service_answer())
    chat.clock.advance(1)
    newest = chat.add_link(anna, told=service_answer(id="2" * 24))
    version = save(chat, anna, Profile("Anna"))
    async with foreign(chat) as (jobs, peer):
        jobs.put_job(SendProfile(newest.id, version, goes_on=True))
        await peer.add_answers(*[http_response(500, b"{}")] * (ATTEMPTS_IN_TURN + 1))
        for _ in range(ATTEMPTS_IN_TURN):
            await jobs.due()
            chat.clock.advance((jobs.waits or 0) / 1000)
        waiting = {job.link_id: job.goes_on for job in chat.jobs if isinstance(job, SendProfile)}
        assert waiting == {newest.id: False, older.id: True}
        chat.clock.advance(PROFILE_PATIENCE / 1000 + 1)
        await peer.add_answers(*[http_response(500, b"{}")] * 2)
        await jobs.due()
        assert chat.jobs == []


async def test_handcash_never_gets_a_seller(chat: ChatHarness, anna: Person) -> None:
    save(chat, anna, ANNA)
    async with handcash(now=lambda: chat.clock() / 1000) as server:
        client = Client(server.url, server.app_id, server.app_secret)
        jobs = RequestJobs(chat, client, instrument="BSV", url="https://cloud.handcash.io")
        link = chat.add_link(anna)
        jobs.put("create", link)
        await jobs.due()
        jobs.put_job(SendProfile(link.id, 1, goes_on=True))
        await jobs.due()
        await client.close()
        assert "seller" not in server.only.body
        assert server.asked("PUT") == 0


async def test_without_a_profile_a_create_is_what_it_was(chat: ChatHarness, anna: Person) -> None:
    async with foreign(chat) as (jobs, peer):
        await peer.add_answers(create_answer(COFFEE))
        jobs.put("create", chat.add_link(anna))
        await jobs.due()
        assert sent(peer) == ["none"]


def deleted(chat: ChatHarness, link: PaymentLink) -> None:
    chat.db.run(lambda tx: link_rows.set_state(tx, link.id, "deleted"))


async def test_a_link_that_was_deleted_meanwhile_is_passed_over(
    chat: ChatHarness, anna: Person
) -> None:
    older = chat.add_link(anna, told=service_answer())
    chat.clock.advance(1)
    newest = chat.add_link(anna, told=service_answer(id="2" * 24))
    version = save(chat, anna, Profile("Anna"))
    deleted(chat, newest)
    async with foreign(chat) as (jobs, peer):
        await peer.add_answers(http_response(200, b"{}"))
        jobs.put_job(SendProfile(newest.id, version, goes_on=True))
        await jobs.due()
        assert [call.path.rpartition("/")[2] for call in peer.calls] == [older.request_id]
