"""The samples of a soak: one a minute, and a verdict on the last compared to the first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from tests.floods.alert_delays import Spread
from tests.floods.result_table import GROWTH_MIB, LATE_MS, spread

MINUTES = 5
"""At the beginning and at the end, which are compared."""

MORE_FILES = 50.0
MORE_WAITING = 200.0


@dataclass(frozen=True, slots=True)
class Sample:
    """A minute: MiB before and at the most, file handles, the outbox, how late the alerts were."""

    HEAD: ClassVar[str] = (
        "minute,mib,peak_mib,files,waiting,leased,done,dead,database_mib,"
        "alerts_p50_ms,alerts_p99_ms,alerts_max_ms,served,attempted,flood"
    )
    minute: int
    memory: float
    most: float
    files: int
    outbox: dict[str, int]
    database: float
    late: Spread
    served: int
    attempted: int
    flood: str

    def line(self) -> str:
        """Write the sample under `HEAD`."""
        states = [self.outbox.get(name, 0) for name in ("waiting", "leased", "done", "dead")]
        return (
            f"{self.minute},{self.memory:.1f},{self.most:.1f},{self.files},"
            f"{','.join(map(str, states))},{self.database:.1f},"
            f"{self.late.p50:.0f},{self.late.p99:.0f},{self.late.most:.0f},"
            f"{self.served},{self.attempted},{self.flood}"
        )


def report(samples: Sequence[Sample], lost: int, doubled: int, unserved: int, problem: int) -> str:
    """Write the first and the last minutes, and what became of each figure."""
    first, last = samples[:MINUTES], samples[-MINUTES:]
    shown = [*first, *(one for one in last if one not in first)]
    totals = {
        "alerts lost": lost,
        "alerts doubled": doubled,
        "payers not served": unserved,
        "floods that broke off": problem,
    }
    lines = [
        Sample.HEAD,
        *(one.line() for one in shown),
        "",
        *_grown(first, last),
        *_late(samples),
        *(f"{name}: {count} ({'ok' if not count else 'SHORT'})" for name, count in totals.items()),
    ]
    return "\n".join(lines)


def _grown(first: Sequence[Sample], last: Sequence[Sample]) -> list[str]:
    """Write each figure's mean over the first and last minutes, and whether it grew too much."""
    figures: dict[str, tuple[Callable[[Sample], float], float]] = {
        "memory, MiB": (lambda one: one.memory, GROWTH_MIB),
        "file handles": (lambda one: one.files, MORE_FILES),
        "outbox rows waiting": (lambda one: one.outbox.get("waiting", 0), MORE_WAITING),
        "database, MiB": (lambda one: one.database, math.inf),
    }
    lines = []
    for name, (figure, most) in figures.items():
        begin, end = fmean(map(figure, first)), fmean(map(figure, last))
        verdict = "ok" if end - begin <= most else "SHORT"
        lines.append(f"{name}: {begin:.1f} at the beginning, {end:.1f} at the end ({verdict})")
    return lines


def _late(samples: Sequence[Sample]) -> list[str]:
    """Write how late alerts were in the first, the last and the worst minutes with payments."""
    paid = [one for one in samples if one.attempted]
    if not paid:
        return []
    worst = max(paid, key=lambda one: one.late.p99)
    verdict = "ok" if worst.late.p99 <= LATE_MS else "SHORT"
    begin, end, most = (spread(one.late) for one in (paid[0], paid[-1], worst))
    return [
        f"alerts p50/p99/max: {begin} at the beginning, {end} at the end ({verdict})",
        f"alerts in the worst minute ({worst.minute}): {most}",
    ]
