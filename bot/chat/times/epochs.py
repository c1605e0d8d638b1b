"""From what was said to the moments it means."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from bot.chat.times import vocabulary
from bot.chat.times.local_time import MINUTE, epochs_reaching, epochs_showing, local_datetime
from bot.chat.times.time_parts import DAY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.chat.times.time_parts import Span, TimeParts

MAX_AHEAD = 315_360_000_000  # ms; the interface's bound of expirationInSeconds
_MAX_YEARS = 11  # further ones are too far on any day
_LEAP_YEARS = 9  # years within which there is every day that there ever is
_WEEK = 7
_MONTHS = 12
_FIRST_YEAR = 1970  # moments are counted from it


class Refusal(StrEnum):
    """Why what was said is no moment, as keys of the texts; what helps most comes first."""

    GAP = "problem-moment-gap"
    WEEKDAY = "problem-moment-weekday"
    DATE = "problem-moment-date"
    FAR = "problem-moment-far"


@dataclass(frozen=True, slots=True)
class Question:
    """The question: when it is asked, where, and for which end of the time."""

    now: int
    zone: str
    end: bool

    @property
    def today(self) -> date:
        """The day it is there."""
        return local_datetime(self.now, self.zone).date()


def moments_of(spoken: TimeParts, asked: Question) -> tuple[int, ...] | Refusal:
    """Give the moments it may mean, those in the past too, or why there is none."""
    if spoken.span and spoken.clock is None and spoken.part is None:
        return _after(spoken.span, asked)
    days = _days(spoken, asked.today)
    if isinstance(days, Refusal):
        return days
    if max(days).year > asked.today.year + _MAX_YEARS:
        return Refusal.FAR
    by_day = [[*_at(spoken, day, asked)] for day in days]
    if spoken.says_day:
        return tuple(at for each in by_day for at in each) or Refusal.GAP
    coming = ([at for at in each if at > asked.now] for each in by_day)
    return tuple(next(filter(None, coming), ())) or Refusal.GAP


def _after(span: Span, asked: Question) -> tuple[int, ...] | Refusal:
    """Count months and days by the calendar, so that the clock shows the same, the rest exactly."""
    at = asked.now
    if span.months or span.days:
        day = _shifted(asked.today, span)
        if isinstance(day, Refusal):
            return day
        shown = local_datetime(at, asked.zone).time().replace(fold=0)
        at = epochs_reaching(datetime.combine(day, shown), asked.zone)[0]
    return (at + (span.hours * 60 + span.minutes) * MINUTE,)


def _shifted(day: date, span: Span) -> date | Refusal:
    """Give the day so much later; the last of a month that is too short for it."""
    years, month = divmod(day.month - 1 + span.months, 12)
    if years > _MAX_YEARS:
        return Refusal.FAR
    year, month = day.year + years, month + 1
    shortened = min(day.day, monthrange(year, month)[1])
    return date(year, month, shortened) + timedelta(days=span.days)


def _days(spoken: TimeParts, today: date) -> list[date] | Refusal:
    """Give the days it may mean; today and tomorrow where it names none."""
    found = _named_day(spoken, today)
    if isinstance(found, Refusal):
        return found
    if found is None and spoken.weekday is not None:
        return _weekdays(spoken.weekday, today, following=bool(spoken.following))
    if found and spoken.weekday not in (None, found.weekday()):
        return Refusal.WEEKDAY
    return [found] if found else [today, today + timedelta(days=1)]


def _named_day(spoken: TimeParts, today: date) -> date | Refusal | None:
    if spoken.date:
        return _date(*spoken.date, today)
    if spoken.span:
        return _shifted(today, spoken.span)
    return None if spoken.days is None else today + timedelta(days=spoken.days)


def _date(year: int | None, month: int, day: int, today: date) -> date | Refusal:
    """Give the day of that date; without a year the next one, today included."""
    years = range(today.year, today.year + _LEAP_YEARS) if year is None else [year]
    if min(years) < _FIRST_YEAR or not 1 <= month <= _MONTHS:
        return Refusal.DATE
    there = [each for each in years if 1 <= day <= monthrange(each, month)[1]]
    days = [date(each, month, day) for each in there]
    return next((each for each in days if year or each >= today), Refusal.DATE)


def _weekdays(weekday: int, today: date, *, following: bool) -> list[date]:
    """Give the next such day; two where it may be meant to be this week's or the next one's."""
    ahead = (weekday - today.weekday()) % _WEEK
    nearest, later = (today + timedelta(days=ahead + more) for more in (0, _WEEK))
    if ahead == 0:
        return [later] if following else [nearest, later]
    return [nearest, later] if following and weekday > today.weekday() else [nearest]


def _at(spoken: TimeParts, day: date, asked: Question) -> Iterator[int]:
    """Give the moments of a day."""
    midnight = datetime.combine(day, time.min)
    for minutes in _minutes(spoken, asked):
        shown = midnight + timedelta(minutes=minutes)
        if spoken.offset is None:
            yield from epochs_showing(shown, asked.zone)
        else:
            utc = (shown - timedelta(minutes=spoken.offset)).replace(tzinfo=UTC)
            yield int(utc.timestamp() * 1000)
    if not (spoken.clock is not None or _is_open(spoken, asked)):
        last = midnight + timedelta(minutes=DAY - 1)
        yield (
            epochs_reaching(last, asked.zone)[-1]
            if asked.end
            else epochs_reaching(midnight, asked.zone)[0]
        )


def _minutes(spoken: TimeParts, asked: Question) -> tuple[int, ...]:
    if spoken.clock is not None:
        return (spoken.clock,)
    if spoken.part and _is_open(spoken, asked):
        return tuple(hour * 60 for hour in vocabulary.HOURS_OF[spoken.part])
    return ()


def _is_open(spoken: TimeParts, asked: Question) -> bool:
    """Whether only the part of a day was said; what ends tonight ends with the day."""
    tonight = asked.end and spoken.days == 0 and spoken.part == vocabulary.EVENING
    return spoken.part is not None and not tonight
