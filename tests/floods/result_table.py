"""The results as a table, for a terminal or in Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tests.floods.alert_delays import Spread
from tests.floods.scenario_run import Result

HEADS = (
    "flood",
    "alerts calm, p50/p99/max",
    "alerts in flood",
    "paying, p99",
    "/livez p99",
    "MiB before/peak/after",
    "payers",
    "lost",
    "doubled",
    "verdict",
    "note",
)
LATE_MS = 2_000.0
"""That one in a hundred alerts may be late in a flood."""

GROWTH_MIB = 50.0
"""That the product may hold more after a flood than before it."""


def verdict(result: Result) -> str:
    """Return `ok`, or in which ways the product falls short."""
    before, _, after = result.memory
    short = {
        "late": result.flood.p99 > LATE_MS,
        "memory": after > before + GROWTH_MIB,
        "payers": result.served < result.attempted,
        "lost": result.lost > 0,
        "doubled": result.doubled > 0,
    }
    words = [name for name, falls in short.items() if falls]
    return ", ".join(filter(None, [*words, result.found.short])) or "ok"


def written(results: Sequence[Result]) -> str:
    """Write the table for a terminal."""
    lines = [HEADS, *map(_cells, results)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def markdown(results: Sequence[Result]) -> str:
    """Write the table as Markdown."""
    lines = [HEADS, ("---",) * len(HEADS), *map(_cells, results)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(result: Result) -> tuple[str, ...]:
    return (
        result.name,
        spread(result.calm),
        spread(result.flood),
        duration(result.paying.p99),
        duration(result.livez.p99),
        " / ".join(f"{value:.0f}" for value in result.memory),
        f"{result.served} of {result.attempted}",
        str(result.lost),
        str(result.doubled),
        verdict(result),
        result.found.note,
    )


def spread(values: Spread) -> str:
    """Write p50, p99 and the most."""
    return " / ".join(map(duration, (values.p50, values.p99, values.most)))


def duration(milliseconds: float) -> str:
    """Write a time: in seconds from one on, `never` for none."""
    if math.isinf(milliseconds) or milliseconds >= 1e9:
        return "never"
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
