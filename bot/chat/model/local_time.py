"""Local time: parsing times of day as people write them, and converting them to epoch ms.

A time occurs twice when clocks are put back, and is skipped when they are put forward.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain
from typing import NamedTuple

from bot.chat.model import replies, time_words, zones

_HOUR = 60  # minutes
DAY = 24 * _HOUR
NOON = 12 * _HOUR
CENTURY = 2000
_HALF_DAY = 12  # hours on the face of a clock


class Span(NamedTuple):
    """A length of time: calendar months and days, and exact hours and minutes."""

    months: int = 0
    days: int = 0
    hours: int = 0
    minutes: int = 0


class TimeParts(NamedTuple):
    """The parts of a time that a text names; parts that it doesn't name are None."""

    date: tuple[int | None, int, int] | None = None  # year, month, day
    days: int | None = None  # from today
    weekday: int | None = None  # Monday is 0
    following: bool | None = None  # the weekday after this one
    clock: int | None = None  # minutes of the day, 1440 for its end
    bare: bool | None = None  # the clock is a number alone
    at: bool | None = None  # a word announces the clock: "at"
    part: str | None = None
    offset: int | None = None  # minutes ahead of UTC
    span: Span | None = None
    within: bool | None = None  # a word announces the span: "in"

    @property
    def names_day(self) -> bool:
        """True if the day is named."""
        return (self.date, self.days, self.weekday, self.span) != (None, None, None, None)

    def joined(self, more: TimeParts) -> TimeParts | None:
        """Return the parts of both, or None if both name the same part."""
        new = {name: value for name, value in more._asdict().items() if value is not None}
        if self.span and more.span:
            new["span"] = _sum(self.span, more.span)
        old = {name for name in new if getattr(self, name) is not None}
        if new.get("span", more) is None or old - {"at", "within", "span"}:
            return None
        return self._replace(**new)


def _sum(one: Span, other: Span) -> Span | None:
    """Return the sum of two spans; None if both name the same unit."""
    pairs = [*zip(one, other, strict=True)]
    return None if any(map(all, pairs)) else Span(*map(sum, pairs))


def readings(text: str) -> list[TimeParts]:
    """Return all readings of the whole text, in no particular order; [] if a word is unknown."""
    folded = time_words.folded(text)
    if not folded:
        return []
    line = re.sub(r"(?<=\d)z$", " utc", re.sub(r"(?<=\d)t(?=\d)", " ", folded))
    line = re.sub(r"^\+ ?(?=\d)", "in ", re.sub(_OFFSET_OF_ISO, r"\1 utc\2", line))
    line = re.sub(rf"\b{time_words.one_of(time_words.HALF_HOUR)}(?!\w)", "30 min", line)
    found = [parts for parts in map(_in_part_of_day, _all_readings(line)) if _is_whole(parts)]
    found = [parts for parts in found if parts.within] or found
    found = [parts for parts in found if parts.names_day or not parts.part] or found
    return [parts for parts in found if not parts.bare] or found


def _in_part_of_day(parts: TimeParts) -> TimeParts:
    """Move the clock time into the named part of the day: `8 Uhr abends` is 20:00."""
    if parts.clock is None or parts.part not in (time_words.AFTERNOON, time_words.EVENING):
        return parts
    return parts._replace(clock=parts.clock + NOON) if parts.clock < NOON else parts


def _all_readings(line: str) -> set[TimeParts]:
    """Return the readings of a line, without repetitions."""
    readings_to: defaultdict[int, set[TimeParts]] = defaultdict(set, {0: {TimeParts()}})
    for start in range(len(line)):
        if start not in readings_to:
            continue
        if line[start] in _GAPS:
            readings_to[start + 1] |= readings_to[start]
            continue
        for end, meaning in _next(line, start):
            both = (before.joined(meaning) for before in readings_to[start])
            readings_to[end] |= {parts for parts in both if parts is not None}
    return readings_to[len(line)]


def _next(line: str, start: int) -> Iterator[tuple[int, TimeParts]]:
    """Yield the end and the meaning of each shape and word that begins at `start`."""
    for pattern, meanings in _shapes():
        if match := pattern.match(line, start):
            for meaning in meanings(match):
                yield match.end(), meaning
    for word, meant in _vocabulary().items():
        end = start + len(word)
        if line.startswith(word, start) and not line[end : end + 1].isalnum():
            for meaning in meant:
                yield end, meaning


def _is_whole(parts: TimeParts) -> bool:
    """True if the parts form a consistent time."""
    day = (parts.date, parts.days, parts.weekday) != (None, None, None)
    if parts.date and parts.days is not None:
        return False
    if parts.part and parts.clock is not None:
        first, last = time_words.MINUTES_OF[parts.part]
        if not first <= parts.clock <= last:
            return False
    if parts.span:
        exact = parts.span.hours or parts.span.minutes
        timed = parts.clock is not None or parts.part is not None
        return not (day or parts.following or (exact and timed) or (parts.at and not timed))
    if parts.within or (parts.following and parts.weekday is None):
        return False
    if parts.clock is None:
        return parts.offset is None and (day or parts.part is not None)
    return not parts.bare or day or bool(parts.at) or parts.part is not None


def _full_date(match: re.Match[str]) -> Iterator[TimeParts]:
    yield TimeParts(date=(int(match["y"]), int(match["m"]), int(match["d"])))


def _date(match: re.Match[str]) -> Iterator[TimeParts]:
    """Yield both orders of day and month; with dots the day is always first."""
    one, other, year = int(match["a"]), int(match["b"]), _year(match.groupdict().get("y"))
    yield TimeParts(date=(year, other, one))
    if match["mark"] != "." and one != other:
        yield TimeParts(date=(year, one, other))


def _year(digits: str | None) -> int | None:
    if digits is None:
        return None
    return int(digits) if len(digits) > len("26") else CENTURY + int(digits)


def _named_date(match: re.Match[str]) -> Iterator[TimeParts]:
    for month in time_words.months_named(match["name"]):
        yield TimeParts(date=(_year(match["y"]), month, int(match["d"])))


def _clock(match: re.Match[str]) -> Iterator[TimeParts]:
    hour, minute = int(match["h"]), int(match.groupdict().get("min") or 0)
    half = match.groupdict().get("half")
    if half and 1 <= hour <= _HALF_DAY:
        hour = hour % _HALF_DAY + (_HALF_DAY if half == "p" else 0)
    elif half:
        return
    if minute < _HOUR and hour * _HOUR + minute <= DAY:
        yield TimeParts(clock=hour * _HOUR + minute)


def _bare_hour(match: re.Match[str]) -> Iterator[TimeParts]:
    """Yield the possible hours of a bare number; up to 12, it may be a.m. or p.m."""
    hour = int(match["h"])
    for each in {hour, hour + _HALF_DAY} if 0 < hour <= _HALF_DAY else {hour}:
        if each * _HOUR <= DAY:
            yield TimeParts(clock=each * _HOUR, bare=True)


def _span(match: re.Match[str]) -> Iterator[TimeParts]:
    count = int(match["n"]) if match["n"].isdigit() else 1
    unit = next(unit for unit, names in time_words.UNITS.items() if match["unit"] in names)
    for part, factor in (("weeks", 7), ("years", 12)):
        if unit == part:
            count, unit = count * factor, {"weeks": "days", "years": "months"}[part]
    yield TimeParts(span=Span(**{unit: count}))


def _hours_and_minutes(match: re.Match[str]) -> Iterator[TimeParts]:
    yield TimeParts(span=Span(hours=int(match["n"]), minutes=int(match["min"])))


def _weekday(match: re.Match[str]) -> Iterator[TimeParts]:
    for day in time_words.weekdays_named(match["name"]):
        yield TimeParts(weekday=day)


def _offset(match: re.Match[str]) -> Iterator[TimeParts]:
    ahead = int(match["h"] or 0) * _HOUR + int(match["min"] or 0)
    if ahead < DAY:
        yield TimeParts(offset=-ahead if match["sign"] == "-" else ahead)


_GAPS = " ,"
_END = r"(?![\w:])"  # a number or a word ends here
_MARKED = r"(?! ?[ap]\.? ?m\b| ?h\b| ?uhr\b|[-/.]\d)"  # no sign of an hour or a date follows
_OFFSET_OF_ISO = r"^(\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?([+-]\d\d:?\d\d)$"

Shape = tuple[re.Pattern[str], "Callable[[re.Match[str]], Iterator[TimeParts]]"]


@cache
def _shapes() -> list[Shape]:
    """Return the patterns for all shapes with numbers and for weekdays, with their meanings."""
    name, day = r"(?P<name>[a-z]{3,})\.?", r"(?P<d>\d{1,2})"
    year = rf"(?:,? ?(?:de |del |of )?(?P<y>\d{{4}}){_END})?"
    hour, minute = r"(?P<h>\d{1,2})", r"(?P<min>\d\d)"
    one, unit = (
        time_words.one_of(time_words.ONE),
        time_words.one_of([*chain(*time_words.UNITS.values())]),
    )
    shapes: list[tuple[str, Callable[[re.Match[str]], Iterator[TimeParts]]]] = [
        (rf"(?P<y>\d{{4}})(?P<mark>[-/.])(?P<m>\d{{1,2}})(?P=mark){day}", _full_date),
        (r"(?P<a>\d{1,2})(?P<mark>[-/.])(?P<b>\d{1,2})(?P=mark)(?P<y>\d{4}|\d\d)", _date),
        (r"(?P<a>\d{1,2})(?P<mark>\.) ?(?P<b>\d{1,2})\.(?: (?P<y>\d{4}))?", _date),
        (r"(?P<a>\d{1,2})(?P<mark>[-/.])(?P<b>\d{1,2})(?![-/.]\d)", _date),
        (rf"{day}(?:\.|st|nd|rd|th|er|o|a)? ?(?:of |de |di )?{name}{year}", _named_date),
        (rf"{name} {day}(?:st|nd|rd|th)?{_END}{year}", _named_date),
        (rf"{hour}:{minute}(?::\d\d(?:\.\d{{1,6}})?)?(?: ?h| uhr)?", _clock),
        (rf"{hour}(?:[:.]{minute})? ?(?P<half>[ap])\.? ?m\b\.?", _clock),
        (rf"{hour}\.{minute}(?: ?uhr| ?h)?", _clock),
        (rf"{hour} ?uhr(?: {minute})?", _clock),
        (rf"{hour} ?h ?{minute}?", _clock),
        (rf"{hour}{_MARKED}", _bare_hour),
        (rf"(?P<n>\d{{1,4}}|{one}(?= )|un') ?(?P<unit>{unit})\.?", _span),
        (rf"(?P<n>\d{{1,4}}) ?h ?{minute} ?m?", _hours_and_minutes),
        (rf"(?:utc|gmt) ?(?P<sign>[+-]){hour}(?::?{minute})?", _offset),
        (r"(?:z|utc|gmt)(?P<sign>)(?P<h>)(?P<min>)(?! ?[+-])", _offset),
        (r"(?P<name>[a-z]{2,})(?:-feira)?\.?", _weekday),
    ]
    return [(re.compile(shape + _END), meanings) for shape, meanings in shapes]


@cache
def _vocabulary() -> dict[str, list[TimeParts]]:
    """Return all known words, with their meanings."""
    meanings: dict[str, list[TimeParts]] = {}
    for words, parts in (
        *(([word], TimeParts(days=days)) for word, days in time_words.DAYS.items()),
        *(([word], TimeParts(part=part)) for word, part in time_words.PARTS.items()),
        (time_words.TONIGHT, TimeParts(days=0, part=time_words.EVENING)),
        (time_words.NOON, TimeParts(clock=NOON)),
        (time_words.MIDNIGHT, TimeParts(clock=0)),
        (time_words.MIDNIGHT, TimeParts(clock=DAY)),
        (time_words.FOLLOWING, TimeParts(following=True)),
        (time_words.WITHIN, TimeParts(within=True)),
        (time_words.AT, TimeParts(at=True)),
        (time_words.NOISE, TimeParts()),
    ):
        for word in words:
            meanings.setdefault(word, []).append(parts)
    return meanings


MINUTE = 60_000  # in ms
_SECOND = 1000
_NEXT_DAYS = 3  # a time that a change of clocks skips occurs a day later
# Patterns are compiled at first use to keep the start fast.
_THE = "(?:las |la |as |le )?"
_FROM = rf"^(?:from|between|von|zwischen|desde|de|des|das|entre|dalle|tra|fra) {_THE}"
_TO = rf" ?- ?| (?:to|until|till|and|bis|und|hasta|a|y|et|alle|e|as|ate) {_THE}"
_HOUR_ALONE = r"(\d{1,2})h?"


def read_clock(text: str) -> int | replies.Problem:
    """Parse a time of day to minutes, 0 to 1439: `20:00`, `8 pm`, `20 Uhr`, noon."""
    hour = time_words.folded(text) or ""
    alone = readings(f"at {hour}") if hour.isdigit() else []
    found = {
        parts.clock % DAY
        for parts in (*readings(text), *alone)
        if parts.clock is not None
        if parts == TimeParts(clock=parts.clock, bare=parts.bare, at=parts.at, part=parts.part)
    }
    return found.pop() if len(found) == 1 else replies.Problem("problem-clock")


def read_hours(text: str) -> tuple[int, int] | replies.Problem:
    """Parse a range of hours such as `22-7` to minutes of the day.

    A bare hour is in 24-hour time if the other side is.
    """
    sides = re.split(_TO, re.sub(_FROM, "", time_words.folded(text) or ""))
    if len(sides) != len(("from", "until")):
        return replies.Problem("problem-hours")
    by_24 = any(_shows_24(side) for side in sides)
    times = []
    for side in sides:
        hour = re.fullmatch(_HOUR_ALONE, side)
        times.append(read_clock(f"{hour[1]}:00" if hour and by_24 else side))
    start, end = times
    if isinstance(start, replies.Problem) or isinstance(end, replies.Problem) or start == end:
        return replies.Problem("problem-hours")
    return start, end


def _shows_24(side: str) -> bool:
    """True if a time is written in 24-hour form: it has minutes, or is above 12."""
    hour = re.fullmatch(_HOUR_ALONE, side.removesuffix("uhr").strip())
    if hour is None:
        return ":" in side and not side.endswith("m")
    return not 0 < int(hour[1]) <= DAY // 120 or side.endswith(("h", "uhr"))


def local_datetime(at: int, zone: str) -> datetime:
    """Return the local time in the zone at `at` (epoch ms)."""
    return datetime.fromtimestamp(at // _SECOND, UTC).astimezone(zones.zone_info(zone))


def epochs_showing(shown: datetime, zone: str) -> tuple[int, ...]:
    """Return the zero, one or two moments (epoch ms) at which it is this local time."""
    both = {_epoch(shown, zone, fold) for fold in (0, 1)}
    shows = (at for at in both if local_datetime(at, zone).replace(tzinfo=None, fold=0) == shown)
    return tuple(sorted(shows))


def _epoch(shown: datetime, zone: str, fold: int) -> int:
    return int(shown.replace(tzinfo=zones.zone_info(zone), fold=fold).timestamp() * _SECOND)


def epochs_reaching(shown: datetime, zone: str) -> tuple[int, ...]:
    """Return the moments of this local time; if it is skipped, the clock change (epoch ms)."""
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
    """Return the next moment after `now` with this local minute of the day (epoch ms).

    If clocks are put back, the time may occur twice in a night. If they are put forward and skip
    it, the result is the moment of the change.
    """
    midnight = datetime.combine(local_datetime(now, zone).date(), datetime.min.time())
    days = (midnight + timedelta(days=ahead, minutes=minutes) for ahead in range(_NEXT_DAYS))
    return min(at for shown in days for at in epochs_reaching(shown, zone) if at > now)


def is_within_hours(now: int, zone: str, quiet: tuple[int, int]) -> bool:
    """True if `now` (epoch ms) is within local quiet hours, which may span midnight."""
    start, end = quiet
    shown = local_datetime(now, zone)
    minute = shown.hour * 60 + shown.minute
    return start <= minute < end if start < end else minute >= start or minute < end
