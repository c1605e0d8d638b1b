"""Validation of dataclasses stored as JSON; only the current shape is accepted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from decimal import Decimal
from typing import Any, TypeGuard

from bot.core import errors, exact_json
from bot.core.money import amounts

_NUMBER = re.compile(r"[0-9]{1,64}(\.[0-9]{1,64})?", re.ASCII)
_MAX_STORED = 4_194_304
"""Maximum characters, far more than any form needs."""


def parsed(text: str) -> object:
    """Parse JSON; None for text that is not JSON."""
    try:
        return exact_json.loads(text) if len(text) <= _MAX_STORED else None
    except ValueError:
        return None


def is_whole(value: object) -> bool:
    """True if a value is a positive integer that fits into a database column."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= amounts.MAX_MINOR


def is_currency(value: object) -> bool:
    """True if a value is a currency code."""
    return isinstance(value, str) and value in amounts.currencies()


def is_amount(value: object, currency: str) -> bool:
    """True if a value is a valid amount of the currency, as decimal text."""
    try:
        sound = isinstance(value, str) and _NUMBER.fullmatch(value)
        return bool(sound and amounts.to_minor(Decimal(str(value)), currency))
    except errors.MoneyError:
        return False


def some_of(known: tuple[str, ...]) -> Callable[[object], bool]:
    """Return a check that a value is a list of distinct members of `known`."""
    return lambda value: (
        isinstance(value, list)
        and all(each in known for each in value)
        and len(set(value)) == len(value)
    )


def list_of(shape: Mapping[str, Callable[[Any], bool]]) -> Callable[[object], bool]:
    """Return a check that a value is a list of objects of this shape."""
    return lambda value: isinstance(value, list) and all(fits(each, shape) for each in value)


def list_of_texts(value: object) -> bool:
    """True if a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


_BY_TYPE: dict[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "str | None": lambda value: value is None or isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int": is_whole,
    "int | None": lambda value: value is None or is_whole(value),
}
"""Checks by declared attribute type; numbers are at least 1 and fit into a column."""


def shape_of(cls: type, **checks: Callable[[Any], bool]) -> dict[str, Callable[[Any], bool]]:
    """Return a check for each attribute of a dataclass: from `checks`, or else by declared type."""
    return {
        field.name: checks.get(field.name) or _BY_TYPE[str(field.type)] for field in fields(cls)
    }


def fits(found: object, shape: Mapping[str, Callable[[Any], bool]]) -> TypeGuard[dict[str, Any]]:
    """True if a value is an object with exactly the attributes of a shape, all of them valid."""
    return (
        isinstance(found, dict)
        and found.keys() == shape.keys()
        and all(check(found[name]) for name, check in shape.items())
    )
