"""What payers enter about themselves on the pay page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bot.core.text import phones

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bot.service.model.request import PayerField

MAX_ADDRESS = 254  # RFC 5321 section 4.5.3.1.3, less the angle brackets

HIDDEN = "•••"
SHORT_ZONES = ("+1", "+7")
"""Country codes of one digit (ITU-T E.164); of others, two digits are shown."""

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_ADDRESS = re.compile(
    rf"[a-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL})+", re.IGNORECASE
)


def check_payer_data(
    asked: Sequence[PayerField], form: Mapping[str, str]
) -> tuple[dict[PayerField, str], tuple[PayerField, ...]]:
    """Return the data to store, and the fields that are malformed.

    A paymail and an email address are `name@domain`; a phone number is stored as its digits, with
    a plus if it was typed.
    """
    data: dict[PayerField, str] = {}
    wrong: list[PayerField] = []
    for field in asked:
        text = form.get(field, "").strip()
        value = _phone(text) if field == "phoneNumber" else _address(text)
        if value is None:
            wrong.append(field)
        else:
            data[field] = value
    return data, tuple(wrong)


def payer_key(data: Mapping[PayerField, str]) -> str | None:
    """Return what identifies a payer, None for a payer who entered nothing."""
    known = (data.get("paymail"), data.get("email"), data.get("phoneNumber"))
    return next((value.lower() for value in known if value), None)


def masked(field: PayerField, value: str) -> str:
    """Return payer data masked for a page that others can open too.

    `m•••@example.org`, `+49 ••• ••89`: payers recognize their own.
    """
    if field == "phoneNumber":
        zone = value[: 2 if value.startswith(SHORT_ZONES) else 3] if value.startswith("+") else ""
        return f"{zone} {HIDDEN} {HIDDEN[:2]}{value[-2:]}".strip()
    mailbox, _, domain = value.rpartition("@")
    return f"{mailbox[: len(mailbox) > 1]}{HIDDEN}@{domain}"


def masked_name(name: str | None) -> str | None:
    """Return the first letter of a payer's name: `M•••`."""
    return name and f"{name[: len(name) > 1]}{HIDDEN}"


def _address(text: str) -> str | None:
    fits = len(text) <= MAX_ADDRESS and _ADDRESS.fullmatch(text)
    return text if fits else None


def _phone(text: str) -> str | None:
    digits = phones.digits(text)
    return None if digits is None else "+" * text.startswith("+") + digits
