"""How long the other side asks us to wait."""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime


def read_retry_after(header: str | None, now: int) -> int:
    """Seconds of a Retry-After header (RFC 9110 section 10.2.3); 0 for none or nonsense."""
    text = (header or "").strip()
    if text.isascii() and text.isdecimal():
        return int(text[:9])
    at = read_date(text)
    return 0 if at is None else max(0, at - now // 1000)


def read_date(header: str | None) -> int | None:
    """Unix seconds of a date as HTTP writes them (section 5.6.7); None for none or nonsense."""
    try:
        at = parsedate_to_datetime(header or "")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
