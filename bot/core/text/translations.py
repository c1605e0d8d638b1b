"""The texts for people, by language and key (Project Fluent, `locales/`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from babel.lists import format_list
from babel.numbers import format_decimal
from fluent.runtime import FluentBundle
from fluent.syntax import FluentParser

if TYPE_CHECKING:
    from fluent.runtime.resolver import Pattern


DEFAULT = "en"
LOCALES = Path(__file__).parent / "locales"

_BEGINNING = re.compile(r"^([a-zA-Z][\w-]*)(?= *=)", re.MULTILINE)
"""The key of a message at the start of a line (Fluent syntax 1.0); further lines are indented."""

LONGEST_PART = 1_000
"""The longest value that Fluent itself inserts, in characters. Fluent refuses more than 2,500, and
five hundred quotation marks become three thousand characters when escaped."""


@cache
def languages() -> tuple[str, ...]:
    """Return the languages, default first."""
    found = sorted(folder.name for folder in LOCALES.iterdir() if folder.is_dir())
    return (DEFAULT, *(name for name in found if name != DEFAULT))


def choose(tag: str | None) -> str:
    """Return the language for an IETF tag such as `de-AT`; the default if there is no tag."""
    wanted = (tag or "").replace("_", "-").split("-")[0].lower()
    return wanted if wanted in languages() else DEFAULT


def t(language: str, key: str, **values: object) -> str:
    """Return the text of `key`; values are inserted unchanged, so escape them first.

    Raises KeyError for an unknown key: tests check that all languages have the same keys.
    """
    bundle, message = _message(choose(language), key)
    large = {
        f"\0{name}\0": value
        for name, value in values.items()
        if isinstance(value, str) and len(value) > LONGEST_PART
    }
    given = {name: f"\0{name}\0" if f"\0{name}\0" in large else values[name] for name in values}
    found, errors = bundle.format_pattern(message, given)
    if errors:
        raise KeyError(f"{key}: {errors[0]}")
    text = str(found)
    for place, value in large.items():  # values contain no NUL
        text = text.replace(place, value)
    return text


def has_text(key: str) -> bool:
    """True if there is a text for an externally supplied key."""
    return key in _sources(DEFAULT)


def load() -> None:
    """Load every language and its plural rules now: file handles may have run out later."""
    for language in languages():
        _bundle(language), _sources(language)


def _message(language: str, key: str) -> tuple[FluentBundle, Pattern]:
    """Return a message and its bundle; a message is parsed on first use.

    All messages parsed would take forty times the memory of their source.
    """
    bundle = _bundle(language)
    if not bundle.has_message(key):
        bundle.add_resource(FluentParser(with_spans=False).parse(_sources(language)[key]))
    message = bundle.get_message(key)
    if message.value is None:
        raise KeyError(key)
    return bundle, message.value


@cache
def _sources(language: str) -> dict[str, str]:
    """Return the source of each message, by its key."""
    parts: dict[str, str] = {}
    for path in sorted((LOCALES / language).glob("*.ftl")):
        _, *found = _BEGINNING.split(path.read_text(encoding="utf-8"))
        parts |= {key: key + rest for key, rest in zip(found[::2], found[1::2], strict=True)}
    return parts


@cache
def _bundle(language: str) -> FluentBundle:
    return FluentBundle([language], use_isolating=False)


# Phrases of chat, pages and letters: lists, unit numbers, file sizes, publishers of a rate.
#
# The interface states the source of a rate as an English phrase; people read it in their language.


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
        return t(language, "range", first=named[0], last=named[1])
    return join_list(named, language)


def file_size(size: int, language: str) -> str:
    """Format a number of bytes for people, at least 1 KB."""
    if size >= MEGABYTE:
        return t(language, "size-megabytes", size=round(size / MEGABYTE, 1))
    return t(language, "size-kilobytes", size=max(1, -(-size // KILOBYTE)))


def _locale(language: str) -> str:
    chosen = choose(language)
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
        return t(language, _KEYS[source])
    if not source.startswith(_MEDIAN):
        return source
    names = source.removeprefix(_MEDIAN).replace(_AND, ", ").split(", ")
    return t(language, "rate-median", sources=join_list(names, language))
