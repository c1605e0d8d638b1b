"""Records as CSV for spreadsheets or as JSON lines for programs."""

from __future__ import annotations

import csv
import io
import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bot.core import exact_json

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMULA = re.compile(
    r"""
    ((?: ^ | [,;|\t\r\n] )            # where a spreadsheet may begin a cell: it splits as it likes
    (?: [^\S\t\r\n] | ["\x00-\x08\x0e-\x1b\x7f\xad\u200b-\u200f\u2060-\u2064\ufeff] )* )
    (?= [-=+@\t\r\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b] )  # full-width and small too
    """,
    re.VERBOSE,
)
"""The beginning of a cell that a spreadsheet would take for a formula (owasp.org, CSV injection).

The separator of a spreadsheet depends on its language: where it is a semicolon, quotes around a
cell with commas protect nothing inside it. Spreadsheets drop blanks and quotes before a formula.
"""

NOT_PLAIN = re.compile(r"[^\x20-\x7e]")

BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
"""The mark by which Excel recognizes UTF-8; programs would read it as part of the first name."""


class Csv:
    """CSV as in RFC 4180 with a line of names first; harmless in a spreadsheet."""

    def __init__(self, *, for_people: bool) -> None:
        self._before = BOM if for_people else ""
        self._begun = False

    def line(self, record: Mapping[str, Any]) -> str:
        """Format a record as a line; the first one follows the line of names."""
        names = "" if self._begun else self._before + _row(record)
        self._begun = True
        return names + _row(map(_cell, record.values()))


class Lines:
    """One JSON object a line, in printable ASCII."""

    def line(self, record: Mapping[str, Any]) -> str:
        """Format a record as a line; amounts are numbers with all their digits."""
        return in_ascii(exact_json.dumps(record)) + "\n"


def in_ascii(text: str) -> str:
    """Escape JSON as printable ASCII: texts of strangers could steer the terminal."""
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
        return _defused("; ".join(" ".join(map(_cell, one.values())) for one in value))
    return _defused(exact_json.dumps(value) if isinstance(value, dict) else str(value))


def _defused(text: str) -> str:
    return FORMULA.sub(r"\1'", text)


def _escaped(char: str) -> str:
    return "\\u007f" if char == "\x7f" else json.dumps(char)[1:-1]
