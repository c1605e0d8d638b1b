"""Helpers for all HTTP clients: trusted certificates, proxies, Retry-After and dates."""

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
    """Return httpx's default context, with certifi's certificates or those of SSL_CERT_FILE.

    The context is shared, because loading the certificates takes 20 ms and 1 MiB.
    """
    return httpx.create_ssl_context()


def may_use_proxy(url: str) -> bool:
    """True if a proxy from the environment may be used for `url`.

    Local and private addresses are always reached directly, whatever NO_PROXY says.
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
    """Return the seconds of a Retry-After header (RFC 9110 section 10.2.3); 0 if unusable."""
    text = (header or "").strip()
    if text.isascii() and text.isdecimal():
        return int(text[:9])
    at = read_date(text)
    return 0 if at is None else max(0, at - now // 1000)


def read_date(header: str | None) -> int | None:
    """Return the Unix seconds of an HTTP date (RFC 9110 section 5.6.7); None if it isn't a date."""
    try:
        at = parsedate_to_datetime(header or "")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
