"""Calls of the service: one request a spec, whatever is lost, and the seller always told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal

import pytest

from bot.chat.model.payloads import CardMessage
from bot.chat.model.remote_request import ServerPrice
from bot.chat.model.replies import TEXT_LIMIT, shown_units
from bot.chat.model.request_spec import RequestSpec
from bot.chat.payments.client import Client
from bot.chat.payments.create_job import COPIES_DELAY, PATIENCE
from bot.chat.payments.job_context import RETRIES
from bot.chat.store import post_rows, seller_rows
from bot.chat.store.link_rows import CREATING, DELETED, FAILED, LIVE, STOPPED
from bot.core import exact_json
from bot.core.text.translations import t
from bot.sandbox.world.people import Person
from tests.support.chat_harness import (
    COFFEE,
    REQUEST_ID,
    STICKERS,
    URL,
    ChatHarness,
    service_answer,
)
from tests.support.http_peers import CUT, http_response, open_scripted_server
from tests.support.request_jobs import (
    PLACE,
    RECEIVER,
    ScriptedJobs,
    create_answer,
    list_answer,
    price_fields,
)


@pytest.fixture
async def asking(chat: ChatHarness) -> AsyncIterator[ScriptedJobs]:
    async with open_scripted_server() as peer:
        client = Client(peer.url, "app", "secret")
        yield ScriptedJobs(chat, peer, client)
        await client.close()


async def test_create_sends_the_spec_as_the_interface_has_it(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person
) -> None:
    link = chat.add_link(sam, STICKERS)
    await asking.ask("create", link, create_answer(STICKERS))
    (call,) = asking.peer.calls
    assert call.headers["idempotency-key"] == link.id
    assert exact_json.loads(call.body) == {
        "product": {"name": "Stickers", "description": "A pack"},
        "instrumentCurrencyCode": "USD",
        "receivers": [{"sendAmount": Decimal("2.50"), "destination": "$anna"}],
        "notifications": {
            "webhook": {
                "webhookUrl": f"{RECEIVER}/{link.token}",
                "customParameters": {"listing": link.id},
            }
        },
        "expirationType": "limit",
        "totalUnits": 3,
    }


@pytest.mark.parametrize(
    ("minor", "currency", "amount"),
    [
        (1, "USD", "0.01"),
        (30, "USD", "0.3"),
        (1, "BSV", "0.00000001"),
        (100_000_000_000_000_000, "BSV", "1000000000"),
        (99_999_999_999_999_999, "BTC", "999999999.99999999"),
        (5, "JPY", "5"),
    ],
)
async def test_amounts_are_sent_exactly(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person, *, minor: int, currency: str, amount: str
) -> None:
    spec = RequestSpec("donation", "Coffee", None, minor, currency, None, "$anna")
    await asking.ask("create", chat.add_link(sam, spec), create_answer(spec))
    (receiver,) = exact_json.loads(asking.peer.calls[0].body)["receivers"]
    assert receiver["sendAmount"] == Decimal(amount)


async def test_a_request_that_is_made_is_shown_as_a_card_with_its_code(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person
) -> None:
    link = chat.add_link(sam, STICKERS)
    await asking.ask("create", link, create_answer(STICKERS))
    kept = chat.link(link.id)
    assert (kept.state, kept.request_id, kept.answer) == (
        LIVE,
        REQUEST_ID,
        service_answer(remaining_units=3, price=ServerPrice("2.50", "USD", "USD")),
    )
    (card,) = chat.said
    assert card == CardMessage(link.id, "en")
    assert chat.states(chat.queues.jobs) == []


async def test_a_new_requests_end_is_scheduled(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person
) -> None:
    """Its cards expire even if nothing else ever happens to it."""
    end = chat.clock() + 3_600_000
    link = chat.add_link(sam, replace(STICKERS, ends_at=end))
    made = {"id": REQUEST_ID, "paymentRequestUrl": URL, "expiresAt": end // 1000}
    answer = exact_json.dumps(made | price_fields(STICKERS)).encode()
    await asking.ask("create", link, http_response(200, answer))
    assert chat.db.run(post_rows.next_due) == end // 1000 * 1000


async def test_a_create_that_never_arrived_is_made_again_under_the_same_key(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person
) -> None:
    link = chat.add_link(sam)
    asking.put("create", link)
    await asking.work(CUT)
    chat.clock.advance(60)
    asked = await asking.work(list_answer(), create_answer(COFFEE))
    assert asked == [("GET", "paymentRequests"), ("POST", "paymentRequests")]
    keys = {call.headers["idempotency-key"] for call in asking.peer.calls if call.method == "POST"}
    assert keys == {link.id}


DOWN = [
    *(
        CUT,
        http_response(500),
        http_response(503),
        http_response(429),
        http_response(302, Location="http://x.test/"),
        http_response(418),
    ),
    *(http_response(404), http_response(405)),
    *(http_response(200, b"<html>"), http_response(200, {}), http_response(200, {"id": 5})),
]


@pytest.mark.parametrize(
    ("failure", "words"),
    [*zip(DOWN, ["waiting"] * 3 + ["busy"] + ["odd"] * 7, strict=True)],
    ids=range(len(DOWN)),
)
async def test_during_an_outage_the_seller_gets_one_text_and_then_the_card(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person, *, failure: bytes, words: str
) -> None:
    link = chat.add_link(sam)
    asking.put("create", link)
    for wait in RETRIES.delays:
        await asking.work(failure)
        assert asking.waits == wait
        assert chat.texts == [t("en", f"service-{words}", name="Coffee")]
        chat.clock.advance(wait / 1000)
    await asking.work(list_answer(), create_answer(COFFEE))
    assert (asking.waits in {None, COPIES_DELAY}, asking.state(link)) == (True, LIVE)
    assert [body.method for body in chat.said] == ["sendMessage", "sendPhoto"]


@pytest.mark.parametrize(
    ("asked", "wait"), [("1", 1000), ("17", 17_000), ("0", 1000), ("999999", RETRIES.longest_asked)]
)
async def test_the_services_retry_after_is_respected(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person, asked: str, wait: int
) -> None:
    await asking.ask("create", chat.add_link(sam), http_response(429, Retry_After=asked))
    assert asking.waits == wait


async def test_a_create_is_given_up_after_a_day_of_outage(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person
) -> None:
    """The service forgets idempotency keys after 24 hours."""
    link = chat.add_link(sam)
    await asking.ask("create", link, CUT)
    chat.clock.advance(PATIENCE / 1000 + 1)
    await asking.work(CUT)
    assert (asking.waiting, asking.state(link)) == (["tidy"], FAILED)
    assert chat.texts[1:] == [t("en", "service-given-up", name=COFFEE.name)]


async def test_a_refusal_opens_the_form_at_the_step_it_is_about(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person
) -> None:
    link = chat.add_link(sam, STICKERS)
    chat.db.run(lambda tx: seller_rows.change(tx, sam.id, destination="$anna"))
    info = [{"field": "receivers[0].sendAmount", "message": "Up to <25> characters."}]
    refusal = http_response(400, {"code": "invalidBody", "message": "Words.", "info": info})
    await asking.ask("create", link, refusal)
    (row,) = chat.rows("drafts")
    assert exact_json.loads(row["body"])["step"] == "amount"
    assert (asking.state(link), asking.waits) == (FAILED, None)
    (text,) = chat.texts
    assert "Up to &lt;25&gt; characters." in text


@pytest.mark.parametrize("call", ["create", "stop"])
async def test_a_refusal_of_any_length_is_shown(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person, call: str
) -> None:
    """Telegram refuses longer texts."""
    link = chat.add_link(sam, COFFEE, service_answer())
    await asking.ask(call, link, http_response(409, {"message": "<" * 5000}))
    (text,) = chat.texts
    assert shown_units(text) <= TEXT_LIMIT
    assert text.endswith("&lt;…")


@pytest.mark.parametrize("status", [409, 413, 415])
async def test_another_refusal_ends_a_create_and_is_shown(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person, status: int
) -> None:
    link = chat.add_link(sam)
    await asking.ask("create", link, http_response(status, {"message": "No <way>."}))
    assert chat.texts == [t("en", "service-refused", words="No &lt;way&gt;.")]
    assert (asking.state(link), asking.waits) == (FAILED, None)
    assert chat.rows("drafts") == []


@pytest.mark.parametrize(
    ("call", "state", "asked"),
    [
        ("stop", STOPPED, ["PUT", "GET"]),
        ("resume", LIVE, ["PUT", "GET"]),
        ("refresh", LIVE, ["GET"]),
        ("delete-yes", DELETED, ["DELETE"]),
    ],
)
async def test_a_change_is_made_and_shown_in_place(
    asking: ScriptedJobs,
    chat: ChatHarness,
    sam: Person,
    *,
    call: str,
    state: str,
    asked: list[str],
) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    await asking.ask(call, link, *[create_answer(COFFEE)] * len(asked), **PLACE)
    assert [one.method for one in asking.peer.calls] == asked
    assert asking.state(link) == state
    (shown,) = chat.said
    assert (shown.method, shown.message_id) == ("editMessageCaption", 5)


async def test_a_card_that_is_asked_for_is_a_new_message_with_fresh_data(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person
) -> None:
    link = chat.add_link(sam, STICKERS, service_answer(remaining_units=2))
    fresh = http_response(200, {"id": REQUEST_ID, "paymentRequestUrl": URL, "remainingUnits": 1})
    await asking.ask("card", link, fresh, **PLACE)
    assert chat.link(link.id).answer == service_answer(remaining_units=1)
    assert [body.method for body in chat.said] == ["sendPhoto"]


@pytest.mark.parametrize("call", ["card", "refresh", "stop", "resume"])
async def test_a_request_that_is_gone_at_the_service_leaves_the_list_with_a_text(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person, call: str
) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    answers = [http_response(404), http_response(200, {"items": []})]
    await asking.ask(call, link, *answers, **PLACE)
    asking.peer.answers.clear()
    assert asking.state(link) == DELETED
    assert chat.texts == [t("en", "service-gone", name="Coffee")]


@pytest.mark.parametrize("call", ["stop", "resume", "delete-yes"])
@pytest.mark.parametrize("failure", DOWN[:3], ids=range(3))
async def test_a_change_with_an_unknown_outcome_is_not_confirmed(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person, call: str, failure: bytes
) -> None:
    """Both the change and the fetch after it fail."""
    link = chat.add_link(sam, COFFEE, service_answer())
    await asking.ask(call, link, failure, failure, **PLACE)
    assert chat.texts == [t("en", "service-silent")]
    assert (asking.state(link), asking.waits) == (LIVE, None)
    assert len(asking.peer.calls) == 2


@pytest.mark.parametrize("call", ["stop", "resume", "delete-yes"])
async def test_a_throttled_change_is_reported_as_not_done(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person, call: str
) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    await asking.ask(call, link, http_response(429), **PLACE)
    assert chat.texts == [t("en", "service-not-done")]
    assert (asking.state(link), asking.waits) == (LIVE, None)
    assert len(asking.peer.calls) == 1


@pytest.mark.parametrize("failure", DOWN[:4], ids=range(4))
async def test_a_card_that_cannot_be_refreshed_stays_with_a_text(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person, failure: bytes
) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    await asking.ask("refresh", link, failure, **PLACE)
    assert chat.texts == [t("en", "service-no-news", name="Coffee")]
    assert (asking.state(link), asking.waits) == (LIVE, None)


async def test_a_waiting_link_delays_no_other(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person
) -> None:
    waits, goes = chat.add_link(sam), chat.add_link(sam, STICKERS)
    await asking.ask("create", waits, CUT)
    await asking.ask("create", goes, create_answer(STICKERS))
    assert (asking.state(waits), asking.state(goes)) == (CREATING, LIVE)


async def test_a_job_of_an_unknown_link_ends(
    asking: ScriptedJobs, chat: ChatHarness, sam: Person
) -> None:
    link = chat.add_link(sam)
    asking.put("create", link)
    chat.db.run(lambda tx: tx.execute("DELETE FROM listings"))
    assert (await asking.work(), asking.waits, chat.said) == ([], None, [])
