"""Contacts that people give: an email address, a phone number, a link or an @username."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from urllib.parse import quote

from bot.core.text import links, sanitize

LONGEST_ADDRESS = 254  # RFC 5321 section 4.5.3.1.3, less the angle brackets

GOOGLE = frozenset({"gmail.com", "googlemail.com"})
"""Two names of one domain, where dots in the local part have no meaning."""

_MAILTO = re.compile("mailto:", re.IGNORECASE)


def ascii_address(text: str) -> str | None:
    """Return an email address as it is sent, with its domain by IDNA; None for an invalid one.

    A local part that is not ASCII is invalid (RFC 6531): few servers forward such mail. So is one
    with `=?`, which mail programs read as an encoded word (RFC 2047 section 2), and a domain that
    is reserved or no public name; `.test`, with which people try things out (RFC 2606), is valid.
    """
    from email_validator import EmailNotValidError, validate_email  # noqa: PLC0415 - commands start without it

    if len(text) > LONGEST_ADDRESS or "=?" in text:
        return None
    try:
        found = validate_email(
            text,
            check_deliverability=False,
            allow_smtputf8=False,
            strict=True,
            test_environment=True,
        )
    except EmailNotValidError:
        return None
    return found.ascii_email


def typed_email(text: str) -> str:
    """Return an address without what people paste with it; whether it is valid is not checked."""
    return _MAILTO.sub("", sanitize.typed(text), count=1).strip()


def mailbox_key(address: str) -> str:
    """Return the address in lower case and ASCII, the same for each spelling of its letters."""
    return (ascii_address(address) or address).lower()


def mailbox_digest(address: str) -> str:
    """Return a hash of the mailbox of an address: its spellings share one rate limit.

    Ignores a tag (`anna+shop@example.org`, RFC 5233) and Google's dots: two mailboxes with one
    digest only share a rate limit.
    """
    name, _, domain = mailbox_key(address).rpartition("@")
    name = name.partition("+")[0] or name
    if domain in GOOGLE:
        name, domain = name.replace(".", ""), "gmail.com"
    return hashlib.sha256(f"{name}@{domain}".encode()).hexdigest()


DIGITS = range(7, 16)  # E.164: fifteen at most
LONGEST = 64
"""Characters; a longer text is no phone number."""

ZEROS_STAY = ("39", "225", "241", "242", "378")
"""Country codes whose numbers keep their zero when dialled from abroad (ITU-T E.164): Italy, …"""

_TEL = re.compile(r"(?:tel|callto|sms)\.?:? ?(?://)?", re.IGNORECASE)
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
    plain = _TEL.sub("", plain, count=1).strip()
    if not _PHONE.fullmatch(plain):
        return None
    found = _TRUNK.match(plain)
    if found:
        zone = re.sub(r"\D", "", found["zone"])
        zero = "0" if zone.removeprefix("00").startswith(ZEROS_STAY) else ""
        plain = "+" * (not zone.startswith("00")) + zone + zero + plain[found.end() :]
    digits = re.sub(r"\D", "", plain)
    return "+" * ("+" in plain) + digits if len(digits) in DIGITS else None


def phone_digits(text: str) -> str | None:
    """Return the digits of a phone number, however typed; None if it is none."""
    number = dialled(text)
    return number and number.removeprefix("+")


LONGEST_CONTACT = LONGEST_ADDRESS
"""Characters; a link as long as an email address can be reaches any page of contact."""

SHAPE = (
    "must be an @username of Telegram (5 to 32 letters, digits or _),"
    " an email address or a link such as https://example.org"
)

USERNAME = re.compile(r"@[A-Za-z0-9_]{5,32}")
"""A name on Telegram, with the sign that tells it from a mistyped address."""

_LINK = re.compile(r"https?://", re.IGNORECASE)


def check_contact(text: str) -> str:
    """Return the contact. Raises ValueError, which says what it must be."""
    if _LINK.match(text) and len(text) <= LONGEST_CONTACT:
        return links.check_redirect(text, schemes=links.WEB)
    if USERNAME.fullmatch(text) is None and ascii_address(text) is None:
        raise ValueError(SHAPE)
    return text


def contact_link(contact: str) -> str:
    """Return the address that a checked contact opens: `https:`, `http:` or `mailto:`."""
    if _LINK.match(contact):
        return contact
    if contact.startswith("@"):
        return f"https://t.me/{contact[1:]}"
    name, _, domain = (ascii_address(contact) or contact).rpartition("@")
    return f"mailto:{quote(name, safe=_SAFE_IN_MAILTO)}@{domain}"


_SAFE_IN_MAILTO = "!$'*+"
"""Characters of a local part that stand for themselves; `?` and `&` begin a field (RFC 6068)."""


def contact_text(contact: str) -> str:
    """Return a checked contact as people read it: a link without its scheme and last slash."""
    return _LINK.sub("", contact, count=1).rstrip("/") if _LINK.match(contact) else contact
