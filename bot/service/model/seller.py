"""Who sells: the profile that pages and letters show beside the product."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.core.accents import ACCENTS
from bot.core.text.contacts import contact_link

OWNERS = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""References by which an application tells its sellers apart."""

LONGEST_ABOUT = 160
"""Characters of the line about a seller."""


@dataclass(frozen=True, slots=True)
class SellerProfile:
    """Who is paid, as they present themselves; `description` is a line about them.

    `contact` is an @username of Telegram, an email address or a link, `accent` one of ACCENTS.
    """

    name: str
    image_url: str | None = None
    contact: str | None = None
    description: str | None = None
    accent: str | None = None

    @property
    def contact_url(self) -> str | None:
        """Return the URL that reaches the seller, None without a contact."""
        return self.contact and contact_link(self.contact)


def check_accent(name: str) -> str:
    """Return the name of an accent colour. Raises ValueError for an unknown one."""
    if name not in ACCENTS:
        raise ValueError(f"must be one of {', '.join(ACCENTS)}")
    return name
