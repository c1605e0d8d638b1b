"""The lead as the event loop sees it: won, held, lost, and taken up again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from bot.core.database.database import WriteLease
from bot.core.replicas.replica import LeaderElection, Replica

LEAD, NEXT = WriteLease("me", 3), WriteLease("me", 5)
SOON, LONG = 0.02, 60.0


@pytest.fixture
def handed_over() -> list[str]:
    return []


@pytest.fixture
def election(handed_over: list[str]) -> Iterator[LeaderElection]:
    async def hand_over() -> None:
        handed_over.append("chat")

    made = LeaderElection(hand_over)
    yield made
    made.end()


def hold(election: LeaderElection, lead: WriteLease, seconds: float) -> None:
    election.hold(lead, time.monotonic() + seconds)


async def test_whoever_waits_gets_the_lead(election: LeaderElection) -> None:
    waiting = asyncio.create_task(election.won())
    await asyncio.sleep(0)
    assert not waiting.done()
    hold(election, LEAD, LONG)
    assert (await waiting, election.lead) == (LEAD, LEAD)
    assert not election.lost.is_set()


async def test_a_lead_that_is_held_again_goes_on(election: LeaderElection) -> None:
    hold(election, LEAD, SOON)
    await election.won()
    hold(election, LEAD, LONG)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(election.lost.wait(), 2 * SOON)


async def test_a_lead_that_is_not_held_in_time_is_lost_and_takes_up_its_own_term(
    election: LeaderElection,
) -> None:
    hold(election, LEAD, SOON)
    await election.won()
    await asyncio.wait_for(election.lost.wait(), 5)
    assert election.lead is None
    hold(election, LEAD, LONG)
    assert election.lost.is_set()
    assert await election.won() == LEAD
    assert not election.lost.is_set()


async def test_a_new_term_ends_the_old_one_first(election: LeaderElection) -> None:
    hold(election, LEAD, LONG)
    await election.won()
    hold(election, NEXT, LONG)
    assert election.lost.is_set()
    assert await election.won() == NEXT


async def test_news_from_before_a_pause_hold_nothing(election: LeaderElection) -> None:
    """The process stood still between the beat and now: by now another one may lead."""
    election.hold(LEAD, time.monotonic() - 1)
    waiting = asyncio.create_task(election.won())
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()


async def test_a_process_that_stood_still_holds_nothing_before_it_hears_of_its_loss(
    election: LeaderElection,
) -> None:
    hold(election, LEAD, SOON)
    lead = await election.won()
    assert election.holds(lead)
    assert not election.holds(NEXT)
    time.sleep(2 * SOON)  # noqa: ASYNC251 - the event loop stands still
    assert not election.lost.is_set()
    assert not election.holds(lead)


async def test_a_hand_over_ends_the_lead(election: LeaderElection, handed_over: list[str]) -> None:
    hold(election, LEAD, LONG)
    await election.won()
    await election.hand_over()
    assert election.lost.is_set()
    assert handed_over == ["chat"]


async def test_the_only_process_always_leads() -> None:
    replica = Replica()
    await replica.start()
    election = replica.join_election("chat")
    assert await election.won() == await election.won()
    assert (election.lost.is_set(), replica.others()) == (False, ())
    assert election.holds(await election.won())
    await election.hand_over()
    assert election.lost.is_set()
    await replica.stop()
