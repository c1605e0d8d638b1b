"""The texts for people, by language and key (Project Fluent, `locales/`)."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

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
