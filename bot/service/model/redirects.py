"""How addresses in a request are written: into a header, into a Content-Security-Policy."""

from __future__ import annotations

from urllib.parse import quote

from bot.core.text.links import WEB, authority, check_app, split

_KEPT = "%:/?#[]@!$&'()*+,;=-._~"


def with_transaction(url: str, transaction_id: str) -> str:
    """Redirect address with `transactionId` added to the query it has, in ASCII for a header."""
    address, mark, fragment = url.partition("#")
    path, _, query = address.partition("?")
    query = "&".join(filter(None, (query, f"transactionId={transaction_id}")))
    return ascii_url(f"{path}?{query}{mark}{fragment}")


def may_lead_to(url: str, schemes: frozenset[str]) -> bool:
    """Return whether payers may be led there: over the web, or to one of these schemes' apps."""
    try:
        check_app(url, schemes)
    except ValueError:
        return False
    return True


def csp_source(url: str) -> str:
    """Give the CSP source that matches the address: its origin, or else its scheme."""
    parts = split(url)
    if parts.scheme not in WEB:
        return f"{parts.scheme}:"
    host = authority(parts)
    return f"{parts.scheme}:" if host.startswith("[") else f"{parts.scheme}://{host}"


def ascii_url(url: str) -> str:
    """Address as a browser would send it: host by IDNA, the rest percent-encoded."""
    parts = split(url)
    if parts.scheme not in WEB:
        return quote(url, safe=_KEPT)
    rest = url[len(f"{parts.scheme}://{parts.netloc}") :]
    return f"{parts.scheme}://{authority(parts)}{quote(rest, safe=_KEPT)}"
