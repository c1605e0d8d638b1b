"""Moments as people write them: parsed, asked about or refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.chat.model import moments
from bot.chat.model.moments import Choice, button_label, full_text, read_moment
from bot.chat.model.replies import Problem
from bot.core.text.translations import languages, t
from tests.support.source_tree import messages
from tests.support.time_zones import (
    BERLIN,
    CODE,
    KATHMANDU,
    LORD_HOWE,
    NEW_YORK,
    NOW,
    at,
    ends,
    starts,
)

TIMED = {
    "2026-11-22 13:00": ["in an hour", "in einer Stunde", "tra un'ora", "dans une heure", "1 h."],
    "2026-11-22 13:30": ["in 90 min", "in 1 h 30 min", "in 1 Stunde 30 Minuten", "1h 30m"],
    "2026-11-22 14:00": [
        *("in 2 h", "in 2 hours", "2 hours", "in 2 Stunden", "en 2 horas", "en 2 h"),
        "dans 2 heures",
        *("fra 2 ore", "em 2 horas", "daqui a 2 horas", "+2h", "+ 2 h", "in 2 Std.", "in 120 min"),
    ],
    "2026-11-22 12:30": ["half an hour", "in einer halben Stunde", "media hora", "mezz'ora"],
    "2026-11-22 18:00": [
        *("18:00", "18 Uhr", "18.00 Uhr", "18:00 Uhr", "6 pm", "6pm", "6:00 p.m.", "6 PM"),
        "18:00:00",
        *("today 18:00", "today at 6 pm", "heute 18 Uhr", "heute um 18 Uhr", "hoy a las 18:00"),
        *("aujourd'hui à 18h", "Aujourd\u2019hui 18 h", "oggi alle 18", "hoje às 18h", "at 18"),
        *("tonight 6 pm", "6 in the evening", "6 Uhr abends", "6:00 heute Abend"),
        *("\uff11\uff18:00", "17:00 UTC"),
        *("22:45 UTC+5:45", "\u0661\u0668:\u0660\u0660"),
    ],
    "2026-11-22 20:30": ["today 20:30", "tonight 20:30", "20.30", "heute Abend 20:30", "8:30 pm"],
    "2026-11-22 20:00": ["tonight at 8", "heute Abend 8", "stasera alle 8", "ce soir à 8 h"],
    "2026-11-23 00:00": ["midnight", "Mitternacht", "24:00", "today midnight", "minuit", "0:00"],
    "2026-11-23 11:00": ["11:00", "11 am", "11 Uhr"],
    "2026-11-23 12:00": ["noon", "Mittag", "mediodía", "midi", "tomorrow noon", "morgen Mittag"],
    "2026-11-23 18:00": [
        *("tomorrow 18:00", "tomorrow at 6 pm", "18:00 tomorrow", "tomorrow, 18:00"),
        "morgen 18 Uhr",
        *("mañana a las 6 de la tarde", "demain à 18h", "domani alle 18", "amanhã às 18h"),
        *("Monday 18:00", "Mo 18 Uhr", "TOMORROW 18:00", "until tomorrow 18:00", "tmrw 6pm"),
    ],
    "2026-11-23 09:00": ["tomorrow morning at 9", "morgen früh um 9", "tomorrow 9 am"],
    "2026-11-25 12:00": ["in 3 days", "3 days", "in 3 Tagen", "dans 3 jours", "em 3 dias"],
    "2026-11-25 18:00": ["in 3 days 18:00", "in 3 Tagen um 18 Uhr"],
    "2026-12-06 12:00": ["2 weeks", "in 2 Wochen", "en 2 semanas", "fra 2 settimane"],
    "2026-12-22 12:00": ["in a month", "in 1 Monat", "dans un mois"],
    "2027-11-22 12:00": ["in a year", "in einem Jahr", "12 months"],
    "2026-11-27 09:00": [
        "next friday 9am",
        "Friday 9:00",
        "nächsten Freitag 9 Uhr",
        "viernes 9:00",
    ],
    "2026-12-31 18:00": [
        *("31.12. 18:00", "31.12.2026 18 Uhr", "2026-12-31 18:00", "2026-12-31T18:00"),
        *("2026-12-31T17:00Z", "2026-12-31T18:00:00+01:00", "2026-12-31T17:00:00.000Z"),
        *("12/31/2026 6pm", "31/12/2026 18:00", "Dec 31 6 pm", "31 Dec 18:00"),
        "31. Dezember 18 Uhr",
        *("December 31st, 2026 at 6 pm", "31st of December 18:00", "31 de diciembre a las 18:00"),
        *("31 décembre 2026 à 18h", "31 dicembre alle 18", "31 de dezembro de 2026 às 18h"),
        *("Thursday, 31 December 2026, 18:00", "Do., 31.12.2026, 18:00 Uhr", "31. 12. 2026 18:00"),
        *("31.12.26 18:00", "2026/12/31 18:00"),
        "\u0663\u0661.\u0661\u0662. \u0661\u0668:\u0660\u0660",
        *("\u200f31.12. 18:00\u200f", "18:00 31.12.", "bis zum 31.12. 18 Uhr", "31.12 18.00"),
    ],
    "2027-03-06 18:00": ["6 mar 18:00", "mar 6 18:00", "6 März 18 Uhr", "6 marzo 18:00"],
}
"""Lines with a time, by the moment that each of them means."""

DAYS = {
    "2026-11-23": ["tomorrow", "morgen", "mañana", "demain", "domani", "amanhã", "Montag", "lunes"],
    "2026-11-24": [
        *("day after tomorrow", "the day after tomorrow", "übermorgen", "uebermorgen"),
        *("pasado mañana", "après-demain", "dopodomani", "depois de amanhã", "Tuesday", "mardi"),
    ],
    "2026-11-27": [
        *("Friday", "fri", "Freitag", "Fr", "viernes", "el viernes", "vendredi", "venerdì"),
        "on friday",
        *("sexta-feira", "next friday", "vendredi prochain", "kommenden Freitag", "by Friday"),
    ],
    "2026-12-31": [
        *("31.12.", "31.12", "31.12.2026", "31.12.26", "31 Dec", "Dec 31", "31. Dezember", "12/31"),
        *("31/12", "12/31/26", "31-12-2026", "2026-12-31", "31 dic", "31 déc.", "Dec. 31, 2026"),
    ],
    "2027-01-01": ["1er janvier", "1 ene", "1º de janeiro", "1 gennaio", "1. Jänner", "1/1"],
    "2027-03-06": ["6 mar", "mar 6"],
    "2028-02-29": ["29.2.", "Feb 29"],
}
"""Lines with a day only, by the day."""

CHOICES = {
    "tomorrow 6": ["2026-11-23 06:00", "2026-11-23 18:00"],
    "at 6": ["2026-11-22 18:00", "2026-11-23 06:00"],
    "um 8": ["2026-11-22 20:00", "2026-11-23 08:00"],
    "friday 12": ["2026-11-27 12:00", "2026-11-28 00:00"],
    "18h": ["2026-11-22 18:00", "2026-11-23 06:00"],
    "2h30": ["2026-11-22 14:30", "2026-11-23 02:30"],
    "3/4": ["2027-03-04 23:59", "2027-04-03 23:59"],
    "03/04/2027": ["2027-03-04 23:59", "2027-04-03 23:59"],
    "03-04-27 18:00": ["2027-03-04 18:00", "2027-04-03 18:00"],
    "10.12": ["2026-11-23 10:12", "2026-12-10 23:59"],
    "Sunday 18:00": ["2026-11-22 18:00", "2026-11-29 18:00"],
    "Sunday": ["2026-11-22 23:59", "2026-11-29 23:59"],
    "tomorrow midnight": ["2026-11-23 00:00", "2026-11-24 00:00"],
    "tomorrow morning": ["2026-11-23 08:00", "2026-11-23 09:00", "2026-11-23 10:00"],
    "morgen Abend": ["2026-11-23 18:00", "2026-11-23 20:00", "2026-11-23 22:00"],
}
"""Lines that mean more than one moment, and those."""


def test_a_moment_is_parsed_as_people_write_it() -> None:
    expected = {line: at(shown) for shown, lines in TIMED.items() for line in lines}
    assert {line: ends(line) for line in expected} == expected
    assert {line: starts(line) for line in expected} == expected


def test_a_day_ends_with_its_last_minute_and_starts_with_its_first() -> None:
    expected = {
        line: (at(f"{day} 00:00"), at(f"{day} 23:59"))
        for day, lines in DAYS.items()
        for line in lines
    }
    assert {line: (starts(line), ends(line)) for line in expected} == expected


def test_an_ambiguous_moment_is_asked_about() -> None:
    """No reading is preferred."""
    expected = {line: Choice(tuple(map(at, shown))) for line, shown in CHOICES.items()}
    assert {line: ends(line) for line in expected} == expected


def test_a_past_moment_is_not_offered() -> None:
    assert ends("at 6", at("2026-11-22 19:00")) == Choice(
        (at("2026-11-23 06:00"), at("2026-11-23 18:00"))
    )
    assert ends("today at 8") == at("2026-11-22 20:00")
    assert starts("Sunday") == at("2026-11-29 00:00")
    assert ends("3/4/2027", at("2027-03-20 12:00")) == at("2027-04-03 23:59")


def test_an_end_tonight_is_midnight_and_a_start_is_asked_about() -> None:
    for line in ("tonight", "heute Abend", "stasera", "esta noche", "ce soir", "hoje à noite"):
        assert ends(line) == at("2026-11-22 23:59"), line
        assert starts(line) == Choice(
            (at("2026-11-22 18:00"), at("2026-11-22 20:00"), at("2026-11-22 22:00"))
        )


def test_next_friday_may_be_in_this_week_or_the_next() -> None:
    wednesday, friday, saturday = (at(f"2026-11-{day} 12:00") for day in (25, 27, 28))
    both = Choice((at("2026-11-27 09:00"), at("2026-12-04 09:00")))
    assert ends("next friday 9am", wednesday) == both
    assert ends("nächsten Freitag 9 Uhr", wednesday) == both
    assert ends("Friday 9am", wednesday) == at("2026-11-27 09:00")
    assert ends("next friday 9am", friday) == ends("next friday 9am", saturday)
    assert ends("next friday 9am", friday) == at("2026-12-04 09:00")


PROBLEMS = {
    "problem-moment": [
        *("", " ", "6", "abc", "week", "in 5", "next", "at", "25:00", "13 pm", "in december"),
        *("18:60", "0 pm", "10:00-12:00", "18:00 19:00", "monday tuesday", "¼", "²²:00"),
        *("tomorrow morning 18:00", "1.2.3.4", "tomorrow " * 9, "in 2 h 3 h", "31.12.18:00 x"),
    ],
    "problem-moment-date": [
        *("31.2.", "30 Feb", "32.1.2027", "0/0", "13/13", "29.2.2027", "0000-00-00", "2027-13-01"),
    ],
    "problem-moment-weekday": ["Monday 31.12.2026", "tomorrow, friday"],
    "problem-moment-far": [
        *("1.1.2050", "in 10 years", "in 9999 years", "9999-12-31", "9999 weeks", "9999 months"),
    ],
    "problem-moment-past": [
        *("31.12.2025", "today 11:00", "1970-01-01", "2026-11-22 12:00", "today 0:00", "in 0 min"),
        *("yesterday", "gestern 18 Uhr", "ayer", "vorgestern", "gestern Abend", "hier soir"),
    ],
    "problem-moment-gap": ["28.3.2027 2:30", "28.3.2027 02:00"],
}
"""Lines without a moment that can be used, by the reason."""


def problem_of(line: str) -> Problem:
    found = ends(line)
    assert isinstance(found, Problem), line
    return found


def test_a_text_without_a_future_moment_is_answered_with_the_reason() -> None:
    expected = {line: key for key, lines in PROBLEMS.items() for line in lines}
    assert {line: problem_of(line).key for line in expected} == expected


def test_a_past_moment_is_quoted_as_it_was_parsed() -> None:
    for line in ("yesterday 18:00", "gestern 18 Uhr", "ieri alle 18"):
        past = "Saturday, 21 November 2026, 18:00, Berlin time. "
        assert past in problem_of(line).text("en"), line
    found = starts("22.11.")
    assert isinstance(found, Problem)
    assert "Sunday, 22 November 2026, 00:00, Berlin time. " in found.text("en")
    assert "Sonntag, 22. November 2026, 00:00 Uhr, Zeit in Berlin. " in found.text("de")


def test_ten_years_are_the_bound_of_the_interface() -> None:
    """Section 8: expirationInSeconds is at most 315 360 000."""
    last = NOW + 315_360_000_000
    shown = datetime.fromtimestamp(last / 1000, UTC)
    assert ends(f"{shown:%Y-%m-%d %H:%M} UTC") == last
    later = ends(f"{shown + timedelta(minutes=1):%Y-%m-%d %H:%M} UTC")
    assert later == Problem("problem-moment-far")


@pytest.mark.parametrize(
    ("zone", "line", "first", "apart"),
    [
        (BERLIN, "31.10.2027 02:30", "2027-10-31 02:30", 60),
        (NEW_YORK, "2027-11-07 01:30", "2027-11-07 01:30", 60),
        (LORD_HOWE, "2027-04-04 01:45", "2027-04-04 01:45", 30),
    ],
)
def test_a_time_that_occurs_twice_is_asked_about(
    zone: str, line: str, first: str, apart: int
) -> None:
    """The buttons and the full text name the offset of each."""
    both = (at(first, zone), at(first, zone) + apart * 60_000)
    assert ends(line, NOW, zone) == Choice(both)
    assert both[1] == at(first, zone, fold=1)
    for language in languages():
        assert len({button_label(moment, zone, language) for moment in both}) == 2
        assert len({full_text(moment, NOW, zone, language).split(" (")[0] for moment in both}) == 2


@pytest.mark.parametrize(
    ("zone", "line", "after"),
    [
        (BERLIN, "28.3.2027 02:30", "28.3.2027 03:00"),
        (NEW_YORK, "2027-03-14 02:30", "2027-03-14 03:00"),
        (LORD_HOWE, "2027-10-03 02:15", "2027-10-03 02:30"),
    ],
)
def test_a_time_that_the_clocks_skip_is_refused(zone: str, line: str, after: str) -> None:
    assert ends(line, NOW, zone) == Problem("problem-moment-gap")
    assert isinstance(ends(after, NOW, zone), int)


def test_a_day_starts_at_the_first_time_that_its_clock_shows() -> None:
    """In some countries midnight is skipped, or occurs twice."""
    chile, now = "America/Santiago", at("2027-09-01 12:00", "America/Santiago")
    assert starts("5.9.2027", now, chile) == at("2027-09-05 01:00", chile)
    assert ends("3.4.2027", NOW, chile) == at("2027-04-03 23:59", chile, fold=1)


def test_days_are_counted_by_the_calendar_and_hours_by_the_clock() -> None:
    """A day with 25 hours is one day."""
    before = at("2027-10-30 12:00")
    assert ends("in 1 day", before) == at("2027-10-31 12:00") == before + 25 * 3_600_000
    assert ends("in 24 h", before) == at("2027-10-31 11:00")
    assert ends("in 1 month", at("2027-01-31 12:00")) == at("2027-02-28 12:00")
    assert ends("in 1 day", at("2027-03-27 02:30")) == at("2027-03-28 03:00")


def test_a_time_is_in_the_sellers_zone() -> None:
    for zone in (BERLIN, NEW_YORK, LORD_HOWE, KATHMANDU):
        assert ends("31.12.2026 18:00", NOW, zone) == at("2026-12-31 18:00", zone)
    assert ends("0:30", at("2026-11-22 23:00", KATHMANDU), KATHMANDU) == at(
        "2026-11-23 00:30", KATHMANDU
    )


@given(text=st.text(max_size=80), end=st.booleans())
@example(text="en " * 21 + "a", end=False)
@example(text="a" * 64, end=True)
@example(text="1 " * 32, end=True)
@example(text="\ufdfa" * 64, end=False)
def test_any_text_is_parsed_or_answered_by_a_problem(*, text: str, end: bool) -> None:
    found = read_moment(text, NOW, BERLIN, end=end)
    if isinstance(found, Problem):
        assert all(found.text(language) for language in languages())
    elif isinstance(found, Choice):
        assert 2 <= len(found.moments) <= moments.MAX_CHOICES
        assert sorted({*found.moments}) == [*found.moments]
        assert NOW < found.moments[0] <= found.moments[-1] <= NOW + moments.MAX_AHEAD
    else:
        assert NOW < found <= NOW + moments.MAX_AHEAD


WORDS = [
    *("tomorrow", "18:00", "31.12.", "friday", "at", "6", "in", "2", "h", "pm", "midnight", "next"),
    *("3/4", "Uhr", "de", "en", "a", "mar", "10.12", "utc", "evening", "days", "-", "+", "z", ","),
]


@given(st.lists(st.sampled_from(WORDS), max_size=9))
def test_any_words_of_times_are_parsed_or_answered_by_a_problem(line: list[str]) -> None:
    assert isinstance(ends(" ".join(line)), int | Choice | Problem)


@pytest.mark.parametrize("language", languages())
def test_each_example_in_a_text_can_be_typed(language: str) -> None:
    found = {
        key: CODE.findall(t(language, key, moment=""))
        for key in messages(language)
        if key.startswith("problem-moment")
    }
    assert len(found) == 6
    for key, examples in found.items():
        assert len(examples) >= (1 if key.endswith("gap") else 2)
        for line in examples:
            assert isinstance(ends(line), int), line
