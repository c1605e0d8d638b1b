"""Dialects: the field names that servers use for a request's two currencies, and the price check.

HandCash's pages contradict each other, and a server may ignore a field that it doesn't know: the
request then has another price than its seller's. So the price in the answer is compared with the
spec, and if it differs, the next dialect is tried (docs/decisions/0039).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from bot.chat.model import remote_request, request_spec
from bot.core import errors
from bot.core.money import amounts

# Our addresses as a payment server gets them.


KEEP = "r-{requestId}-{transactionId}"
"""The deep link to a receipt; the service fills in the ids."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Our addresses as the server gets them: `receiver` of webhooks, `images` of pictures.

    `events` are those that the receiver asks for, empty where it gets payments alone. `bot_name`
    returns the bot's username, empty until Telegram was reached; None for another server than the
    embedded one, which alone links its receipts to the bot. `chat_page` is the address where people
    chat with the bot if that isn't Telegram.
    """

    receiver: str
    images: str
    events: tuple[str, ...] = ()
    bot_name: Callable[[], str] | None = None
    chat_page: str | None = None

    @property
    def keep(self) -> str | None:
        """Return the link that keeps a payer's receipt in Telegram, for any payment."""
        name = self.bot_name() if self.bot_name else ""
        return f"{self.chat_page or f'https://t.me/{name}'}?start={KEEP}" if name else None


# The calls about what buyers get, which only the embedded service has: files and codes.


FILES = "/v3/files"
UPLOADING = httpx.Timeout(60.0, connect=5.0)
PART = 64 * 1024
"""Bytes that are handed over at a time, so that a file is in memory once."""

ANY_TYPE = "application/octet-stream"
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}", re.ASCII)
_LONGEST_NAME = 120  # characters
_PATH_PARTS = frozenset("/\\")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that the service keeps; `size` in bytes."""

    id: str
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class AddedCodes:
    """A request's codes after some were added: `added` of them are new."""

    total: int
    added: int
    assigned: int
    waiting: int

    @property
    def in_all(self) -> request_spec.CodeCounts:
        """Return the counts as the request's answer has them."""
        return request_spec.CodeCounts(self.total, self.assigned, self.waiting)


def file_address(name: str) -> str:
    """Return the address that takes a file of this name, without what no name may have."""
    kept = "".join(char if _is_of_names(char) else "_" for char in name[-_LONGEST_NAME:])
    return f"{FILES}?{urlencode({'name': kept.strip(' .') or 'file'}, quote_via=quote)}"


def _is_of_names(char: str) -> bool:
    return char.isprintable() and char not in _PATH_PARTS


def file_headers(media_type: str, size: int, owner: str) -> dict[str, str]:
    """Return the headers of a seller's file; an unsound media type becomes that of any bytes."""
    is_sound = _MEDIA_TYPE.fullmatch(media_type) is not None
    return {
        "Content-Type": media_type if is_sound else ANY_TYPE,
        "Content-Length": str(size),
        "Owner-Ref": owner,
    }


async def parts_of(data: bytes | bytearray) -> AsyncIterator[bytes]:
    """Yield a file in parts."""
    for start in range(0, len(data), PART):
        yield bytes(data[start : start + PART])


def read_file(data: Any) -> StoredFile:
    """Parse the answer about a file. Raises BadAnswer."""
    try:
        return StoredFile(str(data["id"]), str(data["name"]), int(data["size"]))
    except (KeyError, TypeError, ValueError) as error:
        raise errors.BadAnswer("the answer is no file") from error


def read_added(data: Any) -> AddedCodes:
    """Parse the answer about added codes. Raises BadAnswer."""
    try:
        return AddedCodes(*(int(data[name]) for name in ("total", "added", "assigned", "waiting")))
    except (KeyError, TypeError, ValueError) as error:
        raise errors.BadAnswer("the answer is no count of codes") from error


@dataclass(frozen=True, slots=True)
class Dialect:
    """The names of two fields: the currency that is paid and the currency of the price.

    A server of a dialect that `has_seller` may know the field `seller`, our addition.
    """

    name: str
    instrument: str
    denomination: str
    has_seller: bool = True

    def spell(self, spec: request_spec.RequestSpec, instrument: str) -> dict[str, str]:
        """Return the currency fields of a create; an equal denomination is left out."""
        fields = {self.instrument: instrument}
        if spec.currency != instrument:
            fields[self.denomination] = spec.currency
        return fields


DIALECTS = (
    Dialect("typed", "instrumentCurrencyCode", "denominationCurrencyCode"),
    Dialect("corrected", "instrumentCurrencyCode", "currency", has_seller=False),
    Dialect("sample", "currencyCode", "denominatedIn"),
)
"""In the order of trying: the typed names of the interface and of HandCash's OpenAPI; the names of
its page "Corrected Documentation"; the names of the interface's sample call."""

_FIELDS = frozenset(name for one in DIALECTS for name in (one.instrument, one.denomination))
_WORDS = re.compile("currency|currencies|denominat", re.IGNORECASE)


def instrument_of(spec: request_spec.RequestSpec, instrument: str | None) -> str:
    """Return the currency that payers pay in; `instrument` is the operator's setting."""
    return spec.instrument or instrument or spec.currency


def dialects_to_try(
    known: str | None, spec: request_spec.RequestSpec, instrument: str
) -> tuple[Dialect, ...]:
    """Return the dialects that spell this spec differently, the `known` one first."""
    ordered = sorted(DIALECTS, key=lambda one: one.name != known)
    different: dict[tuple[tuple[str, str], ...], Dialect] = {}
    for one in ordered:
        different.setdefault(tuple(one.spell(spec, instrument).items()), one)
    return tuple(different.values())


def may_have_seller(known: str | None) -> bool:
    """Return whether a server of the `known` dialect may know the field `seller`."""
    return next((one.has_seller for one in DIALECTS if one.name == known), True)


def is_about_spelling(problem: errors.FieldProblem) -> bool:
    """Check whether a refusal may be about the names of the currency fields."""
    if problem.field:
        return problem.field.rpartition(".")[2] in _FIELDS
    return _WORDS.search(problem.message) is not None


class PriceCheck(Enum):
    """Result of comparing the price of a request with the spec."""

    RIGHT = "right"
    WRONG = "wrong"
    MISSING = "missing"


def check_price(
    answer: remote_request.RemoteRequest, spec: request_spec.RequestSpec, instrument: str
) -> PriceCheck:
    """Compare the price in a server's answer, and what payers choose from, with the spec."""
    price = answer.price
    if price is None:
        return PriceCheck.MISSING
    wished = Decimal(amounts.from_minor(spec.amount, spec.currency))
    same = Decimal(price.amount) == wished and price.currency == spec.currency
    same = same and answer.choice == spec.choice
    is_paid_as_asked = price.instrument in (None, instrument)
    return PriceCheck.RIGHT if same and is_paid_as_asked else PriceCheck.WRONG
