"""Who sells: the profile that pages and letters show beside the product."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.core.accents import ACCENTS
from bot.core.mail import smtp
from bot.core.text import links

LONGEST_CONTACT, LONGEST_ABOUT = 254, 160
"""Characters: an e-mail address has no more (RFC 5321), a line about the seller needs no more."""

USERNAME = re.compile(r"@[A-Za-z0-9_]{5,32}")
"""A name on Telegram, with the sign that tells it from a mistyped address."""

LINK = re.compile(r"https?://", re.IGNORECASE)
TELEGRAM = "https://t.me/"


@dataclass(frozen=True, slots=True)
class SellerProfile:
    """Who is paid, as they present themselves; `description` is a line about them.

    `contact` is an @username of Telegram, an e-mail address or a link, `accent` one of ACCENTS.
    """

    name: str
    image_url: str | None = None
    contact: str | None = None
    description: str | None = None
    accent: str | None = None

    @property
    def contact_url(self) -> str | None:
        """Return the URL that reaches the seller, None without a contact."""
        contact = self.contact
        if contact is None or LINK.match(contact):
            return contact
        if USERNAME.fullmatch(contact):
            return f"{TELEGRAM}{contact[1:]}"
        return f"mailto:{smtp.ascii_address(contact) or contact}"


def check_contact(text: str) -> str:
    """Return the contact. Raises ValueError unless it is a username, an address or a link."""
    if LINK.match(text):
        return links.check_redirect(text, schemes=links.WEB)
    if USERNAME.fullmatch(text) is None and smtp.ascii_address(text) is None:
        raise ValueError(
            "must be an @username of Telegram (5 to 32 letters, digits or _),"
            " an e-mail address or a link such as https://example.org"
        )
    return text


def check_accent(name: str) -> str:
    """Return the name of an accent colour. Raises ValueError for an unknown one."""
    if name not in ACCENTS:
        raise ValueError(f"must be one of {', '.join(ACCENTS)}")
    return name
