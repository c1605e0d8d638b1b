"""A request has its seller's price or is none: spellings tried in turn, whatever is cut short."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.chat.payments import create_attempt
from bot.chat.payments.create_job import COPIES_DELAY
from bot.chat.payments.request_bodies import SETTLING
from bot.chat.store import payment_rows
from bot.chat.store.link_rows import FAILED, LIVE, PaymentLink
from bot.chat.store.payment_rows import Payment
from bot.core.text.translations import t
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, STICKERS, ChatHarness
from tests.support.http_peers import BROKEN, FAILING, HTML, LOST, ServerFailure, busy
from tests.support.request_jobs import PLACE, HandCashJobs

TYPED, CORRECTED, SAMPLE = "denominationCurrencyCode", "currency", "denominatedIn"
FINE = ServerFailure(works=True)
LONG = (SETTLING + COPIES_DELAY) / 1000 * 2
OTHER = t(
    "en", "service-other-price", name="Coffee", charged="5.00 BSV", price="$5.00", left="no"
)  # fmt: skip


@pytest.fixture
def link(chat: ChatHarness, sam: Person) -> PaymentLink:
    return chat.add_link(sam)


def known(chat: ChatHarness, cloud: HandCashJobs) -> str | None:
    return chat.db.run(lambda tx: create_attempt.known_dialect(tx, cloud.server.url))


def is_sold_as_asked(cloud: HandCashJobs, link: PaymentLink) -> bool:
    """Check that the server has one request, of the seller's price, and the seller its link."""
    only = cloud.server.only
    price = (sum(one["sendAmount"] for one in only.body["receivers"]), only.price_in)
    shown = (cloud.state(link), cloud.shown(link))
    return (price, shown) == ((5, "USD"), (LIVE, only.id))


async def test_a_dialect_that_the_server_ignores_is_followed_by_the_next(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    """The request for 5 BSV is deleted first; the seller gets only the card of 5 USD."""
    cloud.server.understands = CORRECTED
    await cloud.create(link)
    assert is_sold_as_asked(cloud, link)
    assert [call.method for call in cloud.server.calls] == ["POST", "DELETE", "GET", "POST"]
    assert len(cloud.server.deleted) == 1
    assert [body.method for body in chat.said] == ["sendPhoto"]


async def test_each_dialect_has_its_own_idempotency_key(
    cloud: HandCashJobs, link: PaymentLink
) -> None:
    """A server refuses a known key with another body."""
    cloud.server.understands = CORRECTED
    await cloud.create(link)
    asked = [call for call in cloud.server.calls if call.method == "POST"]
    keys = [call.headers["idempotency-key"] for call in asked]
    assert keys == [link.id, f"{link.id}-corrected"]


async def test_the_dialect_that_worked_is_tried_first_also_after_a_restart(
    cloud: HandCashJobs, chat: ChatHarness, sam: Person, link: PaymentLink
) -> None:
    cloud.server.understands = CORRECTED
    await cloud.create(link)
    assert known(chat, cloud) == "corrected"
    cloud.handler = cloud.made(cloud.client, instrument="BSV", url=cloud.server.url)
    await cloud.create(second := chat.add_link(sam, STICKERS))
    assert (cloud.state(second), cloud.server.asked("POST")) == (LIVE, 3)


async def test_a_server_that_changes_its_dialect_is_followed(
    cloud: HandCashJobs, chat: ChatHarness, sam: Person, link: PaymentLink
) -> None:
    cloud.server.understands = CORRECTED
    await cloud.create(link)
    cloud.server.understands = TYPED
    await cloud.create(second := chat.add_link(sam, STICKERS))
    assert (cloud.state(second), known(chat, cloud)) == (LIVE, None)


async def test_each_server_has_its_own_dialect(cloud: HandCashJobs, chat: ChatHarness) -> None:
    other, used = "https://other.example", create_attempt.DIALECTS[1]
    chat.db.run(lambda tx: create_attempt.remember_dialect(tx, other, used, COFFEE, "BSV"))
    assert known(chat, cloud) is None


@pytest.mark.parametrize(
    ("understands", "refused"),
    [(TYPED, CORRECTED), (CORRECTED, TYPED), (TYPED, SAMPLE)],
)
async def test_a_dialect_that_the_server_refuses_is_followed_by_the_next(
    cloud: HandCashJobs, link: PaymentLink, understands: str, refused: str
) -> None:
    cloud.server.understands, cloud.server.refused = understands, frozenset({refused})
    await cloud.create(link)
    assert is_sold_as_asked(cloud, link)
    assert cloud.server.deleted == {}


async def test_if_every_dialect_fails_nothing_stays_and_the_seller_is_notified(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    cloud.server.understands = "nothing"
    await cloud.create(link)
    assert (cloud.state(link), cloud.server.made) == (FAILED, {})
    assert len(cloud.server.deleted) == 2
    assert chat.texts == [OTHER]
    await cloud.advance(LONG)
    assert (len(chat.said), cloud.waiting, known(chat, cloud)) == (1, [], None)


async def test_a_request_that_the_server_does_not_delete_is_reported(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    cloud.server.understands = "nothing"
    cloud.server.fail("DELETE", *[ServerFailure(REFUSES)] * 3)
    await cloud.create(link)
    assert cloud.state(link) == FAILED
    (text,) = chat.texts
    assert "I couldn't delete it there, but nobody has its link." in text


async def test_a_price_that_is_refused_in_every_dialect_is_asked_for_again(
    cloud: HandCashJobs, chat: ChatHarness, sam: Person
) -> None:
    """The seller reads the first dialect's refusal, not that of an unknown dialect."""
    dong = replace(COFFEE, amount=5, currency="VND")
    await cloud.create(link := chat.add_link(sam, dong))
    assert (cloud.state(link), cloud.server.made) == (FAILED, {})
    assert "denominationCurrencyCode&quot; must be one of" in chat.texts[0]
    assert "instrumentCurrencyCode" not in "".join(chat.texts)


async def test_a_refusal_of_something_else_is_final_at_once(
    cloud: HandCashJobs, chat: ChatHarness, sam: Person
) -> None:
    await cloud.create(link := chat.add_link(sam, replace(COFFEE, name="x" * 26)))
    assert (cloud.state(link), cloud.server.asked("POST")) == (FAILED, 1)


async def test_each_seller_is_warned_once_of_a_server_that_sends_no_prices(
    cloud: HandCashJobs, chat: ChatHarness, sam: Person, link: PaymentLink
) -> None:
    cloud.server.tells_prices = False
    untold = t("en", "service-price-unchecked")
    await cloud.create(link)
    assert is_sold_as_asked(cloud, link)
    assert chat.texts.count(untold) == 1
    await cloud.create(chat.add_link(sam, STICKERS))
    assert chat.texts.count(untold) == 1
    await cloud.create(chat.add_link(chat.add_person("Ann")))
    assert chat.texts.count(untold) == 2


async def test_a_later_dialect_counts_only_if_the_server_sends_the_price(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    """Refused in one, ignored in the next: without a price in the answer the cost is unknown."""
    cloud.server.refused, cloud.server.tells_prices = frozenset({TYPED}), False
    await cloud.create(link)
    assert (cloud.state(link), cloud.server.made) == (FAILED, {})
    assert f"{TYPED}&quot; is not allowed" in chat.texts[0]


@pytest.mark.parametrize("understands", [TYPED, CORRECTED])
@pytest.mark.parametrize("failure", [LOST, FAILING, busy(5)])
async def test_a_price_that_cannot_be_fetched_now_is_fetched_later(
    cloud: HandCashJobs,
    chat: ChatHarness,
    link: PaymentLink,
    *,
    failure: ServerFailure,
    understands: str,
) -> None:
    """This server sends prices in its list only; no card shows $5.00 for a request of 5 BSV."""
    cloud.server.understands, cloud.server.tells_prices = understands, False
    cloud.server.fail("GET", failure)
    await cloud.create(link)
    assert cloud.shown(link) is None
    cloud.server.tells_prices = True
    await cloud.advance(LONG)
    assert is_sold_as_asked(cloud, link)
    assert t("en", "service-price-unchecked") not in chat.texts


async def test_a_blank_end_is_no_end(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    cloud.server.blank = True
    await cloud.create(link)
    assert is_sold_as_asked(cloud, link)
    cloud.put("refresh", link, **PLACE)
    await cloud.due()
    kept = chat.link(link.id).answer
    assert kept is not None
    assert (kept.expires_at, kept.enabled_at) == (None, None)


async def test_a_paid_request_is_never_deleted_for_its_price(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink
) -> None:
    """Its payers have paid it, at whatever price."""
    cloud.server.understands = CORRECTED
    cloud.put("create", link)
    await cloud.die_at("POST")
    made = cloud.server.only
    payment = Payment(made.id, "t1", 500, "USD", {})
    chat.db.run(lambda tx: payment_rows.add_payment(tx, link.id, payment, chat.clock()))
    await cloud.advance(LONG)
    assert (cloud.server.only.id, cloud.shown(link)) == (made.id, made.id)


CUTS = [LOST, BROKEN, FAILING, HTML, busy(5)]


@pytest.mark.parametrize("failure", CUTS, ids=range(len(CUTS)))
@pytest.mark.parametrize(
    ("method", "before"), [("POST", 0), ("POST", 1), ("DELETE", 0), ("GET", 0), ("GET", 1)]
)
async def test_one_request_of_the_sellers_price_stays_whichever_answer_is_lost(
    cloud: HandCashJobs, link: PaymentLink, *, method: str, before: int, failure: ServerFailure
) -> None:
    cloud.server.understands = CORRECTED
    cloud.server.fail(method, *[FINE] * before, failure)
    await cloud.create(link)
    await cloud.advance(LONG)
    assert is_sold_as_asked(cloud, link)
    assert cloud.waiting == []


@pytest.mark.parametrize("understands", [CORRECTED, "nothing"])
@pytest.mark.parametrize("steps", ["POST", "POST - DELETE", "- DELETE", "- POST"])
async def test_one_request_of_the_sellers_price_stays_wherever_the_process_dies(
    cloud: HandCashJobs, chat: ChatHarness, link: PaymentLink, steps: str, understands: str
) -> None:
    """A request that a dying attempt made is found and deleted."""
    cloud.server.understands = understands
    cloud.put("create", link)
    for method in steps.split():
        if method != "-":
            await cloud.die_at(method)
            cloud.chat.clock.advance(1)
        else:
            await cloud.handler.perform(cloud.claim()[0])
    await cloud.advance(LONG)
    if understands == CORRECTED:
        assert is_sold_as_asked(cloud, link)
    else:
        assert (cloud.state(link), cloud.server.made) == (FAILED, {})
        assert chat.texts[-1] == OTHER
    assert cloud.waiting == []


REFUSES: Any = b"HTTP/1.1 403 X\r\nContent-Length: 0\r\n\r\n"
