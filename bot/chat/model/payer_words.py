"""What a payer tells the seller: a name and a message, as their server reports them."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.core.text import sanitize

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_NAME, LONGEST_MESSAGE = 80, 280
"""Characters; a longer text of another server is cut."""

_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that look like a space."""


@dataclass(frozen=True, slots=True)
class PayerWords:
    """A payer's name and message; None for what the payer left out."""

    name: str | None = None
    message: str | None = None

    def __bool__(self) -> bool:
        """Return whether the payer said anything."""
        return self.name is not None or self.message is not None


NO_WORDS = PayerWords()


def read_words(data: Mapping[str, Any]) -> PayerWords:
    """Parse `name` and `message` of a payment; what shows nothing, or is no text, is left out."""
    return PayerWords(
        _text(data.get("name"), LONGEST_NAME), _text(data.get("message"), LONGEST_MESSAGE)
    )


def _text(value: Any, most: int) -> str | None:
    if not isinstance(value, str):
        return None
    kept = "".join(map(_storable, sanitize.lines(value)[:most])).strip()
    return kept if any(map(_is_visible, kept)) else None


def _storable(char: str) -> str:
    """Return a character that a database takes and a terminal survives."""
    return char if char == "\n" or unicodedata.category(char) not in ("Cc", "Cs") else " "


def _is_visible(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNPS" and char not in _BLANK
