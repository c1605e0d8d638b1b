"""Statements and their parameters as PostgreSQL takes them: `$1` for `:name`, typed values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "[^"]*" | --[^\n]* | /\*.*?\*/ | :: | :([a-z_][a-z_0-9]*)""",
    re.DOTALL | re.VERBOSE | re.IGNORECASE,
)
"""A parameter, or what may contain a colon and is none."""

MOST_KNOWN = 2000
"""Statements whose translation is kept: the program has some 400, and a few of several lengths."""

BYTEA, BIGINT, TEXT, DOUBLE = 17, 20, 25, 701
UNKNOWN = 0
"""Types by their number in the catalogue pg_type; that of NULL is for the server to find out."""

AS_TEXT, AS_BYTES = 0, 1


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement in PostgreSQL's words, its parameters in the order of their numbers.

    `is_read`: it changes nothing.
    """

    text: bytes
    names: tuple[str, ...]
    is_read: bool


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a statement's parameters, with the type and the format of each."""

    values: list[bytes | None]
    types: tuple[int, ...]
    formats: list[int] | None


@lru_cache(MOST_KNOWN)
def translate(sql: str) -> Statement:
    """Return a statement with `$1`, `$2`, … in place of its `:name`s."""
    names: list[str] = []

    def number(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return found[0]
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    text = TOKEN.sub(number, sql)
    return Statement(text.encode(), tuple(names), sql.lstrip()[:6].upper() == "SELECT")


def bind(names: tuple[str, ...], params: Mapping[str, object]) -> Values:
    """Return the values of the named parameters; the caller may give more.

    Raises ValueError for text with a NUL, which PostgreSQL can't store.
    """
    values: list[bytes | None] = []
    types: list[int] = []
    has_bytes = False
    for name in names:
        value = params[name]
        if isinstance(value, str):
            if "\0" in value:
                raise ValueError(f"the text of :{name} contains NUL")
            values.append(value.encode())
            types.append(TEXT)
        elif isinstance(value, int):
            values.append(b"%d" % value)
            types.append(BIGINT)
        elif value is None:
            values.append(None)
            types.append(UNKNOWN)
        elif isinstance(value, float):
            values.append(repr(value).encode())
            types.append(DOUBLE)
        elif isinstance(value, bytes | bytearray | memoryview):
            values.append(bytes(value))
            types.append(BYTEA)
            has_bytes = True
        else:
            raise TypeError(f":{name} can't be a {type(value).__name__}")
    formats = [AS_BYTES if one == BYTEA else AS_TEXT for one in types] if has_bytes else None
    return Values(values, tuple(types), formats)
