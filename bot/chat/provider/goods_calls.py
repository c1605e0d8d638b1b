"""The calls about what buyers get, which only the embedded service has: files and codes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import httpx

from bot.chat.model.goods import CodeCounts
from bot.core import errors

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

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
    def in_all(self) -> CodeCounts:
        """Return the counts as the request's answer has them."""
        return CodeCounts(self.total, self.assigned, self.waiting)


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
