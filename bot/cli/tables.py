"""Records written one by one as CSV for spreadsheets or as JSON for programs."""

from __future__ import annotations

import csv
import io
import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from bot.core import exact

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What makes a spreadsheet compute a cell that begins with it (owasp.org, CSV injection)."""

NOT_PLAIN = re.compile(r"[^\x20-\x7e]")

BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
"""By which Excel knows UTF-8; programs would take it for a part of the first name."""


class Table(Protocol):
    """A form in which records are written."""

    def line(self, record: Mapping[str, Any]) -> str:
        """Give a record as it is written, and before the first one whatever stands there."""


class Csv:
    """CSV as in RFC 4180, whose first line has the names; harmless in a spreadsheet."""

    def __init__(self, *, for_people: bool) -> None:
        self._before = BOM if for_people else ""
        self._begun = False

    def line(self, record: Mapping[str, Any]) -> str:
        """Give a line, the first time with the line of names before it."""
        names = "" if self._begun else self._before + _row(record)
        self._begun = True
        return names + _row(map(_cell, record.values()))


class Lines:
    """One JSON object a line, in printable ASCII."""

    def line(self, record: Mapping[str, Any]) -> str:
        """Give a line; amounts are numbers with the digits that they have."""
        return in_ascii(exact.dumps(record)) + "\n"


def in_ascii(text: str) -> str:
    """Give JSON in printable ASCII: what strangers gave would else steer the terminal."""
    return NOT_PLAIN.sub(lambda found: _escaped(found[0]), text)


def _row(cells: Any) -> str:
    made = io.StringIO()
    csv.writer(made).writerow(cells)
    return made.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, list):
        return "; ".join(" ".join(map(_cell, one.values())) for one in value)
    text = exact.dumps(value) if isinstance(value, dict) else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def _escaped(char: str) -> str:
    return "\\u007f" if char == "\x7f" else json.dumps(char)[1:-1]
