"""When a replica is taken for gone: by the observer's own clock, and only while it can look."""

from __future__ import annotations

import pytest

from bot.core.replicas.membership import HEARTBEAT_TIMEOUTS, HeartbeatTimeouts, SilenceObservation


@pytest.fixture
def observation() -> SilenceObservation:
    return SilenceObservation(HEARTBEAT_TIMEOUTS)


def test_a_replica_is_gone_ten_seconds_after_its_last_beat_was_first_seen(
    observation: SilenceObservation,
) -> None:
    looks = [observation.observe(100.0 + second, {"other": 7}) for second in range(0, 12, 2)]
    assert looks == [{}, {}, {}, {}, {}, {"other": 7}]


def test_a_replica_that_beats_is_never_gone(observation: SilenceObservation) -> None:
    assert all(observation.observe(2.0 * beat, {"other": beat}) == {} for beat in range(100))


def test_each_replica_is_watched_by_itself(observation: SilenceObservation) -> None:
    for second in range(0, 10, 2):
        assert observation.observe(second, {"dead": 7, "alive": second}) == {}
    assert observation.observe(10.0, {"dead": 7, "alive": 10}) == {"dead": 7}


def test_a_replica_that_beats_again_begins_from_zero(observation: SilenceObservation) -> None:
    for second in (0, 2, 4, 6, 8):
        observation.observe(second, {"other": 7})
    observation.observe(9.0, {"other": 8})
    assert observation.silence("other") == 0.0
    assert observation.observe(18.0, {"other": 8}) == {}


def test_an_observer_that_stood_still_takes_nobody_for_gone(
    observation: SilenceObservation,
) -> None:
    """Its machine was asleep for an hour, and the other beat all that time."""
    observation.observe(0.0, {"other": 7})
    assert observation.observe(3600.0, {"other": 7}) == {}
    assert observation.silence("other") == 2 * HEARTBEAT_TIMEOUTS.beat


def test_an_outage_of_the_database_counts_for_nothing(observation: SilenceObservation) -> None:
    observation.observe(0.0, {"other": 7})
    observation.observe(2.0, {"other": 7})
    observation.interrupt()
    assert observation.observe(60.0, {"other": 7}) == {}
    assert observation.silence("other") == 2.0


def test_a_replica_that_left_and_one_that_is_new_are_not_silent(
    observation: SilenceObservation,
) -> None:
    observation.observe(0.0, {"left": 7})
    observation.observe(2.0, {"new": 7})
    assert (observation.silence("left"), observation.silence("new")) == (0.0, 0.0)


def test_a_lead_stops_itself_before_anyone_takes_it_for_gone() -> None:
    """Nobody has seen its last beat before it began it."""
    assert HEARTBEAT_TIMEOUTS.lead <= HEARTBEAT_TIMEOUTS.gone - HEARTBEAT_TIMEOUTS.beat
    assert HEARTBEAT_TIMEOUTS.gone + HEARTBEAT_TIMEOUTS.beat <= 12
    assert HEARTBEAT_TIMEOUTS.lead >= 3 * HEARTBEAT_TIMEOUTS.beat


def test_a_gap_is_capped_in_beats() -> None:
    observation = SilenceObservation(HeartbeatTimeouts(beat=0.2, lead=0.8, gone=1.0))
    observation.observe(0.0, {"other": 1})
    observation.observe(5.0, {"other": 1})
    assert observation.silence("other") == pytest.approx(0.4)
