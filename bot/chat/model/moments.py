"""Local times and moments: times of day, and the start or end of a request as people write it.

All readings of a text are considered: if they give one moment, it is the result; several make a
Choice; otherwise the result is a Problem with the reason. Moments are in epoch ms.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum

from babel.dates import format_date, format_time

from bot.chat.model import replies, time_words, zones
from bot.core.text import translations
from bot.interface import fields

# Local time, which occurs twice when clocks are put back, and is skipped when put forward.

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
    alone = time_words.readings(f"at {hour}") if hour.isdigit() else []
    found = {
        parts.clock % time_words.DAY
        for parts in (*time_words.readings(text), *alone)
        if parts.clock is not None
        if parts
        == time_words.TimeParts(clock=parts.clock, bare=parts.bare, at=parts.at, part=parts.part)
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
    return not 0 < int(hour[1]) <= time_words.DAY // 120 or side.endswith(("h", "uhr"))


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


# Formatting of moments: in full, so that sellers can check them, and short for buttons.

MAX_LABEL = 40  # characters of a button that is alone in its row
_MOST_SHORT = 80  # UTF-16 units, with a zone
_FULL = {"en": "EEEE, d MMMM y"}  # CLDR's format is American; day first is understood everywhere
_SHORT = {"en": "EEE, d MMM y", "de": "EEE d. MMM y"}
_CLOCK = "HH:mm"
_HOUR = 60 * MINUTE
_DAYS_FROM = 48 * _HOUR  # nearer moments are counted in hours


def full_text(at: int, now: int, zone: str, language: str) -> str:
    """Format a moment in full: day, time, zone, and the time until then if it is in the future.

    "Thursday, 31 December 2026, 23:59, Berlin time (in 39 days)"; epoch ms. If the hour occurs
    twice, the text has the offset.
    """
    tongue, shown = translations.choose(language), local_datetime(at, zone)
    place = zones.place_name(zone, language)
    if not zones.is_fixed_offset(zone):
        place = translations.t(language, "moment-place", place=place)
        if _is_twice(at, zone):
            place = f"{place}, {zones.utc_offset(at, zone)}"
    whole = translations.t(
        language,
        "moment-spelled",
        date=format_date(shown.date(), _FULL.get(tongue, "full"), locale=tongue),
        time=format_time(shown.time(), _CLOCK, locale=tongue),
        zone=place,
    )
    return f"{whole} ({_ahead(at, now, zone, language)})" if at > now else whole


def _is_twice(at: int, zone: str) -> bool:
    shown = local_datetime(at, zone).replace(second=0, tzinfo=None, fold=0)
    return len(epochs_showing(shown, zone)) > 1


def _ahead(at: int, now: int, zone: str, language: str) -> str:
    if at - now >= _DAYS_FROM:
        days = (local_datetime(at, zone).date() - local_datetime(now, zone).date()).days
        return translations.t(language, "moment-in-days", count=days)
    hours, rest = divmod(at - now, _HOUR)
    minutes = rest // MINUTE
    if hours == 0:
        return translations.t(language, "moment-in-minutes", minutes=max(minutes, 1))
    if minutes == 0:
        return translations.t(language, "moment-in-hours", hours=hours)
    return translations.t(language, "moment-in-both", hours=hours, minutes=minutes)


def button_label(at: int, zone: str, language: str) -> str:
    """Format a moment for a button, in at most MAX_LABEL characters: "Thu, 31 Dec 2026, 23:59"."""
    tongue, shown = translations.choose(language), local_datetime(at, zone)
    day = format_date(shown.date(), _SHORT.get(tongue, "EEE d MMM y"), locale=tongue)
    label = f"{day}, {format_time(shown.time(), _CLOCK, locale=tongue)}"
    return f"{label} ({zones.utc_offset(at, zone)})" if _is_twice(at, zone) else label


def short_text(at: int, zone: str | None, language: str, *, with_zone: bool = True) -> str:
    """Format a moment briefly, escaped, with its time zone unless `with_zone` is False.

    If the zone's rules can't be read, the time is in UTC and says so. Return "" if the moment, sent
    by another server, is out of the calendar's range.
    """
    wanted = zone or zones.UTC_ZONE
    for shown in (wanted, zones.UTC_ZONE):
        try:
            label = button_label(at, shown, language)
            place = zones.place_name(shown, language) if with_zone or shown != wanted else ""
        except (OSError, KeyError, ValueError, OverflowError):
            continue
        return replies.escaped(f"{label} ({place})" if place else label, _MOST_SHORT)
    return ""


MAX_AHEAD = 1000 * fields.MAX_SECONDS
MAX_CHOICES = 4  # buttons below one question
_MAX_YEARS = 11  # beyond MAX_AHEAD on any day
_LEAP_YEARS = 9  # years that contain every date, 29 February included
_WEEK = 7
_MONTHS = 12
_FIRST_YEAR = 1970  # of epoch ms


@dataclass(frozen=True, slots=True)
class Choice:
    """Possible moments for a text, earliest first; the seller chooses one."""

    moments: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Past(replies.Problem):
    """The Problem that a moment is in the past; its text names the moment in full."""

    at: int = 0
    now: int = 0
    zone: str = ""

    def text(self, language: str) -> str:
        """Return the text of the problem."""
        moment = full_text(self.at, self.now, self.zone, language)
        return translations.t(language, "problem-moment-past", moment=moment)


class _Refusal(StrEnum):
    """Reasons why the parts are no valid time, as text keys, the most helpful first."""

    GAP = "problem-moment-gap"
    WEEKDAY = "problem-moment-weekday"
    DATE = "problem-moment-date"
    FAR = "problem-moment-far"


@dataclass(frozen=True, slots=True)
class _Question:
    """The context of a question: current time, zone, and whether it asks for an end or a start."""

    now: int
    zone: str
    end: bool

    @property
    def today(self) -> date:
        """Return the current date in the zone."""
        return local_datetime(self.now, self.zone).date()


def read_moment(text: str, now: int, zone: str, *, end: bool) -> int | Choice | replies.Problem:
    """Parse the start (or `end`) of a request: `tomorrow 18:00`, `in 2 h`, `31.12.`.

    A day without a time means its first minute for a start, and its last for an end.
    """
    found = [_moments(parts, _Question(now, zone, end)) for parts in time_words.readings(text)]
    moments = sorted({at for each in found if not isinstance(each, _Refusal) for at in each})
    coming = tuple(at for at in moments if now < at <= now + MAX_AHEAD)
    if coming:
        return coming[0] if len(coming) == 1 else Choice(coming[:MAX_CHOICES])
    if past := [at for at in moments if at <= now]:
        return Past("problem-moment-past", {}, past[-1], now, zone)
    if moments:
        return replies.Problem(_Refusal.FAR)
    why = next((each for each in _Refusal if each in found), None)
    return replies.Problem(why) if why else replies.Problem("problem-moment")


def _moments(parts: time_words.TimeParts, question: _Question) -> tuple[int, ...] | _Refusal:
    """Return the possible moments of the parts, including past ones."""
    if parts.span and parts.clock is None and parts.part is None:
        return _later(parts.span, question)
    days = _days(parts, question.today)
    if isinstance(days, _Refusal):
        return days
    if max(days).year > question.today.year + _MAX_YEARS:
        return _Refusal.FAR
    by_day = [[*_at(parts, day, question)] for day in days]
    if parts.names_day:
        return tuple(at for each in by_day for at in each) or _Refusal.GAP
    coming = ([at for at in each if at > question.now] for each in by_day)
    return tuple(next(filter(None, coming), ())) or _Refusal.GAP


def _later(span: time_words.Span, question: _Question) -> tuple[int, ...] | _Refusal:
    """Add calendar months and days, keeping the time of day, then exact hours and minutes."""
    at = question.now
    if span.months or span.days:
        day = _shifted(question.today, span)
        if isinstance(day, _Refusal):
            return day
        shown = local_datetime(at, question.zone).time().replace(fold=0)
        at = epochs_reaching(datetime.combine(day, shown), question.zone)[0]
    return (at + (span.hours * 60 + span.minutes) * MINUTE,)


def _shifted(day: date, span: time_words.Span) -> date | _Refusal:
    """Return the day after the span; if the month is too short, its last day."""
    years, month = divmod(day.month - 1 + span.months, 12)
    if years > _MAX_YEARS:
        return _Refusal.FAR
    year, month = day.year + years, month + 1
    shortened = min(day.day, monthrange(year, month)[1])
    return date(year, month, shortened) + timedelta(days=span.days)


def _days(parts: time_words.TimeParts, today: date) -> list[date] | _Refusal:
    """Return the possible days of the parts; today and tomorrow if they name no day."""
    found: date | _Refusal | None = None
    if parts.date:
        found = _date(*parts.date, today)
    elif parts.span:
        found = _shifted(today, parts.span)
    elif parts.days is not None:
        found = today + timedelta(days=parts.days)
    if isinstance(found, _Refusal):
        return found
    if found is None and parts.weekday is not None:
        return _weekdays(parts.weekday, today, following=bool(parts.following))
    if found and parts.weekday not in (None, found.weekday()):
        return _Refusal.WEEKDAY
    return [found] if found else [today, today + timedelta(days=1)]


def _date(year: int | None, month: int, day: int, today: date) -> date | _Refusal:
    """Return the day of a date; without a year, its next occurrence, today included."""
    years = range(today.year, today.year + _LEAP_YEARS) if year is None else [year]
    if min(years) < _FIRST_YEAR or not 1 <= month <= _MONTHS:
        return _Refusal.DATE
    there = [each for each in years if 1 <= day <= monthrange(each, month)[1]]
    days = [date(each, month, day) for each in there]
    return next((each for each in days if year or each >= today), _Refusal.DATE)


def _weekdays(weekday: int, today: date, *, following: bool) -> list[date]:
    """Return the next such weekday and, if the text may mean it, the one a week later."""
    ahead = (weekday - today.weekday()) % _WEEK
    nearest, later = (today + timedelta(days=ahead + more) for more in (0, _WEEK))
    if ahead == 0:
        return [later] if following else [nearest, later]
    return [nearest, later] if following and weekday > today.weekday() else [nearest]


def _at(parts: time_words.TimeParts, day: date, question: _Question) -> Iterator[int]:
    midnight = datetime.combine(day, time.min)
    for minutes in _minutes(parts, question):
        shown = midnight + timedelta(minutes=minutes)
        if parts.offset is None:
            yield from epochs_showing(shown, question.zone)
        else:
            utc = (shown - timedelta(minutes=parts.offset)).replace(tzinfo=UTC)
            yield int(utc.timestamp() * 1000)
    if not (parts.clock is not None or _is_part_alone(parts, question)):
        last = midnight + timedelta(minutes=time_words.DAY - 1)
        yield (
            epochs_reaching(last, question.zone)[-1]
            if question.end
            else epochs_reaching(midnight, question.zone)[0]
        )


def _minutes(parts: time_words.TimeParts, question: _Question) -> tuple[int, ...]:
    if parts.clock is not None:
        return (parts.clock,)
    if parts.part and _is_part_alone(parts, question):
        return tuple(hour * 60 for hour in time_words.HOURS_OF[parts.part])
    return ()


def _is_part_alone(parts: time_words.TimeParts, question: _Question) -> bool:
    """True if the parts name only a part of the day; an end "tonight" means midnight instead."""
    tonight = question.end and parts.days == 0 and parts.part == time_words.EVENING
    return parts.part is not None and not tonight
