"""The lead as the event loop sees it: won, held, lost, and taken up again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from bot.core.database.database import WriteLease
from bot.core.replicas.leadership import LeaderElection
from bot.core.replicas.replica import SoleReplica

LEAD, NEXT = WriteLease("me", 3), WriteLease("me", 5)
SOON, LONG = 0.02, 60.0


@pytest.fixture
def handed_over() -> list[str]:
    return []


@pytest.fixture
def standing(handed_over: list[str]) -> Iterator[LeaderElection]:
    async def hand_over() -> None:
        handed_over.append("chat")

    made = LeaderElection(hand_over)
    yield made
    made.end()


def hold(standing: LeaderElection, lead: WriteLease, seconds: float) -> None:
    standing.hold(lead, time.monotonic() + seconds)


async def test_whoever_waits_gets_the_lead(standing: LeaderElection) -> None:
    waiting = asyncio.create_task(standing.won())
    await asyncio.sleep(0)
    assert not waiting.done()
    hold(standing, LEAD, LONG)
    assert (await waiting, standing.lead) == (LEAD, LEAD)
    assert not standing.lost.is_set()


async def test_a_lead_that_is_not_held_again_in_time_is_lost(standing: LeaderElection) -> None:
    hold(standing, LEAD, SOON)
    await standing.won()
    await standing.lost.wait()
    assert standing.lead is None


async def test_a_lead_that_is_held_again_goes_on(standing: LeaderElection) -> None:
    hold(standing, LEAD, SOON)
    await standing.won()
    hold(standing, LEAD, LONG)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(standing.lost.wait(), 2 * SOON)


async def test_a_lead_that_stopped_itself_takes_up_its_own_term(standing: LeaderElection) -> None:
    hold(standing, LEAD, SOON)
    await standing.won()
    await standing.lost.wait()
    hold(standing, LEAD, LONG)
    assert standing.lost.is_set()
    assert await standing.won() == LEAD
    assert not standing.lost.is_set()


async def test_a_new_term_ends_the_old_one_first(standing: LeaderElection) -> None:
    hold(standing, LEAD, LONG)
    await standing.won()
    hold(standing, NEXT, LONG)
    assert standing.lost.is_set()
    assert await standing.won() == NEXT


async def test_news_from_before_a_pause_hold_nothing(standing: LeaderElection) -> None:
    """The process stood still between the beat and now: by now another one may lead."""
    standing.hold(LEAD, time.monotonic() - 1)
    waiting = asyncio.create_task(standing.won())
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()


async def test_a_process_that_stood_still_holds_nothing_before_it_hears_of_its_loss(
    standing: LeaderElection,
) -> None:
    hold(standing, LEAD, SOON)
    lead = await standing.won()
    assert standing.holds(lead)
    assert not standing.holds(NEXT)
    time.sleep(2 * SOON)  # noqa: ASYNC251 - the event loop stands still
    assert not standing.lost.is_set()
    assert not standing.holds(lead)


async def test_a_hand_over_ends_the_lead(standing: LeaderElection, handed_over: list[str]) -> None:
    hold(standing, LEAD, LONG)
    await standing.won()
    await standing.hand_over()
    assert standing.lost.is_set()
    assert handed_over == ["chat"]


async def test_the_only_process_always_leads() -> None:
    replica = SoleReplica()
    await replica.start()
    standing = replica.stand("chat")
    assert await standing.won() == await standing.won()
    assert (standing.lost.is_set(), replica.others()) == (False, ())
    assert standing.holds(await standing.won())
    await standing.hand_over()
    assert standing.lost.is_set()
    await replica.stop()
