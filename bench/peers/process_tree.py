"""A process with all that it has started, as Linux knows them."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path

MEASURED = re.compile(r"^(Rss|Pss): +(\d+) kB$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Memory:
    """MiB of resident memory: `shared` counts pages once that several processes have."""

    resident: float
    shared: float


def memory(pid: int) -> Memory:
    """Return the memory of a process and its descendants."""
    sums = {"Rss": 0.0, "Pss": 0.0}
    for each in _family(pid):
        told = Path(f"/proc/{each}/smaps_rollup").read_text("utf-8")
        for name, kib in MEASURED.findall(told):
            sums[name] += int(kib) / 1024
    return Memory(sums["Rss"], sums["Pss"])


def end_descendants(pid: int) -> None:
    """Kill what a process has started: some leave their children behind when they end."""
    for each in _family(pid)[1:]:
        os.kill(each, signal.SIGKILL)


def _family(pid: int) -> list[int]:
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(child) for one in lists for child in one.read_text("ascii").split()]
    return [pid, *(each for child in children for each in _family(child))]
