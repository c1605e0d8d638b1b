"""JSON whose numbers stay exact: Decimal in, Decimal out, never a float."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import simplejson

_WRITER = simplejson.JSONEncoder(use_decimal=True, ensure_ascii=False, separators=(",", ":"))


def dumps(value: Any) -> str:
    """Write JSON; a Decimal becomes a number with the digits that it has.

    Half a character (a lone surrogate, which JSON can carry and UTF-8 can't) stays an escape.
    """
    return str(_WRITER.encode(value)).encode("utf-8", "backslashreplace").decode()


def loads(text: str | bytes) -> Any:
    """Read JSON; ValueError for what is none, NaN and Infinity included."""
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_refuse)
    except (RecursionError, ArithmeticError) as error:
        raise ValueError("nested too deep, or a number beyond all machines") from error


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
