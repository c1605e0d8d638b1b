"""docs/benchmarks.md: the table with the machine and the day that it was measured on."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from bench.table import Row, tables

PACKAGES = ("fastapi", "uvicorn", "uvloop", "pydantic", "python-telegram-bot", "qrcode")
GIB = 1024**3

OPENING = """# Benchmarks

Written by `make bench`, which measures each figure beside its yardstick in one run. Times and
rates differ from machine to machine, and from run to run on a busy one: the ratio to the yardstick
of the same run is what counts, the goal says how much is enough.

Load comes from `wrk`, whose share of the processor is in the table; `h2load` repeats two of the
figures. Five rounds of ours and of the yardstick take turns: the median of the rounds counts, the
least and the most stand beside it. Under a constant rate a wait counts from when its request was
to be sent, so a server that stalls is charged for every request that was due meanwhile.
"""


def report(rows: Sequence[Row], note: str) -> str:
    """Write the page."""
    parts = (line for lines in tables(rows) for line in ("", *markdown(lines)))
    return "\n".join([OPENING, *facts(), *parts, note])


def facts() -> list[str]:
    """Write the day, the machine and the versions."""
    used = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    return [
        f"- Measured on {datetime.now(UTC):%-d %B %Y}",
        f"- {os.cpu_count()} processors ({_processor()}), {memory:.0f} GiB, {platform.system()}",
        f"- Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {used}",
    ]


def _processor() -> str:
    """Name the processor, as Linux knows it, or its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def markdown(lines: Sequence[tuple[str, ...]]) -> list[str]:
    """Write a table, whose first line are its heads."""
    heads, *rows = lines
    under = ("---", *["---:"] * 3, "---", *["---:"] * (len(heads) - 5))
    return ["| " + " | ".join(line) + " |" for line in (heads, under, *rows)]
