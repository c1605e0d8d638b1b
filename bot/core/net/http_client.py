"""Settings shared by all HTTP clients: trusted certificates, use of a proxy."""

from __future__ import annotations

import ipaddress
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

if TYPE_CHECKING:
    import ssl


@cache
def ssl_context() -> ssl.SSLContext:
    """Return the context that httpx would create: certificates of certifi, or of SSL_CERT_FILE.

    Shared, because loading them takes 20 ms and 1 MiB.
    """
    return httpx.create_ssl_context()


def may_use_proxy(url: str) -> bool:
    """Return whether a proxy of the environment may be used for `url`.

    Addresses of this machine or its network are always reached directly, whatever NO_PROXY is.
    """
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return host != "localhost"
