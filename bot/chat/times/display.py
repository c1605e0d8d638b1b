"""Moments in words: in full, so that sellers can check them, and short for a button."""

from __future__ import annotations

from babel.dates import format_date, format_time

from bot.chat.times import zones
from bot.chat.times.local_time import MINUTE, epochs_showing, local_datetime
from bot.core.text.translations import choose, t

MAX_LABEL = 40  # characters of a button that stands alone in its row
_FULL = {"en": "EEEE, d MMMM y"}  # CLDR's is American; everybody understands the day first
_SHORT = {"en": "EEE, d MMM y", "de": "EEE d. MMM y"}
_CLOCK = "HH:mm"
_HOUR = 60 * MINUTE
_DAYS_FROM = 48 * _HOUR  # nearer moments are counted in hours


def full_text(at: int, now: int, zone: str, language: str) -> str:
    """Format a moment in full: day, time, zone, and how far ahead it is if it is.

    "Thursday, 31 December 2026, 23:59, Berlin time (in 39 days)"; epoch ms.
    """
    tongue, shown = choose(language), local_datetime(at, zone)
    whole = t(
        language,
        "moment-spelled",
        date=format_date(shown.date(), _FULL.get(tongue, "full"), locale=tongue),
        time=format_time(shown.time(), _CLOCK, locale=tongue),
        zone=_zone(at, zone, language),
    )
    return f"{whole} ({_ahead(at, now, zone, language)})" if at > now else whole


def _zone(at: int, zone: str, language: str) -> str:
    """Return the name of the zone, with its offset in an hour that occurs twice."""
    if zones.is_fixed_offset(zone):
        return zones.place_name(zone, language)
    there = t(language, "moment-place", place=zones.place_name(zone, language))
    return f"{there}, {zones.utc_offset(at, zone)}" if _is_twice(at, zone) else there


def _is_twice(at: int, zone: str) -> bool:
    shown = local_datetime(at, zone).replace(second=0, tzinfo=None, fold=0)
    return len(epochs_showing(shown, zone)) > 1


def _ahead(at: int, now: int, zone: str, language: str) -> str:
    if at - now >= _DAYS_FROM:
        days = (local_datetime(at, zone).date() - local_datetime(now, zone).date()).days
        return t(language, "moment-in-days", count=days)
    hours, rest = divmod(at - now, _HOUR)
    minutes = rest // MINUTE
    if hours == 0:
        return t(language, "moment-in-minutes", minutes=max(minutes, 1))
    if minutes == 0:
        return t(language, "moment-in-hours", hours=hours)
    return t(language, "moment-in-both", hours=hours, minutes=minutes)


def button_label(at: int, zone: str, language: str) -> str:
    """Format a moment in MAX_LABEL characters at most, for a button: "Thu, 31 Dec 2026, 23:59"."""
    tongue, shown = choose(language), local_datetime(at, zone)
    day = format_date(shown.date(), _SHORT.get(tongue, "EEE d MMM y"), locale=tongue)
    label = f"{day}, {format_time(shown.time(), _CLOCK, locale=tongue)}"
    return f"{label} ({zones.utc_offset(at, zone)})" if _is_twice(at, zone) else label
