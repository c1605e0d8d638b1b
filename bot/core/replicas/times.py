"""After how long a replica is taken for gone, and a lead stops itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds. A lead stops before anyone takes it for gone, whatever their clocks show.

    `beat`: between two beats. `lead`: a lead stops this long after it began its last beat. `gone`:
    an observer takes a replica for gone after this long without a new beat of it.
    """

    beat: float = 2.0
    lead: float = 8.0
    gone: float = 10.0


TIMES = Times()
