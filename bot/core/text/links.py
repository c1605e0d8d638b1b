"""Links for people: allowed schemes, and hosts in ASCII and Unicode."""

from __future__ import annotations

import re
import unicodedata
from ipaddress import IPv6Address
from urllib.parse import SplitResult, urlsplit

import idna

from bot.core.text import sanitize

WEB = frozenset({"http", "https"})
ENCODED = "xn--"  # RFC 5890 section 2.3.2.1
LONGEST_LABEL = 63  # RFC 1035 section 2.3.4
LONGEST_URL = 2048
"""Characters; our own limit, because the interface sets none."""

# Schemes that run code or read the device instead of opening an application.
NEVER = frozenset(
    {"javascript", "data", "file", "vbscript", "blob", "about", "filesystem", "view-source"}
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*", re.IGNORECASE)
_NOT_IN_URL = re.compile(r"[\x00-\x20\x7f-\x9f\\\s<>\"`{}|^]")
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?", re.IGNORECASE)
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*", re.IGNORECASE)
_HEAD = re.compile(r"(?:[^:：/／]*[:：][/／]{2})?[^/／?？#＃]*[/／?？#＃]?")  # noqa: RUF001 - as keyboards of East Asia have them
_BARE_HOST = re.compile(
    r"[^:/?#@]+\.[^:/?#@.]*[^\W\d_][^:/?#@]*(?::\d{1,5})?(?:[/?#].*)?", re.DOTALL
)


def typed(text: str) -> str:
    """Remove characters that people paste around a URL.

    The scheme and the host are normalized by `sanitize.typed`; the rest loses only invisible marks.
    Joiners stay, because paths in Persian and with emoji contain them.
    """
    marks = dict.fromkeys(sanitize.INVISIBLE_MARKS.keys() - set(map(ord, sanitize.JOINERS)))
    plain = text.translate(marks).strip().strip(sanitize.JOINERS).strip()
    head = _HEAD.match(plain)
    end = head.end() if head else 0
    return sanitize.typed(plain[:end]) + plain[end:]


def with_scheme(text: str) -> str:
    """Add `https://` to a URL without a scheme, such as `example.org/thanks`."""
    return f"https://{text}" if _BARE_HOST.fullmatch(text) else text


def check_picture(url: str) -> str:
    """Return the URL. Raises ValueError if a browser can't load a picture from it."""
    return check_redirect(url, schemes=WEB)


def check_redirect(url: str, *, schemes: frozenset[str] | None = None) -> str:
    """Return the URL. Raises ValueError unless its scheme is in `schemes`, or harmless if None.

    The operator decides which applications are allowed (see `check_app`).
    """
    if _NOT_IN_URL.search(url):
        raise ValueError("is no address: it has spaces or other characters to be percent-encoded")
    scheme = url.partition(":")[0].lower()
    if ":" not in url or not _SCHEME.fullmatch(scheme):
        raise ValueError("is no whole address, such as https://example.org/thanks")
    if scheme in NEVER or (schemes is not None and scheme not in schemes):
        raise ValueError(f"may not be an address of {scheme}:")
    parts = split(url)
    if scheme in WEB:
        authority(parts)
    elif not url.partition(":")[2]:
        raise ValueError("says nothing after its scheme")
    return url


def check_app(url: str, schemes: frozenset[str]) -> None:
    """Check that the URL is a web address or has one of these schemes. Raises ValueError."""
    scheme = url.partition(":")[0].lower()
    if scheme not in WEB | (schemes - NEVER):
        raise ValueError(f"may not be an address of {scheme}: here")


def check_schemes(names: tuple[str, ...]) -> frozenset[str]:
    """Return the schemes of REDIRECT_SCHEMES. Raises ValueError if one is not allowed."""
    schemes = frozenset(name.lower() for name in names)
    for scheme in sorted(schemes):
        if not _SCHEME.fullmatch(scheme):
            raise ValueError(f"{scheme!r} is no scheme: write its name alone, such as myapp")
        if scheme in NEVER:
            raise ValueError(f"{scheme} opens no application: take it out")
    return schemes


def split(url: str) -> SplitResult:
    """Split a URL. Raises ValueError."""
    try:
        return urlsplit(url)
    except ValueError:
        raise ValueError("is no address that can be read") from None


def authority(parts: SplitResult) -> str:
    """Return host and port in ASCII. Raises ValueError, including for a user name."""
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


def ascii_host(name: str) -> str:
    """Return a name in the form that browsers look up (IDNA 2008, UTS 46). Raises ValueError.

    Python's own codec implements IDNA 2003, which turns faß.de into a different domain, fass.de.
    ASCII names stay unchanged, but `xn--` labels must be valid.
    """
    if name.isascii() and ENCODED not in name.lower():
        return name
    labels = idna.uts46_remap(name, std3_rules=False).split(".")
    return ".".join(map(_ascii_label, labels))


def ascii_domain(text: str) -> str | None:
    """Return a domain in ASCII; None if it is invalid or an IP address."""
    try:
        name = ascii_host(text)
    except ValueError:
        return None
    if name.rpartition(".")[2].isdecimal() or not _DOMAIN.fullmatch(name):
        return None
    return name


def unicode_host(name: str) -> str:
    """Return a host in Unicode; a host that IDNA can't decode stays unchanged."""
    try:
        labels = ascii_host(name).lower().split(".")
        return ".".join(
            label.removeprefix(ENCODED).encode().decode("punycode")
            if label.startswith(ENCODED)
            else label
            for label in labels
        )
    except ValueError:
        return name


def shown_host(url: str) -> str | None:
    """Return the displayed host of a web address; None if the URL opens an application.

    Non-ASCII letters may imitate another host, so the encoded host is shown as well, or alone if it
    mixes scripts.
    """
    parts = split(url)
    if parts.scheme not in WEB:
        return None
    host = authority(parts)
    if ENCODED not in host:
        return host.lower()
    name, port = unicode_host(parts.hostname or ""), host.partition(":")[1:]
    return host if mixes_scripts(name) else f"{name}{''.join(port)} ({host})"


def shown_url(url: str) -> str:
    """Return a URL as it was typed, with the host in ASCII if it mixes scripts."""
    try:
        parts = urlsplit(url)
        if parts.netloc.isascii() or not mixes_scripts(unicode_host(parts.hostname or "")):
            return url
        return url.replace(parts.netloc, authority(parts), 1)
    except ValueError:
        return url  # no browser opens it


def shown_address(address: str) -> str:
    """Return an email address as it was typed, with the domain in ASCII if it mixes scripts."""
    name, at, domain = address.rpartition("@")
    try:
        return f"{name}{at}{ascii_host(domain) if mixes_scripts(unicode_host(domain)) else domain}"
    except ValueError:
        return address  # no letter arrives there


WRITTEN_TOGETHER = frozenset(
    {"LATIN", "CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "BOPOMOFO", "HANGUL"}
)
"""Scripts that are mixed in East Asia, as the names of their characters begin."""

_SCRIPT = re.compile(r"[A-Z]+")
"""The script of a letter: the first word of its name."""


def mixes_scripts(host: str) -> bool:
    """True if a part of a host in Unicode mixes scripts, as imitations of other hosts do.

    Browsers show such a host in ASCII (Unicode TS 39, section 5.2, "highly restrictive").
    """
    for label in host.split("."):
        names = (unicodedata.name(char, "") for char in label if char.isalpha())
        scripts = {found[0] for name in names if (found := _SCRIPT.match(name))}
        if len(scripts) > 1 and not scripts <= WRITTEN_TOGETHER:
            return True
    return False


def _ascii_label(label: str) -> str:
    """Encode a label; ASCII labels stay, because IDNA rejects underscores and runs of hyphens."""
    if label.isascii() and not label.startswith(ENCODED):
        return label
    try:
        return idna.alabel(label).decode()
    except idna.InvalidCodepoint:
        return _with_symbols(label)


def _with_symbols(label: str) -> str:
    """Encode a label with symbols: browsers accept UTS 46 symbols, although IDNA 2008 does not."""
    encoded = label.startswith(ENCODED)
    text = label.removeprefix(ENCODED).encode().decode("punycode") if encoded else label
    written = ENCODED + text.encode("punycode").decode()
    if idna.uts46_remap(text, std3_rules=False) != text or len(written) > LONGEST_LABEL:
        raise ValueError(f"{label} is not a valid label of a host")
    if encoded and written != label:
        raise ValueError(f"{label} encodes nothing")
    return written
