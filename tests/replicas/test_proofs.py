"""Each proof in short: every promise holds, at a size that takes seconds."""

from __future__ import annotations

from tests.replicas import (
    commit_cut,
    crowd,
    database_faults,
    failover,
    kill,
    migration,
    race,
    roll,
    skew,
)
from tests.replicas.proof import Figures, Size


async def test_a_crowd_gets_no_unit_twice() -> None:
    figures = await crowd.prove(Size(replicas=3, payments=200))
    assert figures.broken == []


async def test_replicas_that_are_killed_lose_and_double_nothing() -> None:
    figures = await kill.prove(Size(replicas=3, payments=60, seconds=9))
    assert figures.broken == []


async def test_claimers_claim_each_message_once_because_of_the_lanes_locks() -> None:
    figures = await race.prove(Size(replicas=3, payments=600))
    assert figures.broken == []


async def test_a_lead_that_leaves_or_stops_is_followed_by_another() -> None:
    figures = await failover.prove(
        Size(replicas=2, payments=60, seconds=20), ["leaving", "stopped"]
    )
    assert figures.broken == []


async def test_outages_of_the_server_lose_nothing_and_change_no_lead() -> None:
    figures = Figures()
    await database_faults.one_server(Size(replicas=2, payments=20, seconds=1), figures)
    assert figures.broken == []


async def test_a_standby_takes_the_place_of_the_server() -> None:
    figures = Figures()
    await database_faults.another_server(Size(replicas=2, payments=20, seconds=2), figures)
    assert figures.broken == []


async def test_a_full_disk_of_the_server_loses_nothing() -> None:
    figures = Figures()
    await database_faults.full_disk(Size(replicas=2, payments=20, seconds=2), figures)
    assert figures.broken == []


async def test_commits_without_an_answer_are_neither_lost_nor_doubled() -> None:
    figures = await commit_cut.prove(Size(replicas=2, payments=48))
    assert figures.broken == []


async def test_clocks_that_are_apart_keep_telegrams_limits() -> None:
    figures = await skew.prove(Size(replicas=3, payments=180))
    assert figures.broken == []


async def test_a_new_version_replaces_the_old_one_without_a_5xx() -> None:
    figures = await roll.prove(Size(replicas=2, payments=40, seconds=8))
    assert figures.broken == []


async def test_an_installation_moves_to_the_server_and_back() -> None:
    figures = await migration.prove(Size(replicas=1, payments=30))
    assert figures.broken == []
