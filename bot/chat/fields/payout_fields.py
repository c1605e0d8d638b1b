"""What sellers type about where their money goes, checked as far as no server is needed.

The payment service checks all of it again, and asks the wallet.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bot.chat.fields.typed_text import read_line
from bot.chat.messages.reply import Problem
from bot.core.text import links, sanitize

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST = {
    "name": 70,
    "city": 60,
    "street": 70,
    "houseNumber": 16,
    "postalCode": 16,
    "town": 35,
    "key": 100,
}
"""Characters of what is typed freely, as the service bounds them."""

_NUMBERS = ("houseNumber", "postalCode")
_MOST_SECRET = 2048
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
_SWISS = ("CH", "LI")
_BEFORE_ADDRESS = re.compile(r"\A⚡? ?(?:(?:lightning|lnurlp|mailto):(?://)?)? ?⚡? ?")
"""What wallets and mail programs put before a Lightning address."""

_LIGHTNING = re.compile(r"[a-z0-9._+-]{1,128}@[^\s@/]{1,253}")
_UPI = re.compile(r"[A-Za-z0-9._-]{2,256}@[A-Za-z][A-Za-z0-9.-]{1,63}")
_PIX = re.compile(r"\+?\d{11,14}|[0-9A-Fa-f]{32}|[^\s@]+@[^\s@]+\.[^\s@]+")
_COUNTRY = re.compile(r"[A-Z]{2}")
_CONNECTION = re.compile(r"nostr\+?walletconnect:(?://)?[0-9a-f]{64}\?\S*secret=\S+", re.IGNORECASE)
_LNBITS_KEY = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", re.IGNORECASE)
"""A key of LNbits, or the id in the address of a wallet's own page, which logs its owner in."""


def read_field(way: str, field: str, text: str) -> str | Problem:
    """Parse what was typed for a field of a way (model/payout.py)."""
    if field in _READERS:
        return _READERS[field](text)
    if field == "key":
        return _read_key(text) if way == "lnbits" else _read_pix(text)
    if (way, field) == ("bank-swiss", "iban"):
        found = _read_iban(text)
        is_swiss = isinstance(found, Problem) or found.startswith(_SWISS)
        return found if is_swiss else Problem("payout-wrong-notSwiss")
    if field == "iban":
        return _read_iban(text)
    typed = sanitize.typed(text, digits=True) if field in _NUMBERS else text
    return read_line(typed, "payout", _MOST[field])


def is_connection(text: str) -> bool:
    """Return whether a text has a connection string, which is a secret wherever it is typed."""
    return _CONNECTION.search(sanitize.typed(text)) is not None


def has_key(text: str) -> bool:
    """Return whether a text has a key of LNbits."""
    return _LNBITS_KEY.search(sanitize.typed(text)) is not None


def _read_iban(text: str) -> str | Problem:
    """Parse an IBAN, however it is grouped (ISO 13616: the remainder by 97 is 1)."""
    iban = re.sub(r"[\W_]", "", sanitize.typed(text, digits=True).upper()).removeprefix("IBAN")
    if not _IBAN.fullmatch(iban):
        return Problem("payout-wrong-ibanForm")
    digits = "".join(str(int(char, 36)) for char in iban[4:] + iban[:4])
    return iban if int(digits) % 97 == 1 else Problem("payout-wrong-ibanTypo")


def _read_address(text: str) -> str | Problem:
    address = _BEFORE_ADDRESS.sub("", sanitize.typed(text).lower(), count=1)
    if address.startswith("lnurl1"):
        return Problem("payout-wrong-lnurl")
    if address.startswith(("lnbc", "lno1")) and "@" not in address:
        return Problem("payout-wrong-invoice")
    return address if _LIGHTNING.fullmatch(address) else Problem("payout-wrong-addressForm")


def _read_upi(text: str) -> str | Problem:
    name = sanitize.typed(text, digits=True)
    return name if _UPI.fullmatch(name) else Problem("payout-wrong-upiForm")


def _read_pix(text: str) -> str | Problem:
    """Parse a Pix key of any kind; the service checks its digits."""
    key = sanitize.typed(text, digits="@" not in text)
    is_sound = len(key) <= _MOST["key"] and _PIX.fullmatch(re.sub(r"[\s()/-]|\.(?=\d)", "", key))
    return key if is_sound else Problem("payout-wrong-pixKey")


def _read_name(text: str) -> str | Problem:
    """Parse a holder's name; an IBAN that was sent twice, or too early, is none."""
    if isinstance(_read_iban(text), str):
        return Problem("payout-wrong-name")
    return read_line(text, "payout", _MOST["name"])


def _read_url(text: str) -> str | Problem:
    """Parse the address of an LNbits; that of a wallet's page has a key behind it, which is cut."""
    url = links.with_scheme(re.split(r"[?#]", links.typed(text))[0].strip())
    is_sound = url.lower().startswith(("https://", "http://")) and not any(map(str.isspace, url))
    is_sound = is_sound and len(url) <= links.LONGEST_URL
    return url if is_sound else Problem("payout-wrong-urlForm")


def _read_key(text: str) -> str | Problem:
    key = sanitize.typed(text)
    is_sound = key.isascii() and key.isprintable() and " " not in key
    return key if is_sound and 0 < len(key) <= _MOST_SECRET else Problem("payout-wrong-keyForm")


def _read_connection(text: str) -> str | Problem:
    found = _CONNECTION.fullmatch(sanitize.typed(text))
    is_sound = found is not None and len(found[0]) <= _MOST_SECRET
    return found[0] if found and is_sound else Problem("payout-wrong-connectionForm")


def _read_country(text: str) -> str | Problem:
    code = sanitize.typed(text).upper()
    return code if _COUNTRY.fullmatch(code) else Problem("payout-wrong-countryForm")


_READERS: dict[str, Callable[[str], str | Problem]] = {
    "address": _read_address,
    "id": _read_upi,
    "url": _read_url,
    "connection": _read_connection,
    "country": _read_country,
    "name": _read_name,
}
