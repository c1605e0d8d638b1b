"""The reader of a page: the language of the texts, the tag for amounts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from bot.core.text import translations

_TAG = re.compile(r"([a-z]{2,3}(?:-[a-z0-9]{1,8}){0,3})(?:;q=([01](?:\.[0-9]{0,3})?))?")
MAX_HEADER = 200
"""Characters of an Accept-Language header that are read."""

RIGHT_TO_LEFT = frozenset({"ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"})
"""Languages whose scripts run from right to left (CLDR)."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader; `language` of the texts, `tag` of the amounts, such as `de-at`."""

    language: str
    tag: str

    def t(self, key: str, **values: object) -> str:
        """Return a text in the reader's language."""
        return _translate(self.language, key, tuple(values.items()))

    @property
    def direction(self) -> str:
        """Return the direction of the script, as in HTML."""
        return "rtl" if self.language in RIGHT_TO_LEFT else "ltr"


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
    return Reader(translations.choose(next(known, None)), tags[0] if tags else translations.DEFAULT)
