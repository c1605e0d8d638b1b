"""Rates as settings have them: `30/second`, `20/minute`, `0` for none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

PERIODS = {"second": 1, "minute": 60}


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` in any `seconds`."""

    count: int
    seconds: int


def parse_rate(value: Any) -> Rate | None:
    """Parse a setting; None means no limit. Raises ValueError."""
    if value is None or isinstance(value, Rate):
        return value
    text = str(value).strip()
    if text == "0":
        return None
    match = re.fullmatch(r"([1-9]\d{0,8})/(second|minute)", text)
    if not match:
        raise ValueError("write a rate such as 30/second or 20/minute, or 0 for none")
    return Rate(int(match[1]), PERIODS[match[2]])
