"""When a replica is taken for gone: by the observer's own clock, and only while it can look."""

from __future__ import annotations

from bot.core.replicas.membership import HEARTBEAT_TIMEOUTS, HeartbeatTimeouts, SilenceObservation

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
