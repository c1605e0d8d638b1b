"""The addresses in a request: which are allowed, and how they are written into a header."""

from __future__ import annotations

import re
from ipaddress import IPv6Address
from urllib.parse import SplitResult, quote, urlsplit

from bot.core.domains import ascii_host

WEB = frozenset({"http", "https"})
# Schemes that run something or read this device instead of opening an application.
NEVER = frozenset(
    {"javascript", "data", "file", "vbscript", "blob", "about", "filesystem", "view-source"}
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*", re.IGNORECASE)
_NOT_IN_URL = re.compile(r"[\x00-\x20\x7f-\x9f\\\s<>\"`{}|^]")
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?", re.IGNORECASE)
_KEPT = "%:/?#[]@!$&'()*+,;=-._~"


def check_picture(url: str) -> str:
    """Give the URL; ValueError where a browser can't load a picture from it."""
    return _check(url, WEB)


def check_redirect(url: str) -> str:
    """Give the URL; ValueError unless it is http, https or an application's own scheme."""
    return _check(url, None)


def _check(url: str, schemes: frozenset[str] | None) -> str:
    if _NOT_IN_URL.search(url):
        raise ValueError("is no address: it has spaces or other characters to be percent-encoded")
    scheme = url.partition(":")[0].lower()
    if ":" not in url or not _SCHEME.fullmatch(scheme):
        raise ValueError("is no whole address, such as https://example.org/thanks")
    if scheme in NEVER or (schemes is not None and scheme not in schemes):
        raise ValueError(f"may not be an address of {scheme}:")
    if scheme in WEB:
        _authority(_split(url))
    elif not url.partition(":")[2]:
        raise ValueError("says nothing after its scheme")
    else:
        _split(url)
    return url


def with_transaction(url: str, transaction_id: str) -> str:
    """Redirect address with `transactionId` added to the query it has, in ASCII for a header."""
    address, mark, fragment = url.partition("#")
    path, _, query = address.partition("?")
    query = "&".join(filter(None, (query, f"transactionId={transaction_id}")))
    return ascii_url(f"{path}?{query}{mark}{fragment}")


def source(url: str) -> str:
    """Give the CSP source that matches the address: its origin, or else its scheme."""
    parts = _split(url)
    if parts.scheme not in WEB:
        return f"{parts.scheme}:"
    authority = _authority(parts)
    return f"{parts.scheme}:" if authority.startswith("[") else f"{parts.scheme}://{authority}"


def ascii_url(url: str) -> str:
    """Address as a browser would send it: host by IDNA, the rest percent-encoded."""
    parts = _split(url)
    if parts.scheme not in WEB:
        return quote(url, safe=_KEPT)
    rest = url[len(f"{parts.scheme}://{parts.netloc}") :]
    return f"{parts.scheme}://{_authority(parts)}{quote(rest, safe=_KEPT)}"


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        raise ValueError("is no address that can be read") from None


def _authority(parts: SplitResult) -> str:
    """Host and port in ASCII; ValueError for a user name, no host, or one that can't be."""
    if "@" in parts.netloc:
        raise ValueError("may not carry a user name or password")
    try:
        host, port = parts.hostname or "", parts.port
        name = f"[{IPv6Address(host)}]" if ":" in host else ascii_host(host)
    except ValueError:
        raise ValueError("has no valid host or port") from None
    if not name.startswith("[") and not _HOST.fullmatch(name):
        raise ValueError("has no valid host")
    return name if port is None else f"{name}:{port}"
