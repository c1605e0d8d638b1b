"""Phrases of chat, pages and letters: lists, unit numbers, file sizes, publishers of a rate.

The interface states the source of a rate as an English phrase; people read it in their language.
"""

from __future__ import annotations

from collections.abc import Sequence

from babel.lists import format_list
from babel.numbers import format_decimal

from bot.core.text import translations

_LOCALES = {"en": "en_GB"}
"""The English variant of our texts: CLDR's plain English puts a comma before the "and"."""

MOST_NAMED = 3
"""Maximum unit numbers that are listed singly; more are shown as a range."""

MEGABYTE, KILOBYTE = 1024 * 1024, 1024
"""Bytes, counted as Telegram counts its 20 MB."""


def join_list(items: Sequence[str], language: str) -> str:
    """Join items as a list in a language (CLDR): `7, 8 and 9`, `7, 8 und 9`."""
    return format_list(items, locale=_locale(language))


def unit_numbers(first: int, last: int, language: str) -> str:
    """Return the numbers of units: `7`, `7, 8 and 9` or `7 to 16`."""
    is_range = last - first >= MOST_NAMED
    numbers = [first, last] if is_range else range(first, last + 1)
    named = [format_decimal(number, locale=_locale(language)) for number in numbers]
    if is_range:
        return translations.t(language, "range", first=named[0], last=named[1])
    return join_list(named, language)


def file_size(size: int, language: str) -> str:
    """Format a number of bytes for people, at least 1 KB."""
    if size >= MEGABYTE:
        return translations.t(language, "size-megabytes", size=round(size / MEGABYTE, 1))
    return translations.t(language, "size-kilobytes", size=max(1, -(-size // KILOBYTE)))


def _locale(language: str) -> str:
    chosen = translations.choose(language)
    return _LOCALES.get(chosen, chosen)


TEST_TABLE = "sandbox table of made-up figures, not market rates"
BY_DEFINITION = "1 BTC = 100,000,000 SAT"
_KEYS = {TEST_TABLE: "rate-test-table", BY_DEFINITION: "rate-by-definition"}

_MEDIAN, _AND = "median of ", " and "


def rate_source(names: Sequence[str]) -> str:
    """Return the source of a rate: one publisher, or the median of several publishers."""
    *others, last = names
    return f"{_MEDIAN}{', '.join(others)}{_AND}{last}" if others else last


def rate_source_text(source: str, language: str) -> str:
    """Translate a source. A source that `rate_source` didn't make is a name, and unchanged."""
    if source in _KEYS:
        return translations.t(language, _KEYS[source])
    if not source.startswith(_MEDIAN):
        return source
    names = source.removeprefix(_MEDIAN).replace(_AND, ", ").split(", ")
    return translations.t(language, "rate-median", sources=join_list(names, language))
