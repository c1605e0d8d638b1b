"""Transaction numbers as people quote them."""

from __future__ import annotations

import re
import unicodedata

_NOISE = re.compile(r"[\s#…]+")
"""What people put around a number or its groups of digits, or what shortened it."""


def fold_number(text: str) -> str:
    """Fold a transaction number, so that all spellings of one number are equal."""
    visible = "".join(char for char in text if unicodedata.category(char) not in ("Cc", "Cf", "Cs"))
    return _NOISE.sub("", visible).casefold()
