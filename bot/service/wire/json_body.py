"""Reading JSON that neither loses a digit nor lets nonsense in (RFC 8259 and I-JSON, RFC 7493)."""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from bot.core import exact_json
from bot.core.errors import InvalidBody

MAX_DEPTH = 32


def loads(text: str) -> Any:
    """Read JSON, its decimals as Decimal.

    Raises InvalidBody for what is no JSON, NaN and Infinity, a key given twice, a lone
    surrogate, numbers beyond every machine, and nesting deeper than `MAX_DEPTH`.
    """
    try:
        value = json.loads(
            text, parse_float=Decimal, parse_constant=_refuse, object_pairs_hook=_object
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InvalidBody(f"The body is not valid JSON: {error.msg} at {where}.") from None
    except (ValueError, InvalidOperation):
        raise InvalidBody("The body holds a number too long to be meant.") from None
    except RecursionError:
        raise InvalidBody(_TOO_DEEP) from None
    if _may_be_unsound(text):
        _check(value, 1)
    return value


def _may_be_unsound(text: str) -> bool:
    """Whether a look at the text leaves open that it is nested too deep or has half a character.

    Text that came as UTF-8 can have the latter only by an escape.
    """
    return text.count("{") + text.count("[") > MAX_DEPTH or "\\ud" in text.lower()


_TOO_DEEP = f"The body is nested deeper than {MAX_DEPTH} levels."


def _refuse(name: str) -> NoReturn:
    raise InvalidBody(f"{name} is not a JSON number.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise InvalidBody(f"The field {name[:100]!a} is given twice.")
        found[name] = value
    return found


def _check(value: Any, depth: int) -> None:
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, dict | list):
        if depth > MAX_DEPTH:
            raise InvalidBody(_TOO_DEEP)
        for name in value if isinstance(value, dict) else ():
            _check_text(name)
        for inner in value.values() if isinstance(value, dict) else value:
            _check(inner, depth + 1)


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidBody("The body holds half of a surrogate pair.") from None


def canonical(value: Any) -> str:
    """Write JSON so that equal values give equal texts, whatever order their fields came in."""
    return exact_json.dumps(_sorted(value))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(inner) for inner in value] if isinstance(value, list) else value
