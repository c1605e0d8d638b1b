"""A process with all that it has started, as Linux knows them."""

from __future__ import annotations

import re
from pathlib import Path

RESIDENT = re.compile(r"^VmRSS:\s+(\d+) kB$", re.MULTILINE)


def memory(pid: int) -> float:
    """Return the resident memory of a process and its descendants in MiB."""
    told = [Path(f"/proc/{each}/status").read_text("utf-8") for each in _family(pid)]
    return sum(int(found[1]) for text in told if (found := RESIDENT.search(text))) / 1024


def _family(pid: int) -> list[int]:
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(child) for one in lists for child in one.read_text("ascii").split()]
    return [pid, *(each for child in children for each in _family(child))]
