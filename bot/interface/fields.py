"""The fields of bodies: their bounds, and their types with checks and JSON schema.

Bounds that no standard sets are our own, because the interface leaves them open (section 8).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from bot.core import brand, errors, exact_json
from bot.core.money import amounts
from bot.core.text import contacts, links, sanitize
from bot.interface import parts, vocabulary

H = TypeVar("H", bound=Hashable)

# Texts.


MAX_NAME = 100
"""Characters of a product's or a seller's name."""

MAX_TEXT = 500
"""Characters of a description, and of the words of thanks."""

MAX_ABOUT = 160
"""Characters of the line about a seller."""

MAX_DELIVERED_TEXT = 4_000
"""Characters of a text that payers get."""

MAX_NOTE = 200
"""Characters of a note for the payer, such as a tracking number."""

MAX_PAYER_NAME, MAX_PAYER_MESSAGE = 80, 280
"""Characters of a payer's words."""

MAX_FILE_NAME = 200
"""Characters of the name of an uploaded file."""

MAX_DESTINATION, MAX_TAG = 512, 100
"""Characters of a receiver's destination and of a tag."""

CONTROLS = r"[\x00-\x1f\x7f-\x9f]"
"""C0 and C1 control characters and DEL."""

NO_CONTROLS: JsonDict = {"not": {"pattern": CONTROLS}}
NO_CONTROLS_IN_LINES: JsonDict = {"not": {"pattern": r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]"}}
_VISIBLE: JsonDict = {"pattern": r"\S"}


def has_controls(text: str) -> bool:
    """True if a text has a control character."""
    return re.search(CONTROLS, text) is not None


def check_plain(text: str) -> str:
    """Return the text. Raises ValueError if it has control characters."""
    if has_controls(text):
        raise ValueError("has control characters")
    return text


def _check_lines(text: str) -> str:
    """Return a text that may have several lines: line feeds, also after carriage returns."""
    check_plain(text.replace("\r", "").replace("\n", ""))
    return text


def _must(is_valid: Callable[[str], object], message: str) -> AfterValidator:
    """Return the check of a text, which raises ValueError if it is not valid."""

    def check(text: str) -> str:
        if not is_valid(text):
            raise ValueError(message)
        return text

    return AfterValidator(check)


_BE_VISIBLE = _must(str.strip, "is empty")


def _in_order(text: Any) -> Any:
    """Remove what reorders the words around a text; another type is refused later."""
    return sanitize.in_order(text) if isinstance(text, str) else text


Name: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=MAX_NAME, json_schema_extra=_VISIBLE | NO_CONTROLS),
    _BE_VISIBLE,
    AfterValidator(check_plain),
    BeforeValidator(_in_order),
]
Destination: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=MAX_DESTINATION, json_schema_extra=_VISIBLE | NO_CONTROLS),
    _BE_VISIBLE,
    AfterValidator(check_plain),
]
Tag: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=MAX_TAG, json_schema_extra=_VISIBLE | NO_CONTROLS),
    _BE_VISIBLE,
    AfterValidator(check_plain),
]
Text: TypeAlias = Annotated[
    str,
    Field(max_length=MAX_TEXT, json_schema_extra=NO_CONTROLS_IN_LINES),
    AfterValidator(_check_lines),
    BeforeValidator(_in_order),
]
About: TypeAlias = Annotated[
    str,
    Field(max_length=MAX_ABOUT, json_schema_extra=NO_CONTROLS),
    AfterValidator(check_plain),
    BeforeValidator(_in_order),
]
DeliveredText: TypeAlias = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_DELIVERED_TEXT,
        json_schema_extra=_VISIBLE | NO_CONTROLS_IN_LINES,
    ),
    _BE_VISIBLE,
    AfterValidator(_check_lines),
]
Note: TypeAlias = Annotated[
    str,
    Field(max_length=MAX_NOTE, json_schema_extra=NO_CONTROLS_IN_LINES),
    AfterValidator(_check_lines),
    BeforeValidator(_in_order),
]

# Addresses, contacts and colours.


MAX_KEEP_URL = 512
KEEP_URL_PLACEHOLDERS = ("{requestId}", "{transactionId}")
"""The parts of a keep address that stand for the ids of a receipt."""

_URI: JsonDict = {"format": "uri"}
_REQUEST, _TRANSACTION = map(re.escape, KEEP_URL_PLACEHOLDERS)
_KEEP_ADDRESS: JsonDict = {
    "pattern": f"^[Hh][Tt][Tt][Pp][Ss]?://.*({_REQUEST}.*{_TRANSACTION}|{_TRANSACTION}.*{_REQUEST})"
}
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


def _check_keep_url(url: str) -> str:
    if any(placeholder not in url for placeholder in KEEP_URL_PLACEHOLDERS):
        raise ValueError(f"must have {' and '.join(KEEP_URL_PLACEHOLDERS)} in it")
    filled = url
    for placeholder in KEEP_URL_PLACEHOLDERS:
        filled = filled.replace(placeholder, "0" * 24)
    links.check_picture(filled)
    return url


PictureUrl: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=links.LONGEST_URL, json_schema_extra=_URI),
    AfterValidator(links.check_picture),
]
RedirectUrl: TypeAlias = Annotated[
    str,
    Field(
        min_length=1,
        max_length=links.LONGEST_URL,
        description=(
            "Where payers go after payment, with `transactionId` added to the query; one that is"
            " there is replaced. With a `delivery` or `thanks` they see their receipt first, which"
            " has a link there."
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
    AfterValidator(_check_keep_url),
]
WebhookUrl: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=links.LONGEST_URL, json_schema_extra=_URI)
]
Email: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=contacts.LONGEST_ADDRESS, json_schema_extra={"format": "email"}),
    _must(contacts.ascii_address, "is no email address"),
]
Contact: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=contacts.LONGEST_CONTACT, json_schema_extra=_CONTACT),
    AfterValidator(contacts.check_contact),
]
AccentColor: TypeAlias = Annotated[
    str,
    _must(brand.COLOURS.__contains__, f"must be one of {', '.join(brand.COLOURS)}"),
    Field(json_schema_extra={"enum": [*brand.COLOURS]}),
]

# Ids.


ID_PATTERN = "^[0-9a-f]{24}$"
DELIVERY_ID_PATTERN = "^(webhook|email)-[0-9a-f]{28}$"
OWNER_PATTERN = f"^{vocabulary.OWNERS.pattern}$"

IdempotencyKey: TypeAlias = Annotated[str, Field(min_length=1, max_length=255)]
FileId: TypeAlias = Annotated[
    str,
    _must(re.compile(ID_PATTERN).fullmatch, "is no file of this application"),
    Field(json_schema_extra={"pattern": ID_PATTERN}),
]
Owner: TypeAlias = Annotated[
    str,
    _must(vocabulary.OWNERS.fullmatch, "must have 1 to 64 of A-Z, a-z, 0-9, _ and -"),
    Field(json_schema_extra={"pattern": OWNER_PATTERN}),
]

# Numbers, amounts and currencies.


MAX_QUANTITY = 100
"""Units that a payer may take at once."""

MAX_TOTAL_UNITS = 1_000_000
MAX_SECONDS = 315_360_000
"""Ten years."""

MAX_INTEGER = 2**53 - 1
"""What every reader of JSON can hold (RFC 7493)."""


def _whole(value: Any) -> Any:
    """Convert 5.0 to 5: JSON has one type of number."""
    if isinstance(value, Decimal) and value.copy_abs() <= MAX_INTEGER and value == int(value):
        return int(value)
    return value


def _number(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError("must be a number, not a string or anything else")  # noqa: TRY004 - pydantic reads ValueError
    return Decimal(value)


def _check_currency(code: str) -> str:
    try:
        amounts.exponent(code)
    except errors.MoneyError as error:
        raise ValueError(str(error)) from None
    return code


Units: TypeAlias = Annotated[int, Field(ge=1, le=MAX_TOTAL_UNITS), BeforeValidator(_whole)]
Quantity: TypeAlias = Annotated[int, Field(ge=1, le=MAX_QUANTITY), BeforeValidator(_whole)]
Seconds: TypeAlias = Annotated[int, Field(ge=1, le=MAX_SECONDS), BeforeValidator(_whole)]
Whole: TypeAlias = Annotated[int, Field(ge=1, le=MAX_INTEGER), BeforeValidator(_whole)]
Amount: TypeAlias = Annotated[
    Decimal,
    BeforeValidator(_number),
    WithJsonSchema(
        {"type": "number", "exclusiveMinimum": 0, "maximum": amounts.MAX_AMOUNT, "examples": [5]}
    ),
]
Currency = TypeAliasType(
    "Currency",
    Annotated[
        str,
        AfterValidator(_check_currency),
        Field(
            description="Codes of ISO 4217 that are in use, and others that sellers price in.",
            json_schema_extra={"enum": sorted(amounts.currencies())},
        ),
    ],
)
"""A type of its own, so that the document lists the codes once."""

# Times, which bodies give in ISO 8601 and the model has in epoch ms.


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


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


Moment: TypeAlias = Annotated[
    int,
    BeforeValidator(_moment),
    PlainSerializer(iso_or_none),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]

# Lists and objects.


MAX_RECEIVERS, MAX_TAGS = 1000, 20
MAX_PARAMETERS = 8 * 1024
"""Bytes of JSON."""


def check_distinct(values: list[H]) -> list[H]:
    """Return the list. Raises ValueError if it has a value twice."""
    if len(set(values)) < len(values):
        raise ValueError("names one twice")
    return values


def _check_parameters(value: dict[str, Any]) -> dict[str, Any]:
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


def _not_too_many(listed: Any) -> Any:
    """Refuse too many codes before they are read: a problem for each would take seconds."""
    if isinstance(listed, list) and len(listed) > parts.MOST_CODES:
        raise ValueError(parts.TOO_MANY)
    return listed


def _check_codes(listed: list[str]) -> list[str]:
    return [*parts.check_codes(enumerate(listed, 1), "number")]


def _event(value: Any) -> Any:
    if value not in [*vocabulary.WebhookEvent]:
        raise ValueError(f"must be one of {', '.join(vocabulary.WebhookEvent)}")
    return vocabulary.WebhookEvent(value)


def _method(value: Any) -> Any:
    if value != vocabulary.ON_CHAIN:
        named = str(value)[:MAX_NAME]
        raise ValueError(
            f"must be {vocabulary.ON_CHAIN}: {named!r} is no payment method of this service"
        )
    return value


Parameters: TypeAlias = Annotated[
    dict[str, Any],
    AfterValidator(_check_parameters),
    Field(json_schema_extra={"propertyNames": NO_CONTROLS}),
]
_CODE: JsonDict = {
    **_VISIBLE,
    "not": {"pattern": parts.CONTROLS.pattern},
    "examples": ["AAAA-1111"],
}
Codes: TypeAlias = Annotated[
    list[
        Annotated[str, Field(min_length=1, max_length=parts.LONGEST_CODE, json_schema_extra=_CODE)]
    ],
    Field(
        min_length=1,
        description=f"At most {parts.MOST_CODES}, one line each, without repeats.",
        json_schema_extra={"uniqueItems": True},
    ),
    BeforeValidator(_not_too_many),
    AfterValidator(_check_codes),
]
Events: TypeAlias = Annotated[
    list[
        Annotated[
            vocabulary.WebhookEvent,
            BeforeValidator(_event),
            WithJsonSchema({"type": "string", "enum": [*vocabulary.WebhookEvent]}),
        ]
    ],
    AfterValidator(check_distinct),
    Field(min_length=1, json_schema_extra={"uniqueItems": True}),
]
PayerFields: TypeAlias = Annotated[
    list[vocabulary.PayerField],
    AfterValidator(check_distinct),
    Field(json_schema_extra={"uniqueItems": True}),
]
Method: TypeAlias = Annotated[Literal["onChain"], BeforeValidator(_method)]
Shop: TypeAlias = Annotated[
    dict[str, Any],
    AfterValidator(_check_parameters),
    Field(
        description="What HandCash Cloud's clients say about their shop; answered as it was sent.",
        json_schema_extra={"propertyNames": NO_CONTROLS},
    ),
]
