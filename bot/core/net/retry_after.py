"""The Retry-After header, and dates of HTTP."""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime


def read_retry_after(header: str | None, now: int) -> int:
    """Return the seconds of a Retry-After header (RFC 9110 section 10.2.3); 0 if it has none."""
    text = (header or "").strip()
    if text.isascii() and text.isdecimal():
        return int(text[:9])
    at = read_date(text)
    return 0 if at is None else max(0, at - now // 1000)


def read_date(header: str | None) -> int | None:
    """Return the Unix seconds of an HTTP date (section 5.6.7); None if it is none."""
    try:
        at = parsedate_to_datetime(header or "")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
