"""Contacts that people give: an email address, a phone number, a link or an @username."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from urllib.parse import quote

from bot.core.text import links, sanitize

LONGEST_ADDRESS = 254  # RFC 5321 section 4.5.3.1.3, without the angle brackets

GOOGLE = frozenset({"gmail.com", "googlemail.com"})
"""Two names of one domain, which ignores dots in the local part."""

_MAILTO = re.compile("mailto:", re.IGNORECASE)


def ascii_address(text: str) -> str | None:
    """Return an email address with its domain encoded by IDNA; None if the address is invalid.

    A non-ASCII local part is invalid (RFC 6531), because few servers forward such mail. A local
    part with `=?` is invalid, because mail programs read it as an encoded word (RFC 2047 section
    2). A reserved or non-public domain is invalid, because no letter arrives there.
    """
    from email_validator import EmailNotValidError, validate_email  # noqa: PLC0415 - commands start without it

    if len(text) > LONGEST_ADDRESS or "=?" in text:
        return None
    try:
        found = validate_email(text, check_deliverability=False, allow_smtputf8=False, strict=True)
    except EmailNotValidError:
        return None
    return found.ascii_email


def typed_email(text: str) -> str:
    """Remove characters that people paste around an address; its validity is not checked."""
    return _MAILTO.sub("", sanitize.typed(text), count=1).strip()


def mailbox_key(address: str) -> str:
    """Return the address in lower case and ASCII, the same for every spelling of its letters."""
    return (ascii_address(address) or address).lower()


def mailbox_digest(address: str) -> str:
    """Return a hash of an address's mailbox, so that all its spellings share one rate limit.

    Tags (`anna+shop@example.org`, RFC 5233) and Google's dots are ignored. If two mailboxes have
    the same digest, they merely share a rate limit.
    """
    name, _, domain = mailbox_key(address).rpartition("@")
    name = name.partition("+")[0] or name
    if domain in GOOGLE:
        name, domain = name.replace(".", ""), "gmail.com"
    return hashlib.sha256(f"{name}@{domain}".encode()).hexdigest()


DIGITS = range(7, 16)  # E.164: fifteen at most
LONGEST = 64
"""Characters; a longer text is not a phone number."""

ZEROS_STAY = ("39", "225", "241", "242", "378")
"""Country codes whose numbers keep their leading zero from abroad (ITU-T E.164): Italy, …"""

_TEL = re.compile(r"(?:tel|callto|sms)\.?:? ?(?://)?", re.IGNORECASE)
_PHONE = re.compile(r"(?:\+|\(\+)?[0-9 ()[\]./·-]+")
_TRUNK = re.compile(r"(?P<zone>(?:\+|\(\+|00|[1-9])[^()[\]]*\)?[ ./·-]*)[(\[] ?0 ?[)\]]")
"""A country code, and the bracketed zero that is dialled only within the country."""

_SIGNS = {0x30FC: "-"} | dict.fromkeys((0x2022, 0x2027, 0x2219, 0x22C5, 0x30FB), ".")
"""Signs typed instead of a dash or a dot: the Japanese long vowel mark, bullets, middle dots."""


def dialled(text: str) -> str | None:
    """Return a phone number as it is dialled: its digits, with a plus before a country code.

    `+49 (0)170 123` becomes +49170123, `+39 06 123` keeps its zero. Return None for other text.
    """
    if len(text) > LONGEST or any(unicodedata.category(char) == "No" for char in text):
        return None  # NFKC would turn a footnote mark into a digit
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
    """Return the digits of a phone number in any notation; None if it isn't a phone number."""
    number = dialled(text)
    return number and number.removeprefix("+")


LONGEST_CONTACT = LONGEST_ADDRESS
"""Characters; a link as long as the longest email address is enough for any contact page."""

SHAPE = (
    "must be an @username of Telegram (5 to 32 letters, digits or _),"
    " an email address or a link such as https://example.org"
)

USERNAME = re.compile(r"@[A-Za-z0-9_]{5,32}")
"""A Telegram username, with the @ that distinguishes it from a mistyped address."""

_LINK = re.compile(r"https?://", re.IGNORECASE)


def check_contact(text: str) -> str:
    """Validate and return a contact. Raises ValueError, which explains the valid forms."""
    if _LINK.match(text) and len(text) <= LONGEST_CONTACT:
        return links.check_redirect(text, schemes=links.WEB)
    if USERNAME.fullmatch(text) is None and ascii_address(text) is None:
        raise ValueError(SHAPE)
    return text


def contact_link(contact: str) -> str:
    """Return the URL that a checked contact opens: `https:`, `http:` or `mailto:`."""
    if _LINK.match(contact):
        return contact
    if contact.startswith("@"):
        return f"https://t.me/{contact[1:]}"
    name, _, domain = (ascii_address(contact) or contact).rpartition("@")
    return f"mailto:{quote(name, safe=_SAFE_IN_MAILTO)}@{domain}"


_SAFE_IN_MAILTO = "!$'*+"
"""Characters of a local part that need no escaping; `?` and `&` begin a field (RFC 6068)."""


def contact_text(contact: str) -> str:
    """Return the display text of a checked contact: a link without its scheme and last slash.

    A host that mixes scripts to imitate another one is shown in ASCII.
    """
    if _LINK.match(contact):
        return _LINK.sub("", links.shown_url(contact), count=1).rstrip("/")
    return contact if contact.startswith("@") else links.shown_address(contact)
