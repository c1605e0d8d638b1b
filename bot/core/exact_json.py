"""JSON with exact numbers (Decimal instead of float); all JSON is read here."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import partial
from typing import Any, NoReturn

import simplejson

MAX_DEPTH = 100
"""Levels of nesting: far more than any update from Telegram has, and far below the thousand levels
at which serializing fails."""

STORED_DEPTH = 2 * MAX_DEPTH
"""Levels of nesting in the database: our objects may contain JSON that others sent."""

MAX_SIZE = 64 * 1024 * 1024
"""In characters; code that receives bodies over the network has much lower limits."""

_make_writer = partial(
    simplejson.JSONEncoder,
    use_decimal=True,
    ensure_ascii=False,
    separators=(",", ":"),
    namedtuple_as_object=False,  # it looks for `_asdict` in each value
)
_WRITER, _ORDERED_WRITER = _make_writer(), _make_writer(sort_keys=True)


class JsonError(ValueError):
    """Text that is not JSON, or JSON beyond the limits; the message is a sentence."""


def dumps(value: Any, writer: simplejson.JSONEncoder = _WRITER) -> str:
    """Write JSON; a Decimal becomes a number with all of its digits.

    A lone surrogate, which is allowed in JSON but not in UTF-8, stays an escape.
    """
    return str(writer.encode(value)).encode("utf-8", "backslashreplace").decode()


def canonical(value: Any) -> str:
    """Write JSON so that equal values have equal texts, whatever the order of their fields."""
    return dumps(value, _ORDERED_WRITER)


def loads(text: str | bytes, *, depth: int = MAX_DEPTH, strict: bool = False) -> Any:
    """Read JSON (RFC 8259), decimals as Decimal.

    `strict` rejects repeated names and lone surrogates, as I-JSON does (RFC 7493). Raises
    JsonError, including for NaN, Infinity and out-of-range numbers.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode(json.detect_encoding(text), "surrogatepass")
        except UnicodeDecodeError:
            raise JsonError("The JSON is not valid UTF-8.") from None
    if len(text) > MAX_SIZE:
        raise JsonError(f"The JSON is longer than {MAX_SIZE} characters.")
    try:
        value = (_STRICT_READER if strict else _READER).decode(text)
        if text.count("{") + text.count("[") > depth:
            _check_depth(value, depth)
        if strict and "\\ud" in text.lower():
            _WRITER.encode(value).encode()
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise JsonError(f"The JSON is not valid: {error.msg} at {where}.") from None
    except JsonError:
        raise
    except UnicodeEncodeError:
        raise JsonError("The JSON holds half of a surrogate pair.") from None
    except (ValueError, ArithmeticError):
        raise JsonError("The JSON holds a number that is out of range.") from None
    except RecursionError:
        raise JsonError(f"The JSON is nested deeper than {depth} levels.") from None
    return value


def _check_depth(value: Any, left: int) -> None:
    if type(value) in (dict, list):
        if not left:
            raise RecursionError
        for inner in value.values() if type(value) is dict else value:
            _check_depth(inner, left - 1)


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
