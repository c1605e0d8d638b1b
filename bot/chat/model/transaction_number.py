"""Transaction numbers as people quote them."""

from __future__ import annotations

import re
import unicodedata

from bot.core.text import sanitize

_NOISE = re.compile(r"[\s#…]+")
"""What people put around a number or its groups of digits, or what shortened it."""


def fold_number(text: str) -> str:
    """Fold a transaction number, so that all spellings of one number are equal."""
    plain = sanitize.typed(_NOISE.sub("", text)).replace(" ", "").casefold()
    return "".join(char for char in plain if unicodedata.category(char) not in ("Cc", "Cs"))
