"""What is taken for a phone number: by the pay page, and by whoever looks for one."""

from __future__ import annotations

import re

PHONE = re.compile(r"\+?[0-9 ()./-]+")
DIGITS = range(7, 16)  # E.164: fifteen at most


def digits(text: str) -> str | None:
    """Give the digits of a phone number, however typed; None for what is none."""
    if not PHONE.fullmatch(text):
        return None
    found = re.sub(r"[^0-9]", "", text)
    return found if len(found) in DIGITS else None
