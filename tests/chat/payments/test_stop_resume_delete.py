"""Stopping, resuming and deleting: what is said is what was done, though the answer was lost."""

from __future__ import annotations

import pytest

from bot.chat.cards.card_text import seller_card
from bot.chat.cards.request_card import card_of
from bot.chat.payments import client
from bot.chat.payments.client import Client
from bot.chat.store.link_rows import DELETED, LIVE, STOPPED, PaymentLink
from bot.core.text.translations import t
from tests.support.chat_harness import ChatHarness
from tests.support.http_peers import (
    BROKEN,
    FAILING,
    HTML,
    LOST,
    SILENT,
    SLOW,
    ServerFailure,
    http_response,
)
from tests.support.request_jobs import PLACE, HandCashJobs, RequestJobs, service_text

CHANGES = [
    ("stop", "PUT", LIVE, STOPPED),
    ("resume", "PUT", STOPPED, LIVE),
    ("delete-yes", "DELETE", LIVE, DELETED),
]


@pytest.fixture
async def link(cloud: HandCashJobs, chat: ChatHarness) -> PaymentLink:
    """Create a request, and clear its messages."""
    made = chat.add_link(chat.add_person("Sam"))
    await cloud.create(made)
    chat.clear_messages()
    return chat.link(made.id)


async def standing(cloud: HandCashJobs, link: PaymentLink, state: str) -> None:
    """Set a request to the state in which a test begins."""
    if state == STOPPED:
        await asked(cloud, "stop", link)
        cloud.chat.clock.advance(5)
        cloud.chat.clear_messages()
    assert cloud.state(link) == state


async def asked(cloud: HandCashJobs, call: str, link: PaymentLink) -> None:
    cloud.put(call, link, **PLACE)
    await cloud.due()


def shown(chat: ChatHarness, link: PaymentLink) -> str:
    """Return the text of the current card."""
    return seller_card(card_of(chat.link(link.id), chat.clock()), "en").text


@pytest.mark.parametrize(("call", "method", "before", "after"), CHANGES)
@pytest.mark.parametrize(
    "failure", [LOST, ServerFailure(HTML.answer, works=True)], ids=["cut", "html"]
)
async def test_after_a_lost_answer_a_change_is_found_by_fetching_the_request(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink, failure: ServerFailure, *,
    call: str, method: str, before: str, after: str,
) -> None:  # fmt: skip
    await standing(cloud, link, before)
    if call == "resume":  # the first form of it is refused by this server
        cloud.server.fail(method, ServerFailure(works=True))
    cloud.server.fail(method, failure)
    await asked(cloud, call, link)
    assert (cloud.state(link), len(chat.said)) == (after, 1)
    gone = after == DELETED
    assert chat.texts == [t("en", "listing-deleted", name="Coffee") if gone else shown(chat, link)]


@pytest.mark.parametrize(("call", "method", "before"), [change[:3] for change in CHANGES])
async def test_a_change_that_was_not_made_is_not_confirmed(
    cloud: HandCashJobs,
    chat: ChatHarness,
    link: PaymentLink,
    *,
    call: str,
    method: str,
    before: str,
) -> None:
    await standing(cloud, link, before)
    cloud.server.fail(method, BROKEN)
    await asked(cloud, call, link)
    assert cloud.state(link) == before
    assert chat.texts == [shown(chat, link), service_text("unchanged")]


@pytest.mark.parametrize(
    ("call", "before", "after", "sign"),
    [("stop", LIVE, STOPPED, "⏸"), ("resume", STOPPED, LIVE, "🟢")],
)
async def test_a_confirmed_change_is_shown_even_if_the_server_then_fails(
    cloud: HandCashJobs,
    chat: ChatHarness,
    link: PaymentLink,
    *,
    call: str,
    before: str,
    after: str,
    sign: str,
) -> None:
    await standing(cloud, link, before)
    cloud.server.fail("GET", BROKEN)
    await asked(cloud, call, link)
    assert (cloud.state(link), chat.texts) == (after, [shown(chat, link)])
    assert sign in chat.texts[0]


@pytest.mark.parametrize(("call", "before"), [(change[0], change[2]) for change in CHANGES])
async def test_a_change_at_an_unreachable_server_is_reported_as_not_done(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink, call: str, before: str
) -> None:
    await standing(cloud, link, before)
    nobody = Client("http://127.0.0.1:1", "app", "secret")
    calling = RequestJobs(chat, nobody)
    calling.put(call, link, **PLACE)
    await calling.due()
    await nobody.close()
    assert (cloud.state(link), chat.texts) == (before, [service_text("not-done")])


async def test_wrong_credentials_are_not_shown_as_a_refusal_of_the_seller(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    cloud.server.app_secret = "another"
    await asked(cloud, "stop", link)
    assert (cloud.state(link), chat.texts) == (LIVE, [service_text("closed")])


@pytest.mark.long
async def test_a_stop_that_took_effect_late_is_found_by_the_next_check(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server was still at work when it was asked: the text promises nothing."""
    monkeypatch.setattr(client, "SECONDS", 1.0)
    impatient = Client(cloud.server.url, cloud.server.app_id, cloud.server.app_secret)
    calling = RequestJobs(chat, impatient)
    cloud.server.fail("PUT", SLOW)
    calling.put("stop", link, **PLACE)
    await calling.due()
    assert chat.texts[1:] == [service_text("unchanged")]
    cloud.server.release()
    await cloud.server.until(lambda: cloud.server.only.expires_at)
    chat.clock.advance(5)
    calling.put("refresh", link, **PLACE)
    await calling.due()
    await impatient.close()
    assert "⌛" in chat.texts[2]


async def test_a_request_that_is_active_at_the_server_is_not_stopped_here(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    """The answer to its resume was lost, and the fetch after it failed."""
    await standing(cloud, link, STOPPED)
    cloud.server.fail("PUT", ServerFailure(works=True), LOST)
    cloud.server.fail("GET", BROKEN)
    await asked(cloud, "resume", link)
    assert (cloud.state(link), chat.texts) == (STOPPED, [service_text("silent")])
    await asked(cloud, "refresh", link)
    assert (cloud.state(link), chat.texts[1]) == (LIVE, shown(chat, link))


async def test_a_stopped_request_stays_stopped_when_it_is_checked(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    """It stays stopped during the second that a stop takes, too."""
    await asked(cloud, "stop", link)
    await asked(cloud, "refresh", link)
    assert cloud.state(link) == STOPPED
    chat.clock.advance(5)
    await asked(cloud, "refresh", link)
    assert cloud.state(link) == STOPPED


async def test_two_presses_in_a_row_are_one_change(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    for call in ("stop", "stop", "delete-yes", "delete-yes"):
        cloud.put(call, link, **PLACE)
    await cloud.due()
    gone = t("en", "listing-deleted", name="Coffee")
    assert chat.texts[2:] == [gone, gone]
    assert (cloud.server.asked("DELETE"), cloud.waiting) == (1, [])


@pytest.mark.parametrize("call", ["card", "refresh", "stop", "resume"])
async def test_a_press_after_a_delete_is_answered_as_gone(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink, call: str
) -> None:
    await asked(cloud, "delete-yes", link)
    before = len(cloud.server.calls)
    await asked(cloud, call, link)
    assert chat.texts[1:] == [service_text("gone")]
    assert len(cloud.server.calls) == before


@pytest.mark.long
async def test_a_server_that_hangs_delays_one_request_and_no_other(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "SECONDS", 1.0)
    impatient = Client(cloud.server.url, cloud.server.app_id, cloud.server.app_secret)
    calling = RequestJobs(chat, impatient, instrument="BSV")
    other = chat.add_link(chat.add_person("Ann"))
    cloud.server.fail("GET", SILENT)
    calling.put("refresh", link, **PLACE)
    chat.clock.advance(0.001)  # the press waits longer, so it is claimed first
    calling.put("create", other)
    await calling.due()
    await impatient.close()
    assert chat.texts[0] == service_text("no-news")
    assert (calling.state(other), calling.waiting) == (LIVE, [])


@pytest.mark.parametrize(
    "failure", [FAILING, HTML, ServerFailure(http_response(302, Location="http://x.test"))]
)
async def test_a_card_that_cannot_be_refreshed_is_shown_as_last_known(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink, failure: ServerFailure
) -> None:
    cloud.server.down(failure)
    await asked(cloud, "card", link)
    assert chat.texts == [service_text("stale"), shown(chat, link)]
