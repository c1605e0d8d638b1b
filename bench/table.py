"""What a figure comes to, and the one table of them all."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

HEADS = ("figure", "ours", "yardstick", "ratio", "goal")
HUNDRED = 100


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; `ours` and `beside` are in `unit`, `yardstick` says what that is."""

    figure: str
    ours: float
    unit: str
    beside: float
    yardstick: str
    goal: str = ""

    def cells(self) -> tuple[str, ...]:
        """Return the line's texts under `HEADS`."""
        return (
            self.figure,
            f"{_short(self.ours)} {self.unit}",
            f"{_short(self.beside)} {self.unit}  {self.yardstick}",
            f"{_short(self.ours / self.beside)} ×",
            self.goal,
        )


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the value that `percent` in a hundred do not exceed."""
    return statistics.quantiles(values, n=HUNDRED, method="inclusive")[percent - 1]


def written(rows: Sequence[Row]) -> str:
    """Write the table."""
    lines = [HEADS, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= HUNDRED else f"{value:.3g}"
