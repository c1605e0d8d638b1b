"""Time zones: parsed as sellers name them, asked about where several fit, shown with an offset."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from babel import Locale
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.model import zones
from bot.chat.model.replies import Problem
from bot.chat.model.zones import is_zone, read_zone, shown_zone, suggested_zones, zone_info
from bot.core.text.translations import languages

WINTER = int(datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp() * 1000)
SUMMER = int(datetime(2026, 7, 1, 12, tzinfo=UTC).timestamp() * 1000)
NAMES = sorted({*zones._names().values()})


NAMED = {
    "Europe/Berlin": [
        *("Europe/Berlin", "europe/BERLIN", "Berlin", "berlin", "München", "munchen"),
        *("Deutschland", "Germany"),
    ],
    "America/New_York": [" america/new york ", "US/Eastern", "NEW YORK", "Boston"],
    "Asia/Kolkata": ["Asia/Calcutta", "Calcutta", "Kolkata", "Indien"],
    "Europe/Kyiv": ["Europe/Kiev"],
    "Europe/Vienna": ["Wien", "Vienna", "Österreich"],
    "Europe/Zurich": ["Zürich", "Suiza"],
    "America/Mexico_City": ["Mexiko-Stadt"],
    "America/St_Johns": ["St. John's"],
    "America/Sao_Paulo": ["Sao Paulo", "São Paulo"],
    "Europe/Moscow": ["Moscú", "Moscou"],
    "Europe/London": ["Londres", "UK"],
    "Europe/Rome": ["Roma"],
    "Etc/UTC": ["UTC", "utc", "GMT", "UTC+0", "\uff35\uff34\uff23"],
    "Etc/GMT-2": ["UTC+2", "utc +02:00", "UTC+\u0662"],
    "Etc/GMT+3": ["gmt-3"],
    "Etc/GMT+5": ["UTC\u22125"],
    "Etc/GMT-14": ["+14"],
    "Etc/GMT+12": ["-12"],
}
"""What people type, by the zone that they mean."""


def test_a_zone_is_parsed_as_people_name_it() -> None:
    expected = {text: zone for zone, texts in NAMED.items() for text in texts}
    assert {text: read_zone(text) for text in expected} == expected
    assert all(map(is_zone, NAMED))


@pytest.mark.parametrize(
    ("text", "some"),
    [
        ("Brazil", ["America/Sao_Paulo", "America/Manaus"]),
        ("USA", ["America/New_York", "America/Chicago", "America/Los_Angeles"]),
        ("Spanien", ["Europe/Madrid", "Atlantic/Canary"]),
        ("Australia", ["Australia/Sydney", "Australia/Perth"]),
        ("CET", ["Europe/Berlin", "Europe/Paris"]),
        ("est", ["America/New_York", "America/Panama"]),
        ("IST", ["Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"]),
    ],
)
def test_several_zones_are_asked_about_the_likeliest_first(text: str, some: list[str]) -> None:
    """An abbreviation does not name the rules of summer time, a large country not one zone."""
    found = read_zone(text)
    assert isinstance(found, tuple)
    assert found[0] == some[0]
    assert {*some} <= {*found}


CAPITALS = {
    "Asia/Dubai": "Abu Dhabi, United Arab Emirates, Vereinigte Arabische Emirate, UAE, VAE",
    "Asia/Qatar": "Doha, Qatar, Katar",
    "Asia/Riyadh": "Riad, Jeddah, Mekka, Saudi-Arabien",
    "Asia/Kuwait": "Kuwait City, Kuwait-Stadt",
    "Asia/Bahrain": "Manama",
    "Europe/Istanbul": "Turkey, Türkei, Türkiye, Turkiye, Ankara",
    "Europe/Belgrade": "Kosovo, Pristina, Prishtina, Serbien",
    "Europe/London": "Great Britain, Großbritannien, Northern Ireland, Belfast",
    "Europe/Amsterdam": "The Hague, Den Haag, Holland",
    "Europe/Moscow": "St. Petersburg, Sankt Petersburg",
    "Europe/Skopje": "Macedonia, Mazedonien, Nordmazedonien",
    "Europe/Minsk": "Belarus, Weißrussland",
    "Europe/Chisinau": "Moldova, Moldawien",
    "Europe/Paris": "Straßburg, Strasbourg",
    "Asia/Kolkata": "New Delhi, Neu-Delhi",
    "Asia/Karachi": "Islamabad, Lahore",
    "Asia/Ho_Chi_Minh": "Hanoi, Vietnam",
    "Asia/Almaty": "Astana",
    "Asia/Jerusalem": "Tel Aviv, Israel",
    "Asia/Seoul": "Korea, Busan, South Korea, Südkorea",
    "Asia/Yangon": "Burma, Birma",
    "Africa/Johannesburg": "Cape Town, Kapstadt, Pretoria",
    "Africa/Abidjan": "Ivory Coast, Elfenbeinküste, Yamoussoukro",
    "Africa/Casablanca": "Rabat, Marrakesch",
    "Africa/Lagos": "Abuja, Nigeria",
    "Africa/Nairobi": "Mombasa, Kenia",
    "America/Los_Angeles": "San Francisco, Las Vegas",
    "America/New_York": "New York City, Washington",
    "America/Sao_Paulo": "Rio de Janeiro, Brasília",
    "America/Guayaquil": "Quito",
    "Atlantic/Canary": "Canary Islands, Kanarische Inseln, Kanaren, Teneriffa",
    "Pacific/Auckland": "Wellington",
}
"""Places without an IANA zone of their own."""

NO_COUNTRIES = {"AC", "BV", "CP", "CQ", "DG", "EU", "EZ", "HM", "QO", "TA", "UN", "XA", "XB", "ZZ"}
"""Codes of CLDR without a country or without inhabitants, and of islands that have no zone."""


def test_a_place_without_a_zone_of_its_own_is_known() -> None:
    expected = {place: zone for zone, places in CAPITALS.items() for place in places.split(", ")}
    assert {place: read_zone(place) for place in expected} == expected
    assert all(map(is_zone, (*CAPITALS, *zones._CITIES)))


def test_places_that_share_a_name_are_asked_about() -> None:
    assert read_zone("San José") == ("America/Costa_Rica", "America/Los_Angeles")


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_country_with_inhabitants_has_a_zone(language: str) -> None:
    territories = Locale(language).territories
    found = {code: read_zone(name) for code, name in territories.items() if len(code) == 2}
    unknown = {code for code, zone in found.items() if isinstance(zone, Problem)}
    assert unknown <= NO_COUNTRIES


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "it", "pt"])
def test_a_country_has_at_most_six_candidates(language: str) -> None:
    for name in Locale(language).territories.values():
        found = read_zone(name)
        if isinstance(found, tuple):
            assert 2 <= len(found) <= 6, name
            assert all(map(is_zone, found)), name


def test_a_text_that_names_no_zone_is_answered_by_a_problem() -> None:
    for text in ("", "  ", "asdf", "UTC+15", "UTC-13", "5", "Etc/Unknown", "Berlin" * 20):
        assert read_zone(text) == Problem("problem-zone"), text
    for text in ("UTC+5:30", "gmt-3:30"):
        assert read_zone(text) == Problem("problem-zone-minutes"), text


@given(st.text(max_size=80))
def test_any_text_is_parsed_or_answered_by_a_problem(text: str) -> None:
    found = read_zone(text)
    known = (found,) if isinstance(found, str) else found
    assert isinstance(known, Problem) or all(map(is_zone, known))


def test_each_zone_has_rules_and_is_parsed_from_its_name() -> None:
    """The database and CLDR agree on every name that is shown."""
    assert [zone_info(name).key for name in NAMES] == NAMES
    assert [read_zone(name) for name in NAMES] == NAMES
    assert all(map(is_zone, NAMES))
    for language in languages():
        assert all(shown_zone(name, WINTER, language) for name in NAMES)


@pytest.mark.parametrize(
    ("zone", "winter", "summer"),
    [
        ("Europe/Berlin", "Berlin (UTC+1)", "Berlin (UTC+2)"),
        ("America/St_Johns", "St. John\u2019s (UTC-3:30)", "St. John\u2019s (UTC-2:30)"),
        ("Asia/Kathmandu", "Kathmandu (UTC+5:45)", "Kathmandu (UTC+5:45)"),
        ("Europe/London", "London (UTC+0)", "London (UTC+1)"),
        *[("Etc/UTC", "UTC", "UTC"), ("Etc/GMT-2", "UTC+2", "UTC+2")],
        ("Etc/GMT+5", "UTC-5", "UTC-5"),
    ],
)
def test_a_zone_is_shown_with_its_present_offset(zone: str, winter: str, summer: str) -> None:
    assert shown_zone(zone, WINTER, "en") == winter
    assert shown_zone(zone, SUMMER, "en") == summer


def test_a_zone_is_shown_in_the_sellers_language() -> None:
    assert shown_zone("Europe/Vienna", WINTER, "de-AT") == "Wien (UTC+1)"
    assert shown_zone("Europe/Vienna", WINTER, "xx") == "Vienna (UTC+1)"


def test_only_present_names_are_zones() -> None:
    names = ("", "Berlin", "europe/berlin", "Asia/Calcutta", "EST", "Etc/GMT")
    assert [name for name in names if is_zone(name)] == []


def test_suggestions_are_up_to_six_zones_of_the_language() -> None:
    for tag in ("en", "de-AT", "DE", "pt_BR", "es", "fr", "it", "ru", "xx", ""):
        assert 2 <= len(suggested_zones(tag)) <= zones.MAX_CANDIDATES
        assert all(map(is_zone, suggested_zones(tag)))
    assert suggested_zones("de") == ("Europe/Berlin", "Europe/Vienna", "Europe/Zurich")
    assert suggested_zones("pt-br")[0] == "America/Sao_Paulo"
    assert suggested_zones("ja") == suggested_zones("")


def test_suggested_zones_need_no_file_after_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood may use up all file handles; the rules of any zone stay cached."""
    zone_info.cache_clear()
    zones.load()
    zone_info("Asia/Kathmandu")
    ZoneInfo.clear_cache()

    def refuse(*_: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("io.open", refuse)
    for tag in ("en", "de", "es", "fr", "it", "pt", ""):
        assert [zone_info(name).key for name in suggested_zones(tag)] == [*suggested_zones(tag)]
    assert zone_info("Asia/Kathmandu").key == "Asia/Kathmandu"


def test_a_city_in_a_loaded_language_needs_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of a language whose file can't be opened are looked up the next time."""
    for language in languages():
        assert Locale(language).time_zones
    zones._cities.cache_clear()
    zones._countries.cache_clear()
    real = Locale.parse
    with monkeypatch.context() as patch:
        patch.setattr(Locale, "parse", staticmethod(lambda tag: _parsed(real, tag)))
        assert read_zone("Wien") == "Europe/Vienna"
        assert read_zone("Moscú") == Problem("problem-zone")
    assert read_zone("Moscú") == "Europe/Moscow"


def _parsed(real: object, tag: str) -> object:
    assert callable(real)
    if tag not in languages():
        raise OSError(24, "Too many open files")
    return real(tag)
