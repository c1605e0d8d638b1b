"""Phone numbers, as the pay page accepts them and as searches compare them."""

from __future__ import annotations

import re
import unicodedata

from bot.core.text import sanitize

DIGITS = range(7, 16)  # E.164: fifteen at most
LONGEST = 64
"""Characters; a longer text is no phone number."""

ZEROS_STAY = ("39", "225", "241", "242", "378")
"""Country codes whose numbers keep their zero when dialled from abroad (ITU-T E.164): Italy, …"""

_SCHEME = re.compile(r"(?:tel|callto|sms)\.?:? ?(?://)?", re.IGNORECASE)
_PHONE = re.compile(r"(?:\+|\(\+)?[0-9 ()[\]./·-]+")
_TRUNK = re.compile(r"(?P<zone>(?:\+|\(\+|00|[1-9])[^()[\]]*\)?[ ./·-]*)[(\[] ?0 ?[)\]]")
"""A country code, and the zero in brackets that is dialled within the country alone."""

_SIGNS = {0x30FC: "-"} | dict.fromkeys((0x2022, 0x2027, 0x2219, 0x22C5, 0x30FB), ".")
"""Signs that are typed as a dash or a dot: the long vowel of Japanese, bullets, middle dots."""


def dialled(text: str) -> str | None:
    """Return a phone number as it is dialled: its digits, with a plus before a country code.

    `+49 (0)170 123` is +49170123, `+39 06 123` keeps its zero. None for anything else.
    """
    if len(text) > LONGEST or any(unicodedata.category(char) == "No" for char in text):
        return None  # NFKC would read the mark of a footnote as a digit
    plain = sanitize.typed(text, digits=True).translate(_SIGNS)
    plain = _SCHEME.sub("", plain, count=1).strip()
    if not _PHONE.fullmatch(plain):
        return None
    found = _TRUNK.match(plain)
    if found:
        zone = re.sub(r"\D", "", found["zone"])
        zero = "0" if zone.removeprefix("00").startswith(ZEROS_STAY) else ""
        plain = "+" * (not zone.startswith("00")) + zone + zero + plain[found.end() :]
    digits = re.sub(r"\D", "", plain)
    return "+" * ("+" in plain) + digits if len(digits) in DIGITS else None


def digits(text: str) -> str | None:
    """Return the digits of a phone number, however typed; None if it is none."""
    number = dialled(text)
    return number and number.removeprefix("+")
