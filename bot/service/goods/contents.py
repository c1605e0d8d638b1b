"""Rules for goods: file names, lists of codes, and the goods of each unit of a payment."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote

from bot.core.text import sanitize
from bot.interface import fields, parts, vocabulary
from bot.service.requests.request import Payment, PaymentRequest

# Names and media types of files.


UNKNOWN_TYPE = "application/octet-stream"

MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,62}/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}")
"""A type and subtype (RFC 6838, section 4.2)."""

OF_CLIENTS = frozenset({"application/x-www-form-urlencoded"})
"""Types that clients send if the user named none."""

PATH_PARTS = frozenset("/\\")
FOLDERS = frozenset({".", ".."})
HIDING = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories of characters that break a line, or make a name look like another."""

REFUSED_IN_QUOTES = re.compile(r"[^ !#$&\'()+,\-.0-9;=@A-Z\[\]^_`a-z{}~]")
"""Characters that the plain form of a name leaves out (RFC 6266, appendix D)."""


def check_name(name: str) -> str:
    """Return the name of a file without the spaces around it. Raises ValueError."""
    stripped = name.strip()
    if not stripped:
        raise ValueError("is empty")
    if len(stripped) > fields.MAX_FILE_NAME:
        raise ValueError(f"has more than {fields.MAX_FILE_NAME} characters")
    if PATH_PARTS.intersection(stripped) or stripped in FOLDERS:
        raise ValueError("must be a name without a path")
    if any(unicodedata.category(char) in HIDING for char in stripped):
        raise ValueError("has characters that can't be seen")
    return stripped


def read_media_type(header: str) -> str:
    """Return the media type of a Content-Type header, UNKNOWN_TYPE if it can't be used."""
    named = header.partition(";")[0].strip().lower()
    known = MEDIA_TYPE.fullmatch(named) and named not in OF_CLIENTS
    return named if known else UNKNOWN_TYPE


def disposition(name: str) -> str:
    """Return the Content-Disposition of a download (RFC 6266), with the name in RFC 8187 too."""
    letters = unicodedata.normalize("NFKD", name)
    bare = "".join(char for char in letters if not unicodedata.combining(char))
    plain = REFUSED_IN_QUOTES.sub("_", bare)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


# The part of a file that a Range header requests (RFC 9110, section 14).

ONE_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")


class Unsatisfiable(ValueError):
    """A range that begins after the end of the file."""


def read_range(header: str | None, size: int) -> range | None:
    """Return the range of bytes that a header requests, None for the whole file.

    Headers that are malformed or have several ranges get the whole file, because a server may
    ignore the header. Raises Unsatisfiable.
    """
    found = ONE_RANGE.fullmatch(header.replace(" ", "")) if header else None
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:  # the last bytes
        first, last = max(0, size - int(found[2])), size - 1
        if not int(found[2]):
            raise Unsatisfiable
    else:
        first, last = int(found[1]), min(int(found[2] or size), size - 1)
        if found[2] and int(found[2]) < first:
            return None
    if first >= size:
        raise Unsatisfiable
    return range(first, last + 1)


# Lists of codes from sellers: one code per line, no repeats. Problems give line numbers and never a
# code, because codes are worth money and refusals end up in logs.


NOT_TEXT = "is not UTF-8 text"


def _bounded(begun: str) -> str:
    """Return the start of a line, including the spaces that affect whether its code is valid."""
    code = begun.strip()
    return code + begun[len(begun.rstrip()) :][: parts.LONGEST_CODE + 1] if code else ""


class CodeFile:
    """The codes of a text file that is read in parts; blank lines are dropped."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._rest = ""
        self._lines: list[tuple[int, str]] = []
        self._number = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes. Raises CodesProblem as soon as the file can't be accepted."""
        self._take(self._decode(data), final=False)

    def finish(self) -> tuple[str, ...]:
        """Return the codes of the whole file. Raises CodesProblem."""
        self._take(self._decode(b"", final=True), final=True)
        return parts.check_codes(self._lines)

    def _decode(self, data: bytes, *, final: bool = False) -> str:
        try:
            return self._decoder.decode(data, final)
        except UnicodeDecodeError:
            raise parts.CodesProblem(NOT_TEXT) from None

    def _take(self, text: str, *, final: bool) -> None:
        text = self._rest + text
        half = "\r" if text.endswith("\r") and not final else ""  # perhaps of a CR LF
        lines = sanitize.lines(text.removesuffix(half)).split("\n")
        self._rest = "" if final else _bounded(lines.pop()) + half
        for line in lines:
            self._number += 1
            if line.strip():
                self._lines.append((self._number, line))
        if len(self._lines) > parts.MOST_CODES:
            raise parts.CodesProblem(parts.TOO_MANY)
        if len(self._rest.strip()) > parts.LONGEST_CODE:
            long = f"line {self._number + 1} has more than {parts.LONGEST_CODE} characters"
            raise parts.CodesProblem(long)


# What a payer gets: text, a file, or the codes of the paid units.
#
# A unit gets the goods that its request delivers when the unit is sold. An edit changes the goods
# for units that are sold later, and for units that still wait for a code. A text or a file that
# replaces another is a correction: every unit that has the old text or file gets the new one.

MOST_CODES_OF_REQUEST = 100_000
"""Codes that a request may have, including sold codes."""

MOST_CODES_OF_SELLER = 1_000_000
"""Codes that all requests of a seller may have, including deleted requests."""


@dataclass(frozen=True, slots=True)
class Goods:
    """The goods that an application wants to deliver."""

    kind: vocabulary.DeliveryKind
    text: str | None = None
    file_id: str | None = None
    codes: tuple[str, ...] = ()

    codes_file: str | None = None
    """Id of a file that lists the codes."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An uploaded file; `size` in bytes."""

    id: str
    name: str
    media_type: str
    size: int


@dataclass(frozen=True, slots=True)
class CodeCounts:
    """How many codes a request has."""

    total: int

    assigned: int
    """Codes of sold units."""

    waiting: int
    """Sold units that wait for a code."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """The goods of some units of a request."""

    last_unit: int | None
    """The number of the last unit, None if all later units get the same."""

    kind: vocabulary.DeliveryKind | None
    text: str | None = None
    file_id: str | None = None


@dataclass(frozen=True, slots=True)
class Received:
    """The goods that the holder of a payment may see."""

    text: str | None = None
    file: StoredFile | None = None
    codes: tuple[str, ...] = ()

    waiting: int = 0
    """Units that get their codes later."""

    @property
    def progress(self) -> vocabulary.DeliveryProgress:
        return (
            vocabulary.DeliveryProgress.WAITING
            if self.waiting
            else vocabulary.DeliveryProgress.DELIVERED
        )


Share: TypeAlias = tuple[range, Delivered]
"""Some units of a payment and their goods."""


def shares(payment: Payment, delivered: Sequence[Delivered]) -> list[Share]:
    """Return the goods of a payment's units; [] if it took no units or was paid back.

    `delivered` is in the order of the units; the last entry is what the request delivers now.
    """
    if payment.first_unit is None or not payment.took_unit or payment.marks.paid_back_at:
        return []
    first, end = payment.first_unit, payment.first_unit + payment.quantity
    found = []
    for one in delivered:
        until = end if one.last_unit is None else min(end, one.last_unit + 1)
        if first < until and one.kind is not None:
            found.append((range(first, until), one))
        first = max(first, until)
    return found


def progress(
    payment: Payment, delivered: Sequence[Delivered], codes_count: int
) -> vocabulary.DeliveryProgress | None:
    """Return whether a payer has received everything, None if nothing is delivered."""
    found = shares(payment, delivered)
    if not found:
        return None
    waits = any(
        one.kind is vocabulary.DeliveryKind.CODES and units[-1] > codes_count
        for units, one in found
    )
    return vocabulary.DeliveryProgress.WAITING if waits else vocabulary.DeliveryProgress.DELIVERED


def served(request: PaymentRequest) -> int:
    """Return the number of the last unit that has got its goods."""
    if request.delivers is vocabulary.DeliveryKind.CODES:
        return min(request.paid_count, request.codes_count)
    return request.paid_count


def count_codes(request: PaymentRequest) -> CodeCounts:
    """Return how many codes a request that delivers codes has."""
    skipped = request.codes_skipped
    return CodeCounts(
        total=request.codes_count - skipped,
        assigned=max(0, min(request.paid_count, request.codes_count) - skipped),
        waiting=max(0, request.paid_count - request.codes_count),
    )
