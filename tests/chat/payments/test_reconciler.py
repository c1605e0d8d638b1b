"""Payments that no webhook told: found at the service, told once, marked as found later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.chat.payments.client import PAGE, Client
from bot.chat.payments.reconciler import FIRST_WAIT, INTERVAL, LEAST_REST, Reconciler
from bot.core import errors
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, DROP, ChatHarness, service_answer
from tests.support.http_peers import ScriptedServer, http_response
from tests.support.reconciler_service import (
    ReconciledService,
    RecordedSleep,
    alerts,
    item,
    open_reconciled_service,
    units,
)


@pytest.fixture
async def market(
    new_database: Callable[[], str], chat: ChatHarness, sam: Person
) -> AsyncIterator[ReconciledService]:
    """Open our own service with that seller's requests."""
    async with open_reconciled_service(new_database(), chat, sam) as it:
        yield it


@pytest.fixture
def reconciler(
    chat: ChatHarness, market: ReconciledService, recorded_sleep: RecordedSleep
) -> Reconciler:
    return Reconciler(chat.db, market.client, chat.recorder, chat.clock, recorded_sleep)


async def test_a_payment_without_a_webhook_is_recorded_once_as_found_later(
    chat: ChatHarness, market: ReconciledService, reconciler: Reconciler
) -> None:
    link = await market.add_link(COFFEE)
    await market.pay(link, email="pat@example.org")
    chat.clock.advance(60)
    assert [await reconciler.compare() for _ in range(3)] == [1, 0, 0]
    (alert,) = alerts(chat)
    assert (alert.link_id, alert.name, alert.found) == (link.id, "Coffee", True)
    assert (alert.amount, alert.currency, alert.oversold) == (500, "USD", False)
    assert alert.payer == {"email": "pat@example.org"}


async def test_a_webhook_has_half_a_minute_to_arrive(
    chat: ChatHarness, market: ReconciledService, reconciler: Reconciler
) -> None:
    link = await market.add_link(COFFEE)
    await market.pay(link)
    paid_at = chat.clock()
    for waited, found in ((29_999, 0), (30_000, 1)):
        chat.clock.at = paid_at + waited
        assert await reconciler.compare() == found


async def test_a_payment_with_a_webhook_is_not_found_again(
    chat: ChatHarness, market: ReconciledService, reconciler: Reconciler
) -> None:
    link = await market.add_link(COFFEE)
    await market.record_webhook(link, await market.pay(link))
    chat.clock.advance(60)
    assert await reconciler.compare() == 0
    assert [alert.found for alert in alerts(chat)] == [False]
    assert market.asked == ["GET /v3/paymentRequests?limit=100"]


async def test_a_late_webhook_of_a_found_payment_sends_no_second_alert(
    chat: ChatHarness, market: ReconciledService, reconciler: Reconciler
) -> None:
    link = await market.add_link(DROP)
    transaction = await market.pay(link)
    chat.clock.advance(60)
    await reconciler.compare()
    assert await market.record_webhook(link, transaction) is False
    assert len(chat.said) == 1


async def test_missing_payments_are_recorded_in_order_with_the_units_left(
    chat: ChatHarness, market: ReconciledService, reconciler: Reconciler
) -> None:
    link = await market.add_link(DROP)
    paid = [await market.pay(link) for _ in range(4)]
    await market.record_webhook(link, paid[1])
    chat.clock.advance(60)
    assert await reconciler.compare() == 3
    told_now = alerts(chat)[1:]
    assert [alert.remaining_units for alert in told_now] == [3, 2, 1]
    rows = chat.rows("received_payments")
    assert [row["transaction_id"] for row in rows if row["found"]] == [paid[0], paid[2], paid[3]]
    shown = chat.link(link.id).answer
    assert shown is not None
    assert shown.remaining_units == 1


@pytest.mark.long
async def test_only_as_many_pages_are_read_as_are_needed(
    chat: ChatHarness, market: ReconciledService, reconciler: Reconciler
) -> None:
    """The newest payments come first, and missing payments are mostly new."""
    link = await market.add_link(COFFEE)
    paid = [await market.pay(link) for _ in range(PAGE + 2)]
    for transaction in paid[1:-1]:
        await market.record_webhook(link, transaction)
    chat.clock.advance(60)
    of_one = f"GET /v3/paymentRequests/{link.request_id}/payments?limit=100"
    assert await reconciler.compare() == 2
    assert [ask.partition("&")[0] for ask in market.asked[1:]] == [of_one, of_one]
    await market.pay(link)
    chat.clock.advance(60)
    market.asked.clear()
    assert await reconciler.compare() == 1
    assert market.asked[1:] == [of_one]


@pytest.mark.long
async def test_new_payments_do_not_hide_an_old_one(
    chat: ChatHarness, market: ReconciledService, reconciler: Reconciler
) -> None:
    """Payments during the comparison are not among the missing ones, however many they are."""
    link = await market.add_link(COFFEE)
    old = await market.pay(link)
    for _ in range(PAGE):
        await market.record_webhook(link, await market.pay(link))
    chat.clock.advance(60)

    async def buys() -> None:
        chat.clock.advance(1)
        await market.pay(link)

    market.before["/payments"] = buys
    assert await reconciler.compare() == 1
    found = [row for row in chat.rows("received_payments") if row["found"]]
    assert [row["transaction_id"] for row in found] == [old]


async def test_foreign_requests_are_left_alone(
    chat: ChatHarness, market: ReconciledService, reconciler: Reconciler
) -> None:
    """They belong to another bot of the same application, or to no bot."""
    for parameters in ({"listing": "theirs"}, {"listing": 7}, {}):
        hook = {"webhookUrl": "http://127.0.0.1/x", "customParameters": parameters}
        made = await market.service.create(notifications={"webhook": hook})
        await market.service.pay(made["id"])
    chat.clock.advance(60)
    assert await reconciler.compare() == 0
    assert len(market.asked) == 1
    assert len((await market.service.seller.get("/v3/paymentRequests")).json()["items"]) == 3


async def test_the_server_gets_a_hundredfold_rest_after_each_page(
    chat: ChatHarness,
    market: ReconciledService,
    reconciler: Reconciler,
    recorded_sleep: RecordedSleep,
) -> None:
    for _ in range(PAGE + 1):
        await market.service.create()

    async def takes() -> None:
        chat.clock.advance(0.02)

    market.before[""] = takes
    await reconciler.compare()
    assert recorded_sleep.seconds == [0, 2, 2]


async def test_it_compares_soon_after_the_start_and_then_once_a_minute(
    market: ReconciledService, reconciler: Reconciler, recorded_sleep: RecordedSleep
) -> None:
    recorded_sleep.most = 5
    with pytest.raises(asyncio.CancelledError):
        await reconciler.run()
    assert recorded_sleep.seconds == [FIRST_WAIT, 0, INTERVAL, LEAST_REST, INTERVAL]
    assert len(market.asked) == 2


async def test_a_comparison_that_found_something_is_a_line_in_the_log(
    chat: ChatHarness, market: ReconciledService, reconciler: Reconciler
) -> None:
    await market.pay(await market.add_link(COFFEE))
    chat.clock.advance(60)
    with capture_logs() as logs:
        for _ in range(2):
            await reconciler.compare()
    assert [(line["log_level"], line["found"]) for line in logs] == [("info", 1), ("debug", 0)]


# The reconciler's memory is in the database: a restart or a second replica changes nothing.


OTHER = "f" * 24


@dataclass
class Restarting:
    """A reconciler that is restarted before each comparison, a minute after the one before."""

    chat: ChatHarness
    client: Client
    peer: ScriptedServer
    seconds: float = 61

    async def compare(self, *items: dict[str, Any]) -> int:
        self.chat.clock.advance(self.seconds)
        await self.peer.add_answers(http_response(200, {"items": list(items)}))
        return await self.restarted().compare()

    async def fail(self) -> None:
        """End a comparison in the middle."""
        await self.peer.add_answers(http_response(500))
        with pytest.raises(errors.Overloaded):
            await self.restarted().compare()

    def restarted(self) -> Reconciler:
        chat = self.chat
        return Reconciler(chat.db, self.client, chat.recorder, chat.clock, RecordedSleep())


@pytest.fixture
def restarting(chat: ChatHarness, client: Client, peer: ScriptedServer) -> Restarting:
    return Restarting(chat, client, peer)


async def test_units_that_stay_gone_across_a_restart_were_sold(
    chat: ChatHarness, restarting: Restarting, sam: Person
) -> None:
    """The alerts show the price, marked as found later, and no payer."""
    link = chat.add_link(sam, DROP, service_answer())
    gone = item(link, **units(3))
    assert [await restarting.compare(gone) for _ in range(3)] == [0, 2, 0]
    told = [(one.amount, one.payer, one.found) for one in alerts(chat)]
    assert told == [(250, {}, True)] * 2
    assert chat.link(link.id).paid_count == 2


async def test_a_restart_does_not_shorten_the_minute(
    chat: ChatHarness, restarting: Restarting, sam: Person
) -> None:
    gone = item(chat.add_link(sam, DROP, service_answer()), **units(3))
    restarting.seconds = 30
    assert [await restarting.compare(gone) for _ in range(3)] == [0, 0, 2]


async def test_units_that_are_back_after_a_restart_were_not_sold(
    chat: ChatHarness, restarting: Restarting, sam: Person
) -> None:
    link = chat.add_link(sam, DROP, service_answer())
    found = [await restarting.compare(item(link, **units(left))) for left in (0, 5, 0, 4, 5)]
    assert found == [0, 0, 0, 1, 0]
    assert chat.rows("sightings") == []


async def test_a_comparison_that_failed_forgets_nothing(
    chat: ChatHarness, restarting: Restarting, sam: Person
) -> None:
    gone = item(chat.add_link(sam, DROP, service_answer()), **units(4))
    assert await restarting.compare(gone) == 0
    await restarting.fail()
    assert await restarting.compare(gone) == 1


async def test_a_second_replica_that_compares_too_records_nothing_twice(
    chat: ChatHarness, restarting: Restarting, sam: Person
) -> None:
    """Both have seen the same units gone a minute ago."""
    gone = item(chat.add_link(sam, DROP, service_answer()), **units(3))
    assert await restarting.compare(gone) == 0
    restarting.chat.clock.advance(61)
    restarting.seconds = 0
    assert [await restarting.compare(gone) for _ in range(2)] == [2, 0]
    assert len(alerts(chat)) == 2


async def test_a_clock_that_was_set_back_starts_the_minute_again(
    chat: ChatHarness, restarting: Restarting, sam: Person
) -> None:
    gone = item(chat.add_link(sam, DROP, service_answer()), **units(3))
    assert await restarting.compare(gone) == 0
    chat.clock.advance(-86_400)
    assert [await restarting.compare(gone) for _ in range(2)] == [0, 2]


async def test_a_list_that_was_searched_in_vain_is_not_searched_again_after_a_restart(
    chat: ChatHarness, restarting: Restarting, peer: ScriptedServer, sam: Person
) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    counted = item(link, paymentsCount=2)
    listed = http_response(200, {"items": [{"transactionId": "t1"}]})
    await peer.add_answers(http_response(200, {"items": [counted]}), listed)
    with capture_logs() as logs:
        assert await restarting.restarted().compare() == 1
        assert await restarting.compare(counted) == 0
    warnings = [line["number"] for line in logs if line["log_level"] == "warning"]
    assert (warnings, len(peer.calls)) == ([1], 3)


async def test_a_payment_that_is_listed_after_it_was_counted_is_found_an_hour_later(
    chat: ChatHarness, restarting: Restarting, peer: ScriptedServer, sam: Person
) -> None:
    """The last payment of a drop changes no number any more that could cause another search."""
    counted = item(chat.add_link(sam, DROP, service_answer()), paymentsCount=1)
    restarting.seconds = 1_800
    await peer.add_answers(http_response(200, {"items": [counted]}))
    await peer.add_answers(http_response(200, {"items": []}))
    assert await restarting.restarted().compare() == 0
    assert await restarting.compare(counted) == 0
    chat.clock.advance(1_800)
    listed = http_response(200, {"items": [{"transactionId": "t1"}]})
    await peer.add_answers(http_response(200, {"items": [counted]}), listed)
    assert await restarting.restarted().compare() == 1
