"""Moments in words: in full, and short for a button."""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.model import moments
from bot.chat.model.moments import Choice, button_label, full_text
from bot.core.text.translations import languages
from tests.support.time_zones import BERLIN, KATHMANDU, LORD_HOWE, NEW_YORK, NOW, at, ends

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
