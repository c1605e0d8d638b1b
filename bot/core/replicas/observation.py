"""How long the others have been silent, by the observer's own clock.

No clocks are compared: a beat is a number that counts up, and an observer measures how long it sees
the same one. Only the time between two looks of its own counts, and of a longer gap no more than
two beats: while the observer stood still or the database was away, the others may have beaten
unseen, or may have been unable to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.core.replicas.times import Times


@dataclass(slots=True)
class _Silence:
    beat: int
    seconds: float = 0.0


class Observation:
    """What one replica saw of the others."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._silences: dict[str, _Silence] = {}
        self._looked_at: float | None = None

    def look(self, now: float, beats: Mapping[str, int]) -> dict[str, int]:
        """Note the beats of the others at a moment (monotonic seconds).

        Return the last beats of those that are gone.
        """
        longest = 2 * self._times.beat
        gap = 0.0 if self._looked_at is None else min(now - self._looked_at, longest)
        self._looked_at = now
        seen = self._silences
        self._silences = {
            owner: _Silence(beat, seen[owner].seconds + gap)
            if owner in seen and seen[owner].beat == beat
            else _Silence(beat)
            for owner, beat in beats.items()
        }
        return {
            owner: silence.beat
            for owner, silence in self._silences.items()
            if silence.seconds >= self._times.gone
        }

    def interrupt(self) -> None:
        """Note that a look failed: the time until the next one doesn't count."""
        self._looked_at = None

    def silence(self, owner: str) -> float:
        """Return for how many seconds a replica has been silent."""
        silence = self._silences.get(owner)
        return silence.seconds if silence else 0.0
