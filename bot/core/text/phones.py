"""Phone numbers, as the pay page accepts them and as searches compare them."""

from __future__ import annotations

import re

PHONE = re.compile(r"\+?[0-9 ()./-]+")
DIGITS = range(7, 16)  # E.164: fifteen at most


def digits(text: str) -> str | None:
    """Return the digits of a phone number, however typed; None if it is none."""
    if not PHONE.fullmatch(text):
        return None
    found = re.sub(r"[^0-9]", "", text)
    return found if len(found) in DIGITS else None
