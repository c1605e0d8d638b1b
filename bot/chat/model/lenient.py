"""Lenient reading of JSON from payment servers, which may differ from the published interface.

The interface doesn't say which fields are present, or whether times are texts or numbers. So a
model of `Sent` has the fields that the chat reads, by the interface's names, and each type says
what becomes of a value of another form: it is left out, or it makes the whole object unreadable.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic.alias_generators import to_camel

from bot.core import errors

M = TypeVar("M", bound=BaseModel)

LONGEST_TEXT = 2048
"""Maximum characters of an id or a URL; longer ones fit no QR code or button."""
LONGEST_ID = 200
"""Maximum characters of a payment id or checkout id."""
LONGEST_CODE = 16
"""Maximum characters of a currency code."""
MOST_UNITS = 10**12
"""Maximum units of a request, far more than any has; larger numbers are rejected."""
MAX_QUANTITY = 1000
"""Maximum units of one payment, ten times what a payer may buy; larger numbers are rejected."""

_NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")


class Sent(BaseModel):
    """A JSON object that a server sent; fields that the chat doesn't read are ignored."""

    model_config = ConfigDict(
        defer_build=True, extra="ignore", frozen=True, alias_generator=to_camel
    )


def read(kind: type[M], data: object, named: str) -> M:
    """Parse a JSON object. Raises BadAnswer with its name: `receipt`."""
    try:
        return kind.model_validate(data, extra="ignore")
    except ValidationError as error:
        raise errors.BadAnswer(f"the answer is no {named}") from error


def read_or_none(kind: type[M], data: object) -> M | None:
    """Parse a JSON object; None if it can't be read."""
    try:
        return kind.model_validate(data, extra="ignore")
    except ValidationError:
        return None


def _none_if_unreadable(value: object, handler: ValidatorFunctionWrapHandler) -> Any:
    try:
        return handler(value)
    except ValidationError:
        return None


IfReadable = WrapValidator(_none_if_unreadable)
"""A value of another form becomes None."""


# Texts.


def is_id(value: object) -> bool:
    """True if the value is an id that can be stored and displayed."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_ID and value.isprintable()


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("has control characters")
    return text


Text: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=LONGEST_TEXT), AfterValidator(_printable)
]
Id: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=LONGEST_ID), AfterValidator(_printable)
]
IdOrNone: TypeAlias = Annotated[Id | None, IfReadable]
TextOrNone: TypeAlias = Annotated[str | None, IfReadable]
CodeOrNone: TypeAlias = Annotated[
    Annotated[str, Field(min_length=1, max_length=LONGEST_CODE), AfterValidator(str.upper)] | None,
    IfReadable,
]

# Numbers.


def number(raw: object) -> Decimal | None:
    """Parse a number or a numeric text; None for anything else."""
    if isinstance(raw, str) and _NUMBER.fullmatch(raw):
        return Decimal(raw)
    return None if isinstance(raw, bool) or not isinstance(raw, int | Decimal) else Decimal(raw)


def _amount(value: object) -> Decimal:
    amount = number(value)
    if amount is None:
        raise ValueError("is no number")
    return amount


def _units(value: Any) -> int | None:
    """Return a number of units; None if it is missing or not in 0 to MOST_UNITS."""
    try:
        units = Decimal(-1 if value is None else value)
        return int(units) if 0 <= units <= MOST_UNITS else None
    except (TypeError, ArithmeticError):
        raise ValueError("is no number of units") from None


def count(value: object) -> int | None:
    """Return a whole number from 0 to MOST_UNITS; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    return int(value) if 0 <= value <= MOST_UNITS and value == int(value) else None


def _quantity(value: object) -> int:
    """Return the quantity of a payment; 1 if the server sends no valid number."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 1
    return value if 1 <= value <= MAX_QUANTITY else 1


Amount: TypeAlias = Annotated[Decimal, BeforeValidator(_amount)]
"""A number, or a numeric text."""
Units: TypeAlias = Annotated[int | None, BeforeValidator(_units)]
Count: TypeAlias = Annotated[int | None, PlainValidator(count)]
Quantity: TypeAlias = Annotated[int, PlainValidator(_quantity)]
IsTrue: TypeAlias = Annotated[bool, PlainValidator(lambda value: value is True)]
NotFalse: TypeAlias = Annotated[bool, PlainValidator(lambda value: value is not False)]

# Times.


def _time(value: Any) -> int | None:
    """Convert ISO 8601 text or Unix seconds (the interface shows both) to epoch ms."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        if isinstance(value, int | Decimal):
            return int(value * 1000)
        moment = datetime.fromisoformat(value)
        return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)
    except (TypeError, ArithmeticError):
        raise ValueError("is no time") from None


def any_time(value: object) -> int | None:
    """Convert a time to epoch ms; None if it is missing or can't be parsed."""
    try:
        return _time(value)
    except ValueError:
        return None


Time: TypeAlias = Annotated[int | None, BeforeValidator(_time)]
"""Epoch ms."""
TimeOrNone: TypeAlias = Annotated[int | None, PlainValidator(any_time)]

# Objects.

JsonObject: TypeAlias = Annotated[dict[Any, Any], BeforeValidator(lambda value: value or {})]
"""An object; a missing or empty value of any type is an empty object."""
