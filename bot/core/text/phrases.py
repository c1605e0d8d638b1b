"""Composed phrases: lists, and the publishers of an exchange rate.

The interface states the source of a rate as an English phrase; people read it in their language.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from babel.lists import format_list

_LOCALES = {"en": "en_GB"}
"""The English variant of our texts: CLDR's plain English puts a comma before the "and"."""


def join_list(items: Sequence[str], language: str) -> str:
    """Join items as a list in a language (CLDR): `7, 8 and 9`, `7, 8 und 9`."""
    return format_list(items, locale=_LOCALES.get(language, language))


TEST_TABLE = "sandbox table of made-up figures, not market rates"
BY_DEFINITION = "1 BTC = 100,000,000 SAT"
_KEYS = {TEST_TABLE: "rate-test-table", BY_DEFINITION: "rate-by-definition"}

_MEDIAN, _AND = "median of ", " and "


def rate_source(names: Sequence[str]) -> str:
    """Return the source of a rate: one publisher, or the median of several publishers."""
    *others, last = names
    return f"{_MEDIAN}{', '.join(others)}{_AND}{last}" if others else last


def rate_source_text(source: str, say: Callable[..., str]) -> str:
    """Translate a source with `say`, which takes a text key and values.

    A source that `rate_source` didn't make is a name, and stays unchanged.
    """
    if source in _KEYS:
        return say(_KEYS[source])
    if not source.startswith(_MEDIAN):
        return source
    *others, last = source.removeprefix(_MEDIAN).replace(_AND, ", ").split(", ")
    if not others:
        return say("rate-median", sources=last)
    return say("rate-median", sources=say("rate-and", first=", ".join(others), last=last))
