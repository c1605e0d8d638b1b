"""Lists of codes as sellers hand them over: one a line, each once, none of them ever in a message.

Problems name lines by their numbers: a code is worth money, and refusals end up in logs.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

from bot.core.text import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_CODES = 10_000
"""Codes in one list."""

LONGEST_CODE = 500
"""Characters of a code."""

MOST_NAMED = 10
"""Lines that a problem names; it counts the others."""

CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
"""Characters that no code has; payers wait while a list of 5 MB is searched for them."""

NOT_TEXT = "is not UTF-8 text"
NO_CODES = "has no codes"
TOO_MANY = f"has more than {MOST_CODES} codes"


class CodesProblem(ValueError):
    """A list of codes that is not accepted; the message never has a code."""


def check_codes(numbered: Iterable[tuple[int, str]], named: str = "line") -> tuple[str, ...]:
    """Return the codes of numbered lines, in their order, without the spaces around them.

    `named` is what a problem calls a line. Raises CodesProblem.
    """
    codes: dict[str, None] = {}
    repeated: list[int] = []
    for number, line in numbered:
        code = line.strip()
        _check_code(code, f"{named} {number}")
        if code in codes:
            repeated.append(number)
        codes[code] = None
        if len(codes) > MOST_CODES:
            raise CodesProblem(TOO_MANY)
    if repeated:
        raise CodesProblem(_repeats(repeated, named))
    if not codes:
        raise CodesProblem(NO_CODES)
    return tuple(codes)


def _check_code(code: str, place: str) -> None:
    if not code:
        raise CodesProblem(f"{place} is empty")
    if len(code) > LONGEST_CODE:
        raise CodesProblem(f"{place} has more than {LONGEST_CODE} characters")
    if CONTROLS.search(code):
        raise CodesProblem(f"{place} has control characters")


def _repeats(numbers: Sequence[int], named: str) -> str:
    """Return how many codes come again, and in which lines."""
    shown = [str(number) for number in numbers[:MOST_NAMED]]
    more = len(numbers) - len(shown)
    if more:
        shown.append(f"{more} more")
    places = ", ".join(shown[:-1]) + (" and " if len(shown) > 1 else "") + shown[-1]
    if len(numbers) == 1:
        return f"1 code is repeated: {named} {places}"
    return f"{len(numbers)} codes are repeated: {named}s {places}"


def _bounded(begun: str) -> str:
    """Return the beginning of a line, with the spaces that decide whether its code is valid."""
    code = begun.strip()
    return code + begun[len(begun.rstrip()) :][: LONGEST_CODE + 1] if code else ""


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
        return check_codes(self._lines)

    def _decode(self, data: bytes, *, final: bool = False) -> str:
        try:
            return self._decoder.decode(data, final)
        except UnicodeDecodeError:
            raise CodesProblem(NOT_TEXT) from None

    def _take(self, text: str, *, final: bool) -> None:
        text = self._rest + text
        half = "\r" if text.endswith("\r") and not final else ""  # of a CR LF, perhaps
        lines = sanitize.lines(text.removesuffix(half)).split("\n")
        self._rest = "" if final else _bounded(lines.pop()) + half
        for line in lines:
            self._number += 1
            if line.strip():
                self._lines.append((self._number, line))
        if len(self._lines) > MOST_CODES:
            raise CodesProblem(TOO_MANY)
        if len(self._rest.strip()) > LONGEST_CODE:
            long = f"line {self._number + 1} has more than {LONGEST_CODE} characters"
            raise CodesProblem(long)
