"""Requests of a payer's browser: the language of the texts, the tag for amounts, the form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from bot.core.errors import InvalidBody
from bot.core.text import translations
from bot.service.http import bodies

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import Request

_TAG = re.compile(r"([a-z]{2,3}(?:-[a-z0-9]{1,8}){0,3})(?:;q=([01](?:\.[0-9]{0,3})?))?")
MAX_FIELDS = 20
MAX_HEADER = 200
"""Characters of an Accept-Language header that are read."""

RIGHT_TO_LEFT = frozenset(
    {"ar", "ckb", "dv", "fa", "he", "ks", "lrc", "mzn", "ps", "sd", "ug", "ur", "yi"}
)
"""Languages whose scripts run from right to left (CLDR)."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader; `language` of the texts, `tag` of the amounts, such as `de-at`.

    Both run in one direction: an amount written from right to left falls apart in English.
    """

    language: str
    tag: str

    def t(self, key: str, **values: object) -> str:
        return _translate(self.language, key, tuple(values.items()))

    @property
    def direction(self) -> str:
        return _direction(self.language)


@lru_cache(maxsize=4096)
def _translate(language: str, key: str, values: tuple[tuple[str, object], ...]) -> str:
    """Return a text; cached, because all payers of a request need the same few."""
    return translations.t(language, key, **dict(values))


def reader_of(accept_language: str) -> Reader:
    """Return the reader of an Accept-Language header (RFC 9110 section 12.5.4)."""
    parts = accept_language[:MAX_HEADER].lower().replace(" ", "").split(",")
    found = [match for part in parts if (match := _TAG.fullmatch(part))]
    ranked = sorted(found, key=lambda match: -float(match[2] or 1))
    tags = [match[1] for match in ranked if float(match[2] or 1) > 0]
    known = (tag for tag in tags if tag.partition("-")[0] in translations.languages())
    language = translations.choose(next(known, None))
    fitting = tags and _direction(tags[0]) == _direction(language)
    return Reader(language, tags[0] if fitting else language)


def _direction(tag: str) -> str:
    """Return the direction of a language's script, as in HTML."""
    language, *parts = tag.split("-")
    return "rtl" if language in RIGHT_TO_LEFT or "arab" in parts else "ltr"


def reader(request: Request) -> Reader:
    return reader_of(request.headers.get("accept-language", ""))


async def read(request: Request) -> dict[str, str]:
    """Return the fields of a posted form. Raises InvalidBody and the errors of `read_text`."""
    return single(await read_all(request))


async def read_all(request: Request) -> dict[str, list[str]]:
    """Return the fields of a posted form, each with all its values in their order.

    Raises InvalidBody and the errors of `read_text`.
    """
    text = await bodies.read_text(request, bodies.FORM)
    try:
        return parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise InvalidBody("The form has too many fields.") from None


def single(fields: Mapping[str, list[str]]) -> dict[str, str]:
    """Return the one value of each field.

    Raises InvalidBody where a field has several different ones: which is meant is never guessed.
    """
    several = [name for name, values in fields.items() if len(set(values)) > 1]
    if several:
        raise InvalidBody("A field of the form has several values.")
    return {name: values[0] for name, values in fields.items()}
