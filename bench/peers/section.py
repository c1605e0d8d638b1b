"""The part of docs/benchmarks.md about the peers, which only `make bench ARGS=peers` rewrites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.report import markdown
from bench.table import HEADS, LOAD_HEADS, Row

HEADING = "## Beside the peers"
OPENING = """
Written by `make bench ARGS=peers`, which measures other products beside ours in one run, by the
same load client. The column "ahead" names who is better.
"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A line of the table; `more` says that the higher value is the better one."""

    row: Row
    more: bool

    @property
    def ahead(self) -> str:
        """Say who is better."""
        if self.row.ours == self.row.beside:
            return "neither"
        ours = (self.row.ours > self.row.beside) is self.more
        return "ours" if ours else "**the peer**"


def section(comparisons: Sequence[Comparison], facts: Sequence[str], note: str) -> str:
    """Write the section: the lines under load, and the other ones."""
    parts = [HEADING, OPENING, *facts]
    for heads, loaded in ((LOAD_HEADS, True), (HEADS, False)):
        if chosen := [one for one in comparisons if bool(one.row.details) is loaded]:
            lines = [_with_ahead(one.row.cells(), one.ahead) for one in chosen]
            parts += ["", *markdown([_with_ahead(heads, "ahead"), *lines])]
    return "\n".join([*parts, note])


def _with_ahead(cells: tuple[str, ...], ahead: str) -> tuple[str, ...]:
    at = len(HEADS)
    return (*cells[:at], ahead, *cells[at:])


def with_section(page: str, section: str) -> str:
    """Return the page with the section at its end, in place of the one that it had."""
    rest = page.partition(HEADING)[0].rstrip()
    return f"{rest}\n\n{section}" if section else f"{rest}\n"


def section_of(page: str) -> str:
    """Return the section of a page, an empty text where it has none."""
    _, heading, rest = page.partition(HEADING)
    return heading + rest
