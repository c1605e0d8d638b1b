"""Every text that a person reads, by language and key (Project Fluent, `locales/`)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fluent.runtime import FluentBundle
from fluent.syntax import FluentParser

DEFAULT = "en"
LOCALES = Path(__file__).parent / "locales"

LONGEST_PART = 1_000
"""Characters of a value that Fluent is given: it refuses to put in more than 2,500, and five
hundred quotation marks are three thousand once they are escaped."""


@cache
def languages() -> tuple[str, ...]:
    """Give the languages there are, the default first."""
    found = sorted(folder.name for folder in LOCALES.iterdir() if folder.is_dir())
    return (DEFAULT, *(name for name in found if name != DEFAULT))


def choose(tag: str | None) -> str:
    """Give the language to use for an IETF tag such as `de-AT`, or for none."""
    wanted = (tag or "").replace("_", "-").split("-")[0].lower()
    return wanted if wanted in languages() else DEFAULT


def t(language: str, key: str, **values: object) -> str:
    """Give the text of `key`; values stand in it as they are, so escape them before.

    Raises KeyError for a key that the language has not: tests hold all languages
    to the same keys.
    """
    message = _bundle(choose(language)).get_message(key)
    if message.value is None:
        raise KeyError(key)
    large = {
        f"\0{name}\0": value
        for name, value in values.items()
        if isinstance(value, str) and len(value) > LONGEST_PART
    }
    given = {name: f"\0{name}\0" if f"\0{name}\0" in large else values[name] for name in values}
    found, errors = _bundle(choose(language)).format_pattern(message.value, given)
    if errors:
        raise KeyError(f"{key}: {errors[0]}")
    text = str(found)
    for place, value in large.items():  # which no value has: NUL gets in nowhere
        text = text.replace(place, value)
    return text


def load() -> None:
    """Read every language with its plurals: later there may be no file handle left for that."""
    for language in languages():
        _bundle(language)


@cache
def _bundle(language: str) -> FluentBundle:
    bundle, parser = FluentBundle([language], use_isolating=False), FluentParser(with_spans=False)
    for path in sorted((LOCALES / language).glob("*.ftl")):
        bundle.add_resource(parser.parse(path.read_text(encoding="utf-8")))
    return bundle
