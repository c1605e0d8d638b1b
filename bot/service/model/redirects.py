"""The URLs of a request as headers and the Content-Security-Policy need them."""

from __future__ import annotations

from urllib.parse import quote

from bot.core.text.links import WEB, authority, check_app, split

_KEPT = "%:/?#[]@!$&'()*+,;=-._~"


def with_transaction(url: str, transaction_id: str) -> str:
    """Return a redirect URL in ASCII with `transactionId` added to its query."""
    address, mark, fragment = url.partition("#")
    path, _, query = address.partition("?")
    query = "&".join(filter(None, (query, f"transactionId={transaction_id}")))
    return ascii_url(f"{path}?{query}{mark}{fragment}")


def may_lead_to(url: str, schemes: frozenset[str]) -> bool:
    """Return whether payers may be redirected there: to the web, or to an app of these schemes."""
    try:
        check_app(url, schemes)
    except ValueError:
        return False
    return True


def csp_source(url: str) -> str:
    """Return the CSP source of a URL: its origin, or else its scheme."""
    parts = split(url)
    if parts.scheme not in WEB:
        return f"{parts.scheme}:"
    host = authority(parts)
    return f"{parts.scheme}:" if host.startswith("[") else f"{parts.scheme}://{host}"


def ascii_url(url: str) -> str:
    """Return a URL as browsers send it: host by IDNA, the rest percent-encoded."""
    parts = split(url)
    if parts.scheme not in WEB:
        return quote(url, safe=_KEPT)
    rest = url[len(f"{parts.scheme}://{parts.netloc}") :]
    return f"{parts.scheme}://{authority(parts)}{quote(rest, safe=_KEPT)}"
