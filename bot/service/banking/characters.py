"""Characters that bank formats take, and how other letters are written with them.

Banks refuse or mangle what their formats don't know, so a code has the folded text; pages show the
true one. Greek and Bulgarian follow the conversion table EPC217-08 of the European Payments
Council.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache
from pathlib import Path

SEPA = re.compile(r"[A-Za-z0-9/?:().,'+ -]")
"""The Latin character set of SEPA messages (EPC217-08, section 6.1)."""

PIX = re.compile(r"[A-Za-z0-9$%*+./: -]")
"""What banks take in the texts of a BR Code, of the EMV set "ANS"."""

SWISS = re.compile(r"[\x20-\x7e\xa0-\u017fȘșȚț€]")
"""The Latin characters of the Swiss QR code (SIX, Guidelines QR-bill 2.3, section 4.1.1)."""

_GREEK_OU = re.compile("(?<=[\u03bf\u039f])[\u03c5\u03cd]")
"""The second half of a Greek `u`: Παπαδοπούλου is Papadopoulou."""

_GERMAN = {"ä": "ae", "ö": "oe", "ü": "ue"}
_DATA = Path(__file__).with_name("letters.json")


def fold(text: str, taken: re.Pattern[str], *, german: bool = False) -> str | None:
    """Return a text on one line with only the characters `taken`, without accents if need be.

    With `german`, `ü` becomes `ue` and not `u`. Letters and digits of scripts that have no
    conversion can't be left out: the result is then None, as it is for a text without any.
    """
    parts = []
    for char in _GREEK_OU.sub("u", unicodedata.normalize("NFC", text)):
        part = _folded(char, taken, german=german)
        if part == "" and char.isalnum():
            return None
        parts.append(part or " " if not unicodedata.combining(char) else part)
    line = " ".join("".join(parts).split())
    return line if any(char.isalnum() for char in line) else None


def _folded(char: str, taken: re.Pattern[str], *, german: bool) -> str:
    """Return what a character is written as, '' if that is nothing."""
    if taken.fullmatch(char):
        return char
    table = _table() | _GERMAN if german else _table()
    found = _spelled(char, table)
    if found is None:
        bare = unicodedata.normalize("NFKD", char)
        found = "".join(_spelled(one, table) or one for one in bare)
    return "".join(one for one in found if taken.fullmatch(one))


def _spelled(char: str, table: dict[str, str]) -> str | None:
    found = table.get(char.lower())
    return found.capitalize() if found and char.isupper() else found


@cache
def _table() -> dict[str, str]:
    """Return what each lower-case letter and each mark is written as."""
    table: dict[str, str] = json.loads(_DATA.read_text("utf-8"))
    return table
