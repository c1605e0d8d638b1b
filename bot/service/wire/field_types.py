"""Types of the fields of bodies, with pydantic's checks and their JSON schema."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from bot.core import brand, errors, exact_json
from bot.core.money import amounts
from bot.core.text import contacts, links
from bot.service.goods import contents
from bot.service.requests import request

if TYPE_CHECKING:
    from pydantic.config import JsonDict


# Limits that the interface leaves to us, in characters or numbers.
MAX_NAME, MAX_TEXT, MAX_URL, MAX_DESTINATION, MAX_TAG = 100, 500, links.LONGEST_URL, 512, 100
MAX_RECEIVERS, MAX_TAGS = 1000, 20
MAX_QUANTITY, MAX_KEEP_URL = 100, 512
MAX_TOTAL_UNITS, MAX_SECONDS = 1_000_000, 315_360_000
MAX_PARAMETERS = 8 * 1024
"""Bytes of JSON."""

KEEP_URL_PLACEHOLDERS = ("{requestId}", "{transactionId}")
"""The parts of a keep address that stand for the ids of a receipt."""

FILE_ID = re.compile("^[0-9a-f]{24}$")

MAX_INTEGER = 2**53 - 1  # RFC 7493: what every reader of JSON can hold

NO_CONTROLS: JsonDict = {"not": {"pattern": r"[\x00-\x1f\x7f-\x9f]"}}
NO_CONTROLS_IN_LINES: JsonDict = {"not": {"pattern": r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]"}}
_VISIBLE: JsonDict = {"pattern": r"\S", **NO_CONTROLS}
_URI: JsonDict = {"format": "uri"}
_CONTACT: JsonDict = {
    "description": "An @username of Telegram, an email address, or a link of the web.",
    "allOf": [
        {
            "anyOf": [
                {"pattern": f"^{contacts.USERNAME.pattern}$"},
                {"format": "email"},
                {"pattern": r"^[Hh][Tt][Tt][Pp][Ss]?://\S"},
            ]
        }
    ],
    "examples": ["@anna_bakes", "anna@example.org", "https://example.org"],
}
_REQUEST, _TRANSACTION = map(re.escape, KEEP_URL_PLACEHOLDERS)
_KEEP_ADDRESS: JsonDict = {
    "pattern": f"^[Hh][Tt][Tt][Pp][Ss]?://.*({_REQUEST}.*{_TRANSACTION}|{_TRANSACTION}.*{_REQUEST})"
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


def has_controls(text: str) -> bool:
    """True if a text has a C0 or C1 control character or DEL."""
    return any(char < " " or "\x7f" <= char <= "\x9f" for char in text)


def check_plain(text: str) -> str:
    """Return the text. Raises ValueError if it has control characters."""
    if has_controls(text):
        raise ValueError("has control characters")
    return text


def check_lines(text: str) -> str:
    """Return a text that may have several lines: line feeds, also after carriage returns.

    Raises ValueError for other control characters.
    """
    check_plain(text.replace("\r", "").replace("\n", ""))
    return text


def _not_too_many(listed: Any) -> Any:
    """Refuse too many codes before they are read: a problem for each would take seconds."""
    if isinstance(listed, list) and len(listed) > contents.MOST_CODES:
        raise ValueError(contents.TOO_MANY)
    return listed


def _codes(listed: list[str]) -> list[str]:
    return [*contents.check_codes(enumerate(listed, 1), "number")]


def _file_id(text: str) -> str:
    if not FILE_ID.fullmatch(text):
        raise ValueError("is no file of this application")
    return text


def _visible(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return check_plain(text)


def _visible_lines(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return check_lines(text)


def _integer(value: Any) -> Any:
    """Convert 5.0 to 5: JSON has one type of number."""
    if isinstance(value, Decimal) and value.copy_abs() <= MAX_INTEGER and value == int(value):
        return int(value)
    return value


def _keep_url(url: str) -> str:
    if any(placeholder not in url for placeholder in KEEP_URL_PLACEHOLDERS):
        raise ValueError(f"must have {' and '.join(KEEP_URL_PLACEHOLDERS)} in it")
    filled = url
    for placeholder in KEEP_URL_PLACEHOLDERS:
        filled = filled.replace(placeholder, "0" * 24)
    links.check_picture(filled)
    return url


def _amount(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError("must be a number, not a string or anything else")  # noqa: TRY004 - pydantic reads ValueError
    return Decimal(value)


def _currency(code: str) -> str:
    try:
        amounts.exponent(code)
    except errors.MoneyError as error:
        raise ValueError(str(error)) from None
    return code


def _email(text: str) -> str:
    if contacts.ascii_address(text) is None:
        raise ValueError("is no email address")
    return text


def _parameters(value: dict[str, Any]) -> dict[str, Any]:
    if any(map(has_controls, _keys(value))):
        raise ValueError("has control characters in a key")
    if len(exact_json.dumps(value).encode()) > MAX_PARAMETERS:
        raise ValueError(f"is larger than {MAX_PARAMETERS} bytes")
    return value


def _keys(value: Any) -> list[str]:
    """Return the keys at every level."""
    if isinstance(value, list):
        return [key for inner in value for key in _keys(inner)]
    if isinstance(value, dict):
        return [*value, *(key for inner in value.values() for key in _keys(inner))]
    return []


def _moment(value: Any) -> int:
    if not isinstance(value, str):
        raise ValueError("must be a time such as 2027-01-31T18:00:00Z")  # noqa: TRY004 - pydantic reads ValueError
    try:
        read = datetime.fromisoformat(value.upper())
    except ValueError:
        raise ValueError("must be a time such as 2027-01-31T18:00:00Z") from None
    if read.tzinfo is None:
        raise ValueError("must have a time zone: add Z for UTC, or an offset")
    try:
        return (read.astimezone(UTC) - _EPOCH) // _MS
    except OverflowError:
        raise ValueError("is outside the years 1 to 9999") from None


def iso(at: int) -> str:
    """Write a time in epoch ms as ISO 8601 in UTC, as JavaScript writes it."""
    return (_EPOCH + at * _MS).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_or_none(at: int | None) -> str | None:
    """Write a time that may be missing."""
    return None if at is None else iso(at)


Name: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=MAX_NAME, json_schema_extra=_VISIBLE),
    AfterValidator(_visible),
]
Destination: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=MAX_DESTINATION, json_schema_extra=_VISIBLE),
    AfterValidator(_visible),
]
Tag: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=MAX_TAG, json_schema_extra=_VISIBLE),
    AfterValidator(_visible),
]
Text: TypeAlias = Annotated[
    str,
    Field(max_length=MAX_TEXT, json_schema_extra=NO_CONTROLS_IN_LINES),
    AfterValidator(check_lines),
]
PictureUrl: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=MAX_URL, json_schema_extra=_URI),
    AfterValidator(links.check_picture),
]
Contact: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=contacts.LONGEST_CONTACT, json_schema_extra=_CONTACT),
    AfterValidator(contacts.check_contact),
]
AccentColor: TypeAlias = Annotated[
    str, AfterValidator(request.check_accent), Field(json_schema_extra={"enum": [*brand.COLOURS]})
]
About: TypeAlias = Annotated[
    str,
    Field(max_length=request.LONGEST_ABOUT, json_schema_extra=NO_CONTROLS),
    AfterValidator(check_plain),
]
RedirectUrl: TypeAlias = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_URL,
        description=(
            "Where payers go after payment, with `transactionId` added to the query. With a"
            " `delivery` or `thanks` they see their receipt first, which has a link there."
        ),
        json_schema_extra=_URI,
    ),
    AfterValidator(links.check_redirect),
]
KeepUrl: TypeAlias = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_KEEP_URL,
        examples=["https://t.me/shop_bot?start=r-{requestId}-{transactionId}"],
        json_schema_extra=_KEEP_ADDRESS,
    ),
    AfterValidator(_keep_url),
]
DeliveredText: TypeAlias = Annotated[
    str,
    Field(
        min_length=1,
        max_length=contents.LONGEST_TEXT,
        json_schema_extra={"pattern": r"\S", **NO_CONTROLS_IN_LINES},
    ),
    AfterValidator(_visible_lines),
]
_A_CODE: JsonDict = {
    "pattern": r"\S",
    "not": {"pattern": r"[\x00-\x08\x0a-\x1f\x7f-\x9f]"},
    "examples": ["AAAA-1111"],
}
Codes: TypeAlias = Annotated[
    list[
        Annotated[
            str, Field(min_length=1, max_length=contents.LONGEST_CODE, json_schema_extra=_A_CODE)
        ]
    ],
    Field(
        min_length=1,
        description=f"At most {contents.MOST_CODES}, one line each, without repeats.",
        json_schema_extra={"uniqueItems": True},
    ),
    BeforeValidator(_not_too_many),
    AfterValidator(_codes),
]
FileId: TypeAlias = Annotated[
    str, AfterValidator(_file_id), Field(json_schema_extra={"pattern": FILE_ID.pattern})
]
WebhookUrl: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=MAX_URL, json_schema_extra=_URI)
]
Email: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=contacts.LONGEST_ADDRESS, json_schema_extra={"format": "email"}),
    AfterValidator(_email),
]
Units: TypeAlias = Annotated[int, Field(ge=1, le=MAX_TOTAL_UNITS), BeforeValidator(_integer)]
Quantity: TypeAlias = Annotated[int, Field(ge=1, le=MAX_QUANTITY), BeforeValidator(_integer)]
Seconds: TypeAlias = Annotated[int, Field(ge=1, le=MAX_SECONDS), BeforeValidator(_integer)]
Whole: TypeAlias = Annotated[int, Field(ge=1, le=MAX_INTEGER), BeforeValidator(_integer)]
Amount: TypeAlias = Annotated[
    Decimal,
    BeforeValidator(_amount),
    WithJsonSchema(
        {"type": "number", "exclusiveMinimum": 0, "maximum": amounts.MAX_AMOUNT, "examples": [5]}
    ),
]
Currency: TypeAlias = Annotated[
    str, AfterValidator(_currency), Field(json_schema_extra={"enum": sorted(amounts.currencies())})
]
Parameters: TypeAlias = Annotated[
    dict[str, Any],
    AfterValidator(_parameters),
    Field(json_schema_extra={"propertyNames": NO_CONTROLS}),
]
Moment: TypeAlias = Annotated[
    int, BeforeValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})
]
