"""Local time: times of the day as people write them, and the moments at which a clock shows them.

A time occurs twice where clocks are put back, and not at all where they are put forward.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from bot.chat.messages.reply import Problem
from bot.chat.times import vocabulary, zones
from bot.chat.times.time_parts import DAY, TimeParts, readings

MINUTE = 60_000  # in ms
_SECOND = 1000
_NEXT_DAYS = 3  # a time that a change of clocks skips occurs a day later
# Patterns are compiled at their first use, so that the start stays short.
_THE = "(?:las |la |as |le )?"
_FROM = rf"^(?:from|between|von|zwischen|desde|de|des|das|entre|dalle|tra|fra) {_THE}"
_TO = rf" ?- ?| (?:to|until|till|and|bis|und|hasta|a|y|et|alle|e|as|ate) {_THE}"
_HOUR_ALONE = r"(\d{1,2})h?"


def read_clock(text: str) -> int | Problem:
    """Parse a time of the day, in minutes 0 to 1439: `20:00`, `8 pm`, `20 Uhr`, noon."""
    hour = vocabulary.folded(text) or ""
    alone = readings(f"at {hour}") if hour.isdigit() else []
    found = {
        parts.clock % DAY
        for parts in (*readings(text), *alone)
        if parts.clock is not None
        if parts == TimeParts(clock=parts.clock, bare=parts.bare, at=parts.at, part=parts.part)
    }
    return found.pop() if len(found) == 1 else Problem("problem-clock")


def read_hours(text: str) -> tuple[int, int] | Problem:
    """Parse hours such as `22-7`, as minutes of the day at which they begin and end.

    An hour alone is one of 24 where the other time shows that.
    """
    sides = re.split(_TO, re.sub(_FROM, "", vocabulary.folded(text) or ""))
    if len(sides) != len(("from", "until")):
        return Problem("problem-hours")
    by_24 = any(_shows_24(side) for side in sides)
    start, end = (_side(side, by_24=by_24) for side in sides)
    if isinstance(start, Problem) or isinstance(end, Problem) or start == end:
        return Problem("problem-hours")
    return start, end


def _shows_24(side: str) -> bool:
    """Return whether a time is one of 24 hours: it has minutes, or is beyond twelve."""
    hour = re.fullmatch(_HOUR_ALONE, side.removesuffix("uhr").strip())
    if hour is None:
        return ":" in side and not side.endswith("m")
    return not 0 < int(hour[1]) <= DAY // 120 or side.endswith(("h", "uhr"))


def _side(side: str, *, by_24: bool) -> int | Problem:
    hour = re.fullmatch(_HOUR_ALONE, side)
    return read_clock(f"{hour[1]}:00" if hour and by_24 else side)


def local_datetime(at: int, zone: str) -> datetime:
    """Return the time that a clock of the zone shows at `at` (epoch ms)."""
    return datetime.fromtimestamp(at // _SECOND, UTC).astimezone(zones.zone_info(zone))


def epochs_showing(shown: datetime, zone: str) -> tuple[int, ...]:
    """Return the moments (epoch ms) at which a clock of the zone shows this: none, one or two."""
    both = {_epoch(shown, zone, fold) for fold in (0, 1)}
    shows = (at for at in both if local_datetime(at, zone).replace(tzinfo=None, fold=0) == shown)
    return tuple(sorted(shows))


def _epoch(shown: datetime, zone: str, fold: int) -> int:
    return int(shown.replace(tzinfo=zones.zone_info(zone), fold=fold).timestamp() * _SECOND)


def epochs_reaching(shown: datetime, zone: str) -> tuple[int, ...]:
    """Return the moments at which a clock shows this, or else the one at which it skips this."""
    if found := epochs_showing(shown, zone):
        return found
    before, after = sorted(_epoch(shown, zone, fold) for fold in (0, 1))
    old = local_datetime(before, zone).utcoffset()
    while after - before > _SECOND:
        middle = (before + after) // (2 * _SECOND) * _SECOND
        if local_datetime(middle, zone).utcoffset() == old:
            before = middle
        else:
            after = middle
    return (after,)


def next_epoch_at(minutes: int, now: int, zone: str) -> int:
    """Return the first moment after `now` at which a clock shows this minute of the day (epoch ms).

    That occurs twice in the night in which clocks are put back over it; where they are put
    forward over it, it is the moment of the change.
    """
    midnight = datetime.combine(local_datetime(now, zone).date(), datetime.min.time())
    days = (midnight + timedelta(days=ahead, minutes=minutes) for ahead in range(_NEXT_DAYS))
    return min(at for shown in days for at in epochs_reaching(shown, zone) if at > now)


def is_within_hours(now: int, zone: str, quiet: tuple[int, int]) -> bool:
    """Return whether `now` is within hours of the zone's day, which may span midnight."""
    start, end = quiet
    shown = local_datetime(now, zone)
    minute = shown.hour * 60 + shown.minute
    return start <= minute < end if start < end else minute >= start or minute < end
