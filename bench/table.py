"""What a figure comes to, and the tables of them all."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

HEADS = ("figure", "ours", "yardstick", "ratio", "goal")
LOAD_HEADS = (
    *("figure", "ours (least to most)", "yardstick (least to most)", "ratio", "goal"),
    *("p50 / p99 / p99.9, ms", "yardstick's"),
    *("CPU ms an answer, server + client", "yardstick's"),
)
HUNDRED = 100


@dataclass(frozen=True, slots=True)
class Detail:
    """What rounds of load say beside their median: all in ms but the spread."""

    least: float
    most: float
    p50: float
    p99: float
    p999: float
    server: float
    client: float

    @property
    def spread(self) -> str:
        """Return the least and the most of the rounds."""
        return f" ({_short(self.least)} to {_short(self.most)})"

    @property
    def times(self) -> str:
        """Return how long answers took."""
        return " / ".join(map(_short, (self.p50, self.p99, self.p999)))

    @property
    def processor(self) -> str:
        """Return the processor time of server and load client for an answer."""
        return f"{_short(self.server)} + {_short(self.client)}"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table; `ours` and `beside` are in `unit`, `yardstick` says what that is.

    `details` are of both sides, where rounds of load were measured.
    """

    figure: str
    ours: float
    unit: str
    beside: float
    yardstick: str
    goal: str = ""
    details: tuple[Detail, Detail] | None = None

    def cells(self) -> tuple[str, ...]:
        """Return the line's texts under `HEADS`, or `LOAD_HEADS` where it has details."""
        mine, others = (detail.spread for detail in self.details) if self.details else ("", "")
        cells = (
            self.figure,
            f"{_short(self.ours)} {self.unit}".rstrip() + mine,
            f"{_short(self.beside)} {self.unit}".rstrip() + f"{others}  {self.yardstick}",
            f"{_short(self.ours / self.beside)} ×",
            self.goal,
        )
        if not self.details:
            return cells
        one, other = self.details
        return (*cells, one.times, other.times, one.processor, other.processor)


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the value that `percent` in a hundred do not exceed."""
    return statistics.quantiles(values, n=HUNDRED, method="inclusive")[percent - 1]


def tables(rows: Sequence[Row]) -> list[list[tuple[str, ...]]]:
    """Return the lines under load and the other ones, each with its heads, if there are any."""
    parts = (
        (LOAD_HEADS, [row.cells() for row in rows if row.details]),
        (HEADS, [row.cells() for row in rows if not row.details]),
    )
    return [[heads, *lines] for heads, lines in parts if lines]


def written(rows: Sequence[Row]) -> str:
    """Write the tables."""
    return "\n\n".join(map(aligned, tables(rows)))


def aligned(lines: Sequence[tuple[str, ...]]) -> str:
    """Write lines of cells in columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= HUNDRED else f"{value:.3g}"
