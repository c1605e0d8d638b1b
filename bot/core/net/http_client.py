"""What every client of other servers shares: whom it trusts, and when it takes the proxy."""

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
    """Give what httpx trusts by itself: the certificates of certifi, or of SSL_CERT_FILE.

    Shared, for reading them takes 20 ms and 1 MiB.
    """
    return httpx.create_ssl_context()


def may_use_proxy(url: str) -> bool:
    """Whether `url` leads out, so that a proxy of the environment may be on the way.

    An address of this machine or its network is dialled directly, whatever NO_PROXY says.
    """
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return host != "localhost"
