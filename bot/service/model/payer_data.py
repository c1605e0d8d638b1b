"""What payers enter about themselves on the pay page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.text import email_addresses, phones

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bot.service.model.request import PayerField

HIDDEN = "•••"
SHORT_ZONES = ("+1", "+7")
"""Country codes of one digit (ITU-T E.164); of others, two digits are shown."""


def check_payer_data(
    asked: Sequence[PayerField], form: Mapping[str, str]
) -> tuple[dict[PayerField, str], tuple[PayerField, ...]]:
    """Return the data to store, and the fields that are malformed.

    A paymail and an email address are stored as they are sent, with the domain in ASCII; a phone
    number as it is dialled.
    """
    data: dict[PayerField, str] = {}
    wrong: list[PayerField] = []
    for field in asked:
        text = form.get(field, "")
        value = phones.dialled(text) if field == "phoneNumber" else _address(text)
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
    return email_addresses.ascii_address(email_addresses.typed(text))
