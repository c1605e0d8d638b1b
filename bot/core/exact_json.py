"""JSON with exact numbers: Decimal in, Decimal out, never a float.

The only reader of JSON in the project, with one set of limits: what a server, a browser or Telegram
sends and what the database holds are read here alike.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NoReturn

import simplejson

MAX_DEPTH = 100
"""Levels of nesting: far beyond any update of Telegram's, and far below the thousand at which
writing the value again would fail."""

MAX_SIZE = 64 * 1024 * 1024
"""Characters. Whoever receives a body over the network has a much lower limit of its own."""

_WRITER = simplejson.JSONEncoder(use_decimal=True, ensure_ascii=False, separators=(",", ":"))


class JsonError(ValueError):
    """Text that is no JSON, or JSON beyond the limits; its message is a sentence."""


def dumps(value: Any) -> str:
    """Write JSON; a Decimal becomes a number with the digits that it has.

    A lone surrogate, which JSON can carry and UTF-8 can't, stays an escape.
    """
    return str(_WRITER.encode(value)).encode("utf-8", "backslashreplace").decode()


def canonical(value: Any) -> str:
    """Write JSON so that equal values have equal texts, in whatever order their fields came."""
    return dumps(_sorted(value))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(inner) for inner in value] if isinstance(value, list) else value


def loads(text: str | bytes, *, depth: int = MAX_DEPTH, strict: bool = False) -> Any:
    """Read JSON (RFC 8259), its decimals as Decimal.

    `strict` also refuses what I-JSON (RFC 7493) does: a name given twice and lone surrogates.
    Raises JsonError, for NaN, Infinity and numbers out of range too.
    """
    if isinstance(text, bytes):
        text = _text_of(text)
    if len(text) > MAX_SIZE:
        raise JsonError(f"The JSON is longer than {MAX_SIZE} characters.")
    try:
        value = (_STRICT_READER if strict else _READER).decode(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise JsonError(f"The JSON is not valid: {error.msg} at {where}.") from None
    except JsonError:
        raise
    except (ValueError, ArithmeticError):
        raise JsonError("The JSON holds a number that is out of range.") from None
    except RecursionError:
        raise JsonError(_too_deep(depth)) from None
    if text.count("{") + text.count("[") > depth and _is_deeper(value, depth):
        raise JsonError(_too_deep(depth))
    if strict and "\\ud" in text.lower() and not _is_unicode(value):
        raise JsonError("The JSON holds half of a surrogate pair.")
    return value


def _text_of(data: bytes) -> str:
    try:
        return data.decode(json.detect_encoding(data), "surrogatepass")
    except UnicodeDecodeError:
        raise JsonError("The JSON is not valid UTF-8.") from None


def _too_deep(depth: int) -> str:
    return f"The JSON is nested deeper than {depth} levels."


def _is_deeper(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) in (dict, list)
        ]
        if not level:
            return False
    return True


def _is_unicode(value: Any) -> bool:
    try:
        _WRITER.encode(value).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise JsonError(f"{name} is not a JSON number.")


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise JsonError(f"The field {name[:100]!a} is given twice.")
        found[name] = value
    return found


_READER = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse_constant)
_STRICT_READER = json.JSONDecoder(
    parse_float=Decimal, parse_constant=_refuse_constant, object_pairs_hook=_object_of
)
