"""The profile's values as sellers type them, parsed, and the names that Telegram has of people."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from bot.chat.fields.typed_text import MAX_NAME, read_line
from bot.chat.messages.reply import Problem
from bot.chat.model.profile import MAX_ABOUT
from bot.core.text import contacts, email_addresses, links

if TYPE_CHECKING:
    from collections.abc import Callable


def read_name(text: str) -> str | Problem:
    """Parse the name that payers see: one line, 1 to 100 characters, one of them visible."""
    return read_line(text, "sellername", MAX_NAME)


def read_about(text: str) -> str | Problem:
    """Parse the line about a seller: up to 160 characters."""
    return read_line(text, "sellerabout", MAX_ABOUT)


def read_contact(text: str) -> str | Problem:
    """Parse a contact as the service checks it; a link without a scheme gets `https`."""
    try:
        typed = email_addresses.typed(text) if "//" not in text else links.typed(text)
        return contacts.check_contact(links.with_scheme(typed))
    except ValueError:
        return Problem("problem-sellercontact")


READERS: dict[str, Callable[[str], str | Problem]] = {
    "sellername": read_name,
    "sellerabout": read_about,
    "sellercontact": read_contact,
}
"""How a text is read at each step of the profile that takes one."""


def name_at_telegram(first_name: str, last_name: str) -> str | None:
    """Return a person's name at Telegram, the first name alone where both are too long.

    None where payers could not read it.
    """
    for name in (f"{first_name} {last_name}", first_name):
        found = read_name(name)
        if isinstance(found, str):
            return found
    return None


def offer_key(value: str) -> str:
    """Return a checksum for the button that offers this value: its press takes no other."""
    return f"{zlib.crc32(value.encode()):08x}"
