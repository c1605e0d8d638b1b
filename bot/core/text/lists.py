"""Lists as people write them: `7, 8 and 9`, `7, 8 und 9`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from babel.lists import format_list

if TYPE_CHECKING:
    from collections.abc import Sequence


_LOCALES = {"en": "en_GB"}
"""The texts' own English: CLDR's plain English puts a comma before the "and"."""


def join(items: Sequence[str], language: str) -> str:
    """Join items as one writes them in a language (CLDR)."""
    return format_list(items, locale=_LOCALES.get(language, language))
