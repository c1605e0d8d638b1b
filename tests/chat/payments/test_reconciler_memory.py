"""The reconciler's memory is in the database: a restart or a second replica changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from bot.chat.payments.client import Client
from bot.chat.payments.reconciler import Reconciler
from bot.core import errors
from tests.support.bare_requests import item, units
from tests.support.chat_harness import COFFEE, DROP, ChatHarness, service_answer
from tests.support.http_messages import http_response
from tests.support.reconciler_service import RecordedSleep, alerts
from tests.support.scripted_server import ScriptedServer

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


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
    gone = item(chat.add_link(sam, DROP, service_answer()), **units(3))
    assert [await restarting.compare(gone) for _ in range(3)] == [0, 2, 0]
    assert len(alerts(chat)) == 2


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


async def test_a_paid_double_is_reported_once_across_restarts(
    chat: ChatHarness, restarting: Restarting, sam: Person
) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    with capture_logs() as logs:
        for _ in range(2):
            await restarting.compare(item(link, OTHER, paymentsCount=1))
    reported = [line["request"] for line in logs if line["log_level"] == "error"]
    assert reported == [OTHER]


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
