"""The lead's parts run from each lead that is won until it is lost or handed over."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from bot.app import running_parts
from bot.app.running_parts import Leadership, RunningParts
from bot.core.database.database import Database, WriteLease
from bot.core.errors import NoLongerLead
from bot.core.outbox import outbox
from bot.core.outbox.outbox import Message
from bot.core.outbox.worker import QueueHandler, Worker
from bot.core.replicas.replica import Replica
from tests.support.fake_election import FakeElection, settle
from tests.support.outbox_queue import MESSAGES
from tests.support.service_harness import Clock


class Office:
    """A lead's parts in tests: one loop, and one worker whose handler waits for `go_on`."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self.db = db
        self.clock = clock
        self.election = FakeElection()
        self.leadership = Leadership(self.election, self._begin, self._make_parts)
        self.events: list[str] = []
        self.go_on = asyncio.Event()
        self.at_work = asyncio.Event()
        self.error: Exception | None = None
        self.failures = 0

    def put(self) -> None:
        now = self.clock()
        self.db.run(lambda tx: outbox.put(tx, MESSAGES, "7", {}, now) and None)

    def states(self) -> list[str]:
        rows = self.db.run(lambda tx: tx.query("SELECT state FROM outbox"))
        return [row["state"] for row in rows]

    def _make_parts(self) -> RunningParts:
        return RunningParts(
            lambda db, queue_handler: Worker(db, queue_handler, self.clock), self._fail
        )

    def _fail(self) -> None:
        self.failures += 1

    def _begin(self, lead: WriteLease, parts: RunningParts) -> None:
        parts.closers.append(self._close)
        parts.start(self._loop(lead))
        parts.work(self.db, [QueueHandler(MESSAGES, self._handle)])

    async def _loop(self, lead: WriteLease) -> None:
        self.events.append(f"begins {lead.term}")
        try:
            await self.go_on.wait()
            if self.error:
                raise self.error
            await asyncio.Event().wait()
        finally:
            self.events.append(f"ends {lead.term}")

    async def _handle(self, message: Message) -> None:
        self.at_work.set()
        await self.go_on.wait()
        now = self.clock()
        await self.db.transaction(lambda tx: outbox.done(tx, MESSAGES, message, now))

    async def _close(self) -> None:
        self.events.append("closes")


@pytest.fixture
async def office(db: Database, clock: Clock) -> AsyncIterator[Office]:
    it = Office(db, clock)
    running = asyncio.create_task(it.leadership.run())
    await settle()
    yield it
    await it.leadership.stop(0)
    await asyncio.gather(running, return_exceptions=True)


async def test_nothing_begins_before_the_lead_is_won(office: Office) -> None:
    assert (office.events, office.leadership.leads) == ([], False)
    await office.election.win()
    assert (office.events, office.leadership.leads) == (["begins 1"], True)


async def test_a_lost_lead_ends_its_parts_and_may_be_won_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_parts, "LOST_PATIENCE", 0)
    for term in (1, 2, 3):
        await office.election.win()
        await office.election.lose()
        await office.election.is_candidate.wait()
        assert office.events == [f"begins {term}", f"ends {term}", "closes"]
        assert not office.leadership.leads
        office.events.clear()
    assert office.failures == office.election.hand_overs == 0


async def test_a_lost_lead_cancels_what_is_under_way_and_releases_it(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two seconds later another replica leads, so nothing is waited for."""
    monkeypatch.setattr(running_parts, "LOST_PATIENCE", 0)
    office.put()
    await office.election.win()
    await office.at_work.wait()
    await office.election.lose()
    await office.election.is_candidate.wait()
    assert office.states() == ["waiting"]


async def test_a_stop_lets_messages_finish_and_then_hands_the_lead_over(office: Office) -> None:
    office.put()
    await office.election.win()
    await office.at_work.wait()
    stopping = asyncio.create_task(office.leadership.stop(10))
    await settle()
    assert (office.events, office.election.hand_overs) == (["begins 1", "ends 1"], 0)
    office.go_on.set()
    await stopping
    assert (office.states(), office.election.hand_overs) == ([], 1)
    assert office.events[-1] == "closes"


async def test_a_stop_of_who_never_led_begins_nothing(office: Office) -> None:
    await office.leadership.stop(10)
    await office.election.win()
    assert (office.events, office.leadership.leads) == ([], False)


async def test_a_stop_amid_a_loss_ends_everything(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_parts, "LOST_PATIENCE", 3600)
    office.put()
    await office.election.win()
    await office.at_work.wait()
    await office.election.lose()
    await office.leadership.stop(0)
    assert (office.states(), office.leadership.leads) == (["waiting"], False)
    assert office.election.hand_overs == 1


async def test_an_error_of_a_part_is_a_failure(office: Office) -> None:
    office.error = ValueError("broken")
    office.go_on.set()
    with capture_logs() as logs:
        await office.election.win()
    assert office.failures == 1
    assert [line["event"] for line in logs] == ["lead won", "a part of the application failed"]


async def test_a_part_that_finds_another_lead_waits_for_its_stop(office: Office) -> None:
    office.error = NoLongerLead("chat")
    office.go_on.set()
    with capture_logs() as logs:
        await office.election.win()
    assert (office.failures, office.leadership.leads) == (0, True)
    assert [line["event"] for line in logs] == ["lead won"]


async def test_a_loop_that_loses_a_cancellation_is_cancelled_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `asyncio.wait_for` does if what it waits for happens in the same moment."""
    monkeypatch.setattr(running_parts, "CANCEL_SECONDS", 0)
    parts = office._make_parts()

    async def stubborn() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()

    loop = parts.start(stubborn())
    await settle()
    await parts.stop(0)
    assert loop.cancelled()


async def test_a_worker_that_was_ended_is_named(office: Office) -> None:
    assert office.leadership.ended() == []
    await office.election.win()
    parts = office.leadership.parts
    assert parts
    assert office.leadership.ended() == []
    parts.working["messages"].cancel()
    await asyncio.gather(*parts.working.values(), return_exceptions=True)
    assert office.leadership.ended() == ["messages"]


async def test_a_process_alone_leads_at_once_and_says_nothing_of_it(
    db: Database, clock: Clock
) -> None:
    office = Office(db, clock)
    alone = Leadership(Replica().join_election("chat"), office._begin, office._make_parts)
    with capture_logs() as logs:
        running = asyncio.create_task(alone.run())
        await settle()
    assert (alone.leads, office.events, logs) == (True, ["begins 0"], [])
    await alone.stop(1)
    assert running.cancelled()
