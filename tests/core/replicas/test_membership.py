"""Beats and leads at a clock of the test's own: who leads, who is gone, and who is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.core.database.database import Database, Transaction, WriteLease
from bot.core.errors import NoLongerLead, StorageError
from bot.core.replicas import membership
from bot.core.replicas.membership import (
    HEARTBEAT_TIMEOUTS,
    HeartbeatTimeouts,
    Membership,
    ReplicaInfo,
    SilenceObservation,
)

INFO = ReplicaInfo(role="all", version="1.0", migration=1, settings="digest")


@dataclass
class Cluster:
    """Hearts over one database, which share a clock and can be cut off or stopped one by one."""

    database: Database
    now: float = 1000.0
    cut_off: set[Membership] = field(default_factory=set)
    members: list[Membership] = field(default_factory=list)

    def join(self, *roles: str) -> Membership:
        def run(work: Callable[[Transaction], Any]) -> Any:
            return self._run(member, work)

        member: Membership = Membership(run, INFO, HEARTBEAT_TIMEOUTS, lambda: 7)
        member.join(self.now)
        member.roles = frozenset(roles)
        self.members.append(member)
        return member

    def beat(self, seconds: float, *members: Membership) -> None:
        """Let these members beat, or else all, for so long."""
        for _ in range(round(seconds / HEARTBEAT_TIMEOUTS.beat)):
            self.now += HEARTBEAT_TIMEOUTS.beat
            for member in members or self.members:
                try:
                    member.beat(self.now)
                except StorageError:
                    assert member in self.cut_off

    def lead(self) -> WriteLease:
        return self.database.run(membership.find_leads)["chat"]

    def living(self) -> set[str]:
        return {one.owner for one in self.database.run(membership.find_all)}

    def _run(self, member: Membership, work: Callable[[Transaction], Any]) -> Any:
        if member in self.cut_off:
            raise StorageError("no way to the database")
        return self.database.run(work)


@pytest.fixture
def cluster(shared: Database) -> Cluster:
    return Cluster(shared)


def test_the_first_replica_that_stands_leads_at_its_first_beat(cluster: Cluster) -> None:
    cluster.join()
    cluster.beat(20)
    assert cluster.database.run(membership.find_leads) == {}
    bystander = cluster.members.pop()
    cluster.database.run(partial(membership.leave, owner=bystander.owner))
    first, second = cluster.join("chat"), cluster.join("chat")
    cluster.beat(2)
    assert first.leads == {"chat": WriteLease(first.owner, 1)}
    assert second.leads == {}
    assert [one.owner for one in second.others] == [first.owner]


def test_another_one_leads_within_twelve_seconds_of_the_last_beat(cluster: Cluster) -> None:
    first, second = cluster.join("chat"), cluster.join("chat")
    cluster.beat(4)
    cluster.beat(8, second)
    assert cluster.lead().owner == first.owner
    cluster.beat(4, second)
    assert cluster.lead() == second.leads["chat"] == WriteLease(second.owner, 2)
    assert cluster.living() == {second.owner}


def test_a_former_lead_changes_nothing_in_its_write_scope(cluster: Cluster) -> None:
    """It was stopped, so that it doesn't know; the row of the write scope does."""
    first, second = cluster.join("chat"), cluster.join("chat")
    cluster.beat(4)
    former = cluster.database.in_write_scope("chat", lead=first.leads["chat"])
    former.run(lambda _tx: None)
    cluster.beat(12, second)
    with pytest.raises(NoLongerLead):
        former.run(lambda _tx: None)
    cluster.database.in_write_scope("chat", lead=second.leads["chat"]).run(lambda _tx: None)


def test_one_that_was_declared_gone_begins_again_under_a_new_name(cluster: Cluster) -> None:
    first, second = cluster.join("chat"), cluster.join("chat")
    cluster.beat(4)
    former = first.owner
    cluster.beat(12, second)
    first.beat(cluster.now)
    assert first.leads == {}
    assert cluster.living() == {first.owner, second.owner} != {former, second.owner}
    cluster.beat(20)
    assert cluster.lead() == WriteLease(second.owner, 2)


def test_the_log_names_who_joined_who_is_gone_and_who_was_taken_for_gone(
    cluster: Cluster,
) -> None:
    """Each once, by the name that the doctor uses."""
    with capture_logs() as logs:
        first, second, _third = cluster.join("chat"), cluster.join(), cluster.join()
        owner = first.owner
        cluster.beat(4)
        cluster.beat(20, *cluster.members[1:])
        first.beat(cluster.now)
    logged = [(line["event"], line["owner"]) for line in logs]
    assert logged[0] == ("replica joined", owner)
    assert logged[3:] == [
        ("replica gone", owner),
        ("the others took this replica for gone", owner),
        ("replica joined", first.owner),
    ]
    assert second.owner in {line["owner"] for line in logs}


def test_an_outage_of_the_database_changes_no_lead(cluster: Cluster) -> None:
    """Whoever reaches it first afterwards has not seen the others beat, nor could have."""
    first, second = cluster.join("chat"), cluster.join("chat")
    cluster.beat(4)
    cluster.cut_off = {first, second}
    cluster.beat(60)
    cluster.cut_off = {first}
    cluster.beat(8)
    cluster.cut_off = set()
    cluster.beat(4)
    assert cluster.lead() == first.leads["chat"] == WriteLease(first.owner, 1)
    assert cluster.living() == {first.owner, second.owner}


def test_one_that_has_just_beaten_is_not_removed(cluster: Cluster) -> None:
    first, second = cluster.join("chat"), cluster.join()
    cluster.beat(4)
    beats = {one.owner: one.beat for one in second.others}
    first.beat(cluster.now)
    cluster.database.run(lambda tx: membership.remove_gone(tx, beats.items()))
    assert first.owner in cluster.living()


def test_nobody_takes_over_from_one_that_is_alive(cluster: Cluster) -> None:
    first, second = cluster.join("chat"), cluster.join()
    cluster.beat(4)
    lead, owner = cluster.lead(), second.owner
    won = cluster.database.run(lambda tx: membership.take_over_lead(tx, owner, "chat", lead))
    assert (won, cluster.lead().owner) == (None, first.owner)


def test_one_that_was_declared_gone_takes_over_nothing(cluster: Cluster) -> None:
    member = cluster.join("chat")
    owner = member.owner
    cluster.database.run(partial(membership.leave, owner=owner))
    won = cluster.database.run(
        lambda tx: membership.take_over_lead(tx, owner, "chat", WriteLease("", 0))
    )
    assert won is None


def test_of_two_that_stand_one_wins(cluster: Cluster) -> None:
    first, second, third = (cluster.join("chat") for _ in range(3))
    cluster.beat(4)
    cluster.beat(20, second, third)
    leads = [member.leads for member in (second, third) if member.leads]
    assert leads == [{"chat": cluster.lead()}]
    assert cluster.lead().term == 2
    assert first.owner not in cluster.living()
    late = next(member.owner for member in (second, third) if not member.leads)
    former = WriteLease(first.owner, 1)  # as the other one has found it as well
    won = cluster.database.run(lambda tx: membership.take_over_lead(tx, late, "chat", former))
    assert won is None


def test_a_lead_that_was_handed_over_is_free_at_once(cluster: Cluster) -> None:
    first, second = cluster.join("chat"), cluster.join("chat")
    cluster.beat(4)
    lead = first.resign("chat")
    assert lead

    def hand_over(tx: Transaction) -> set[str]:
        membership.hand_over_lead(tx, "chat", lead)
        return tx.topics

    assert cluster.database.run(hand_over) == {membership.TOPIC}
    with pytest.raises(NoLongerLead):
        cluster.database.in_write_scope("chat", lead=lead).run(lambda _tx: None)
    cluster.beat(2)
    assert (first.leads, second.leads) == ({}, {"chat": WriteLease(second.owner, 2)})


def test_a_hand_over_of_a_lead_that_is_another_s_changes_nothing(cluster: Cluster) -> None:
    first, second = cluster.join("chat"), cluster.join("chat")
    cluster.beat(4)
    former = first.leads["chat"]
    cluster.beat(12, second)
    cluster.database.run(lambda tx: membership.hand_over_lead(tx, "chat", former))
    assert cluster.lead() == WriteLease(second.owner, 2)


@pytest.mark.long
def test_a_takeover_waits_a_second_for_the_write_scope_and_is_tried_again(cluster: Cluster) -> None:
    """The former lead may be in the middle of its last transaction; beats must not wait for it."""
    first, second = cluster.join("chat"), cluster.join("chat")
    cluster.beat(4)

    def last_transaction(_tx: Transaction) -> None:
        cluster.beat(8, second)
        cluster.now += HEARTBEAT_TIMEOUTS.beat
        with pytest.raises(StorageError, match="lock"):
            second.beat(cluster.now)

    cluster.database.in_write_scope("chat", lead=first.leads["chat"]).run(last_transaction)
    assert cluster.lead().owner == first.owner
    cluster.beat(2, second)
    assert cluster.lead() == WriteLease(second.owner, 2)


# When a replica is taken for gone: by the observer's own clock, and only while it can look.


Beats = dict[str, int]
OTHER = {"other": 7}


def gone(
    *looks: tuple[float, Beats | None], timeouts: HeartbeatTimeouts = HEARTBEAT_TIMEOUTS
) -> list[tuple[float, Beats]]:
    """Look at these times; return who was found gone, and when. None is a look that failed."""
    observation = SilenceObservation(timeouts)
    found = []
    for now, beats in looks:
        if beats is None:
            observation.interrupt()
        elif dead := observation.observe(now, beats):
            found.append((now, dead))
    return found


def every_two_seconds(begin: float, end: float, beats: Beats) -> list[tuple[float, Beats | None]]:
    return [(begin + 2 * number, beats) for number in range(int(end - begin) // 2 + 1)]


def test_a_replica_is_gone_ten_seconds_after_its_last_beat_was_first_seen() -> None:
    assert gone(*every_two_seconds(100, 110, OTHER)) == [(110, OTHER)]


def test_each_replica_is_watched_by_itself_and_none_that_beats_is_gone() -> None:
    looks = [(2.0 * beat, {"dead": 7, "alive": beat}) for beat in range(6)]
    assert gone(*looks) == [(10, {"dead": 7})]
    assert gone(*((2.0 * beat, {"alive": beat}) for beat in range(100))) == []


def test_a_replica_that_beats_again_or_is_back_begins_from_zero() -> None:
    silent = every_two_seconds(0, 8, OTHER)
    assert gone(*silent, *every_two_seconds(9, 19, {"other": 8})) == [(19, {"other": 8})]
    assert gone(*silent, (9, {}), *every_two_seconds(10, 20, OTHER)) == [(20, OTHER)]


def test_of_the_time_in_which_an_observer_stood_still_two_beats_count() -> None:
    """Its machine was asleep for an hour, and the other beat all that time."""
    looks = every_two_seconds(3600, 3606, OTHER)
    assert gone((0, OTHER), *looks) == [(3606, OTHER)]
    quick = HeartbeatTimeouts(beat=0.2, lead=0.8, gone=1.0)
    seconds = (5, 5.2, 5.4, 5.6, 5.9)
    assert gone((0, OTHER), *((at, OTHER) for at in seconds), timeouts=quick) == [(5.9, OTHER)]


def test_an_outage_of_the_database_counts_for_nothing() -> None:
    looks = [(0, OTHER), (2, OTHER), (4, None), *every_two_seconds(60, 68, OTHER)]
    assert gone(*looks) == [(68, OTHER)]


def test_a_lead_stops_itself_before_anyone_takes_it_for_gone() -> None:
    """Nobody has seen its last beat before it began it."""
    assert HEARTBEAT_TIMEOUTS.lead <= HEARTBEAT_TIMEOUTS.gone - HEARTBEAT_TIMEOUTS.beat
    assert HEARTBEAT_TIMEOUTS.gone + HEARTBEAT_TIMEOUTS.beat <= 12
    assert HEARTBEAT_TIMEOUTS.lead >= 3 * HEARTBEAT_TIMEOUTS.beat
