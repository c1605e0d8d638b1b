"""What is written down as JSON and read again, perhaps by another version: checks of its shape."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bot.core import exact_json
from bot.core.errors import MoneyError
from bot.core.money.amounts import MAX_MINOR, to_minor

if TYPE_CHECKING:
    from collections.abc import Mapping

ASKS = ("email", "phoneNumber", "paymail")
"""What payers can be asked for (section 4: requestedUserData)."""

_NUMBER = re.compile(r"[0-9]{1,64}(\.[0-9]{1,64})?", re.ASCII)
_MAX_STORED = 4_194_304  # characters; no form of ours comes near it


def parsed(text: str) -> object:
    """Read JSON; None for what is none."""
    try:
        return exact_json.loads(text) if len(text) <= _MAX_STORED else None
    except ValueError:
        return None


def record_of(found: object, cls: type) -> dict[str, Any] | None:
    """Take an object with the fields of `cls` and no others.

    Those with a default may be left out, as an earlier version did that had none of them.
    """
    if not isinstance(found, dict):
        return None
    known = {field.name: field.default for field in fields(cls)}
    if not found.keys() <= known.keys():
        return None
    record = {name: found.get(name, default) for name, default in known.items()}
    return None if MISSING in record.values() else record


def are_texts(found: Mapping[str, Any], *names: str) -> bool:
    """Whether these fields hold text."""
    return all(isinstance(found[name], str) for name in names)


def are_texts_or_none(found: Mapping[str, Any], *names: str) -> bool:
    """Whether these fields hold text or nothing."""
    return all(found[name] is None or isinstance(found[name], str) for name in names)


def are_times_or_none(found: Mapping[str, Any], *names: str) -> bool:
    """Whether these fields hold a time, in epoch ms, or nothing."""
    return all(found[name] is None or is_whole(found[name]) for name in names)


def are_asks(told: object) -> bool:
    """Whether it says what to ask payers for: each at most once."""
    if not isinstance(told, list | tuple) or not all(asked in ASKS for asked in told):
        return False
    return len(set(told)) == len(told)


def is_whole(value: object) -> bool:
    """Whether it is a number from 1 to what a column takes."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_MINOR


def is_amount(written: object, currency: str) -> bool:
    """Whether it is an amount as it is written down, and one that the currency allows."""
    try:
        sound = isinstance(written, str) and _NUMBER.fullmatch(written)
        return bool(sound and to_minor(Decimal(str(written)), currency))
    except MoneyError:
        return False
