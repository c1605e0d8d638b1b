"""Phrases made of parts: lists, and the publishers of an exchange rate.

The interface has the source of a rate as an English phrase; people read it in their language.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from babel.lists import format_list

_LOCALES = {"en": "en_GB"}
"""The English of our texts: CLDR's plain English puts a comma before the "and"."""


def join_list(items: Sequence[str], language: str) -> str:
    """Join items as a list in a language (CLDR): `7, 8 and 9`, `7, 8 und 9`."""
    return format_list(items, locale=_LOCALES.get(language, language))


TEST_TABLE = "sandbox table of made-up figures, not market rates"
BY_DEFINITION = "1 BTC = 100,000,000 SAT"
_KEYS = {TEST_TABLE: "rate-test-table", BY_DEFINITION: "rate-by-definition"}

_MEDIAN, _AND = "median of ", " and "


def rate_source(names: Sequence[str]) -> str:
    """Return the source of a rate from one publisher, or of the median of several."""
    *others, last = names
    return f"{_MEDIAN}{', '.join(others)}{_AND}{last}" if others else last


def rate_source_text(source: str, say: Callable[..., str]) -> str:
    """Return a source in the language of `say`, which takes a text's key and its values.

    A source that `rate_source` didn't make is a name, and stays as it is.
    """
    if source in _KEYS:
        return say(_KEYS[source])
    if not source.startswith(_MEDIAN):
        return source
    *others, last = source.removeprefix(_MEDIAN).replace(_AND, ", ").split(", ")
    if not others:
        return say("rate-median", sources=last)
    return say("rate-median", sources=say("rate-and", first=", ".join(others), last=last))
