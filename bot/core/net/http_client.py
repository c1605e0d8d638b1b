"""What all HTTP clients share: trusted certificates, use of a proxy, Retry-After and dates."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cache
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx


@cache
def ssl_context() -> ssl.SSLContext:
    """Return the context that httpx would create, with certificates of certifi or SSL_CERT_FILE.

    It is shared, since loading them takes 20 ms and 1 MiB.
    """
    return httpx.create_ssl_context()


def may_use_proxy(url: str) -> bool:
    """True if a proxy of the environment may be used for `url`.

    Addresses of this machine or its network are always reached directly, whatever NO_PROXY is.
    """
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return host != "localhost"


def has_proxy(url: str) -> bool:
    """True if the environment names a proxy that may be used for `url`."""
    return may_use_proxy(url) and not {"http", "https", "all"}.isdisjoint(getproxies())


def read_retry_after(header: str | None, now: int) -> int:
    """Return the seconds of a Retry-After header (RFC 9110 section 10.2.3); 0 if it has none."""
    text = (header or "").strip()
    if text.isascii() and text.isdecimal():
        return int(text[:9])
    at = read_date(text)
    return 0 if at is None else max(0, at - now // 1000)


def read_date(header: str | None) -> int | None:
    """Return the Unix seconds of an HTTP date (RFC 9110 section 5.6.7); None for other text."""
    try:
        at = parsedate_to_datetime(header or "")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
