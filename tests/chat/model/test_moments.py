"""Times of the day: parsed as people write them, and right across changes of the clocks."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.chat.model import moments
from bot.chat.model.moments import (
    Choice,
    button_label,
    full_text,
    is_within_hours,
    next_epoch_at,
    read_clock,
    read_hours,
)
from bot.chat.model.replies import Problem
from bot.core.text.translations import languages, t
from tests.support.time_zones import BERLIN, CODE, KATHMANDU, LORD_HOWE, NEW_YORK, NOW, at, ends

ZONES = st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, KATHMANDU, "America/Santiago", "Etc/UTC"])
MOMENTS = st.integers(at("2026-01-01 00:00") // 1000, at("2037-01-01 00:00") // 1000)
MINUTES = st.integers(0, 24 * 60 - 1)

CLOCKS = {
    0: ["midnight", "0:00", "24:00", "00:00", "12 am", "Mitternacht", "0 Uhr", "0"],
    8 * 60: ["8:00", "8 am", "8 Uhr", "08:00", "8h", "8 in the morning", "8 Uhr morgens"],
    8 * 60 + 30: ["8:30", "8.30", "8h30", "8:30 a.m.", "8 Uhr 30"],
    12 * 60: ["noon", "12 pm", "12:00", "Mittag"],
    20 * 60: [
        "20:00",
        "8 pm",
        "20 Uhr",
        "20",
        "20h",
        "at 8 pm",
        "um 20 Uhr",
        "a las 20",
        "abends 8",
    ],
}

NO_CLOCKS = ("", "8", "12", "at 8", "25:00", "tomorrow 8 pm", "in 2 h", "31.12.", "8-9", "x", "-8")
NO_HOURS = (
    *("", "22", "10-7", "1-7", "7-7", "22:00-22:00", "10pm-7", "25-7", "1-2-3"),
    *("x-y", "22 7", "-"),
)

HOURS = {
    (1320, 420): [
        *("22-7", "22\u20137", "22 - 7", "22:00-7:00", "10pm-7am", "10 pm to 7 am", "22h-7h"),
        *("von 22 bis 7 Uhr", "22 bis 7", "from 22:00 to 7:00", "de 22h a 7h", "de 22 à 7 h"),
        *("dalle 22 alle 7", "das 22 às 7", "entre las 22 y las 7", "22 Uhr bis 7 Uhr"),
        *("\u0662\u0662-\u0667", "zwischen 22 und 7 Uhr"),
    ],
    (1320, 450): ["22:00 to 7:30", "22-7:30", "22 bis 7.30 Uhr"],
    (0, 420): ["0-7", "midnight to 7 am", "24-7"],
    (540, 1020): ["9:00-17:00", "9-17", "9 am - 5 pm"],
}


def test_times_of_day_are_parsed_as_people_write_them() -> None:
    clocks = {line: minutes for minutes, lines in CLOCKS.items() for line in lines}
    assert {line: read_clock(line) for line in clocks} == clocks
    hours = {line: found for found, lines in HOURS.items() for line in lines}
    assert {line: read_hours(line) for line in hours} == hours


def test_a_text_with_no_time_or_two_is_answered_by_a_problem() -> None:
    """A number up to 12 may be of either half of the day."""
    clocks = {line: read_clock(line) for line in NO_CLOCKS}
    assert clocks == dict.fromkeys(NO_CLOCKS, Problem("problem-clock"))
    hours = {line: read_hours(line) for line in NO_HOURS}
    assert hours == dict.fromkeys(NO_HOURS, Problem("problem-hours"))


@given(st.text(max_size=80))
def test_any_text_is_parsed_or_answered_by_a_problem(text: str) -> None:
    clock, hours = read_clock(text), read_hours(text)
    assert isinstance(clock, Problem) or 0 <= clock < 24 * 60
    assert isinstance(hours, Problem) or hours[0] != hours[1]


@pytest.mark.parametrize("language", languages())
def test_each_example_in_a_text_can_be_typed(language: str) -> None:
    clocks = CODE.findall(t(language, "problem-clock"))
    hours = CODE.findall(t(language, "problem-hours"))
    assert len(clocks) == len(hours) == 2
    assert all(isinstance(read_clock(line), int) for line in clocks)
    assert all(isinstance(read_hours(line), tuple) for line in hours)


@pytest.mark.parametrize(
    ("zone", "now", "minutes", "expected"),
    [
        (BERLIN, at("2026-11-22 12:00"), 20 * 60, at("2026-11-22 20:00")),
        (BERLIN, at("2026-11-22 20:00"), 20 * 60, at("2026-11-23 20:00")),
        (BERLIN, at("2027-03-27 20:00"), 8 * 60, at("2027-03-28 08:00")),
        (BERLIN, at("2027-10-30 20:00"), 8 * 60, at("2027-10-31 08:00")),
        (BERLIN, at("2027-03-28 00:00"), 150, at("2027-03-28 03:00")),
        (BERLIN, at("2027-10-31 02:30"), 150, at("2027-10-31 02:30", fold=1)),
        (LORD_HOWE, at("2027-10-03 01:00", LORD_HOWE), 135, at("2027-10-03 02:30", LORD_HOWE)),
        (NEW_YORK, at("2027-03-14 01:00", NEW_YORK), 150, at("2027-03-14 03:00", NEW_YORK)),
        (KATHMANDU, at("2026-11-22 23:59", KATHMANDU), 0, at("2026-11-23 00:00", KATHMANDU)),
    ],
)
def test_the_next_occurrence_is_right_across_changes(
    zone: str, now: int, minutes: int, expected: int
) -> None:
    assert next_epoch_at(minutes, now, zone) == expected


@given(MINUTES, MOMENTS, ZONES)
@example(150, at("2027-03-28 00:30") // 1000, BERLIN)
@example(150, at("2027-10-31 02:59") // 1000, BERLIN)
@example(135, at("2027-10-03 00:00", LORD_HOWE) // 1000, LORD_HOWE)
@example(0, at("2027-09-04 23:00", "America/Santiago") // 1000, "America/Santiago")
def test_the_next_occurrence_is_the_first_that_the_clock_shows(
    minutes: int, second: int, zone: str
) -> None:
    """Minute by minute, the clock shows or skips it there and not before."""
    now = second * 1000
    moment = next_epoch_at(minutes, now, zone)
    assert now < moment <= now + 25 * 3_600_000
    assert moment == _walked(minutes, now, zone)


def _walked(minutes: int, now: int, zone: str) -> int:
    here = datetime.fromtimestamp(now // 60_000 * 60, UTC)
    shown = here.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    while True:
        here += timedelta(minutes=1)
        before, shown = shown, here.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        aim = shown.replace(hour=minutes // 60, minute=minutes % 60)
        if shown == aim or before < aim < shown:
            return int(here.timestamp() * 1000)


@pytest.mark.parametrize(
    ("quiet", "within", "without"),
    [
        ((1320, 420), ["22:00", "23:59", "00:00", "06:59"], ["07:00", "12:00", "21:59"]),
        ((540, 1020), ["09:00", "16:59"], ["08:59", "17:00", "00:00"]),
        ((0, 420), ["00:00", "06:59"], ["07:00", "23:59"]),
        ((1320, 450), ["07:29"], ["07:30"]),
    ],
)
def test_quiet_hours_are_in_the_sellers_zone(
    quiet: tuple[int, int], within: list[str], without: list[str]
) -> None:
    for zone in (BERLIN, KATHMANDU):
        assert all(
            is_within_hours(at(f"2026-11-22 {shown}", zone), zone, quiet) for shown in within
        )
        assert not any(
            is_within_hours(at(f"2026-11-22 {shown}", zone), zone, quiet) for shown in without
        )


@given(MINUTES, MINUTES, MOMENTS, ZONES)
def test_quiet_hours_have_ended_at_their_end(start: int, end: int, second: int, zone: str) -> None:
    """A message that waits for the end is sent then."""
    if start != end and is_within_hours(second * 1000, zone, (start, end)):
        assert not is_within_hours(next_epoch_at(end, second * 1000, zone), zone, (start, end))


# Moments in words: in full, and short for a button.


SPELLED = re.compile(r", Berlin time.*|, Zeit in Berlin.*")


@given(st.integers(1, moments.MAX_AHEAD // 60_000 - 60), st.sampled_from(["en", "de"]))
def test_a_moment_in_full_is_parsed_as_the_same_moment(minutes: int, language: str) -> None:
    moment = NOW + minutes * 60_000
    found = ends(SPELLED.sub("", full_text(moment, NOW, BERLIN, language)))
    assert found == moment or (isinstance(found, Choice) and moment in found.moments)


@given(
    st.integers(0, moments.MAX_AHEAD),
    st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, KATHMANDU, "Etc/UTC", "Etc/GMT-14"]),
    st.sampled_from(languages()),
)
def test_a_label_is_short_and_names_the_minute(ahead: int, zone: str, language: str) -> None:
    label = button_label(NOW + ahead, zone, language)
    shown = datetime.fromtimestamp((NOW + ahead) / 1000, ZoneInfo(zone))
    assert len(label) <= 40
    assert f"{shown:%H:%M}" in label
    assert str(shown.year) in label


@pytest.mark.parametrize(
    ("shown", "zone", "english", "german"),
    [
        (
            "2026-12-31 23:59",
            BERLIN,
            "Thursday, 31 December 2026, 23:59, Berlin time (in 39 days)",
            "Donnerstag, 31. Dezember 2026, 23:59 Uhr, Zeit in Berlin (in 39 Tagen)",
        ),
        (
            "2026-11-22 16:45",
            KATHMANDU,
            "Sunday, 22 November 2026, 16:45, Kathmandu time",
            "Sonntag, 22. November 2026, 16:45 Uhr, Zeit in Kathmandu",
        ),
        (
            "2026-11-22 13:30",
            "Etc/GMT-2",
            "Sunday, 22 November 2026, 13:30, UTC+2 (in 30 min)",
            "Sonntag, 22. November 2026, 13:30 Uhr, UTC+2 (in 30 Min.)",
        ),
        (
            "2026-11-23 12:00",
            "Etc/UTC",
            "Monday, 23 November 2026, 12:00, UTC (in 25 h)",
            "Montag, 23. November 2026, 12:00 Uhr, UTC (in 25 Std.)",
        ),
        (
            "2026-11-22 14:30",
            BERLIN,
            "Sunday, 22 November 2026, 14:30, Berlin time (in 2 h 30 min)",
            "Sonntag, 22. November 2026, 14:30 Uhr, Zeit in Berlin (in 2 Std. 30 Min.)",
        ),
    ],
)
def test_a_moment_is_formatted_in_full(shown: str, zone: str, english: str, german: str) -> None:
    """Day, time, zone, and how far ahead it is; a past moment is not ahead."""
    moment = at(shown, zone)
    assert full_text(moment, NOW, zone, "en-US") == english
    assert full_text(moment, NOW, zone, "de-AT") == german


def test_a_label_is_in_the_sellers_language() -> None:
    assert button_label(at("2027-03-04 18:00"), BERLIN, "en") == "Thu, 4 Mar 2027, 18:00"
    assert button_label(at("2027-03-04 18:00"), BERLIN, "de") == "Do. 4. M\u00e4rz 2027, 18:00"
    assert button_label(at("2027-10-31 02:30"), BERLIN, "en").endswith(", 02:30 (UTC+2)")


def test_a_short_moment_whose_zone_has_no_rules_is_in_utc_and_says_so() -> None:
    moment = at("2027-03-04 18:00", "Etc/UTC")
    for with_zone in (True, False):
        shown = moments.short_text(moment, "Nowhere/Land", "en", with_zone=with_zone)
        assert shown == "Thu, 4 Mar 2027, 18:00 (UTC)"


def test_a_short_moment_names_its_zone_unless_the_text_around_it_does() -> None:
    moment = at("2027-03-04 18:00")
    assert moments.short_text(moment, BERLIN, "en") == "Thu, 4 Mar 2027, 18:00 (Berlin)"
    assert moments.short_text(moment, BERLIN, "en", with_zone=False) == "Thu, 4 Mar 2027, 18:00"
    assert moments.short_text(10**18, BERLIN, "en") == ""
