"""What every proof has: a size, figures, and the promises that the figures are held to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench import table


@dataclass(frozen=True, slots=True)
class Size:
    """How much a proof does. Each proof says in the table of proofs which of these it uses."""

    replicas: int = 3
    """Processes of the product."""

    payments: int = 1_000
    """Payments, or payers."""

    sellers: int = 40
    """Sellers who are paid."""

    clients: int = 10
    """Strangers or applications at work at once."""

    seconds: float = 60.0
    """How long the load, the flood or the fault lasts."""

    seed: int = 18
    """What everything random is drawn from."""


@dataclass(slots=True)
class Figures:
    """What a proof found, line by line, and which promises are broken."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    part: str = ""
    """What is put before the name of each figure."""

    @contextmanager
    def of(self, part: str) -> Iterator[None]:
        """Put this before the name of each figure of the block."""
        self.part = f"{part}: "
        try:
            yield
        finally:
            self.part = ""

    def note(self, name: str, value: object) -> None:
        """Add a figure that promises nothing."""
        text = f"{value:.1f}" if isinstance(value, float) else f"{value}"
        self.lines.append((f"{self.part}{name}", text))

    def hold(self, name: str, found: object, promised: object) -> None:
        """Add a figure that has to be what is promised."""
        self._add(name, found, f"{promised}", kept=found == promised)

    def at_most(self, name: str, found: float, promised: float) -> None:
        """Add a figure that may not be larger than promised."""
        self._add(name, found, f"at most {promised:g}", kept=found <= promised)

    def at_least(self, name: str, found: float, promised: float) -> None:
        """Add a figure that may not be smaller than promised."""
        self._add(name, found, f"at least {promised:g}", kept=found >= promised)

    def _add(self, name: str, found: object, promised: str, *, kept: bool) -> None:
        self.note(name, found)
        if not kept:
            self.broken.append(": ".join(self.lines[-1]) + f", promised was {promised}")

    def table(self) -> str:
        """Write the figures below each other."""
        return table.aligned(self.lines) if self.lines else ""


@dataclass(frozen=True, slots=True)
class Spread:
    """How late things were, in seconds."""

    p50: float
    p99: float
    most: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Spread:
        """Return the spread of times; nothing is at no time."""
        if len(seconds) < 2:
            seconds = [*seconds, *seconds] or [0.0, 0.0]
        finite = [min(one, 1e6) for one in seconds]
        return cls(table.percentile(finite, 50), table.percentile(finite, 99), max(seconds))

    def __str__(self) -> str:
        """Write p50, p99 and the most."""
        return " / ".join(map(duration, (self.p50, self.p99, self.most)))


def duration(seconds: float) -> str:
    """Write a time: in milliseconds below a second, `never` for a time that did not come."""
    if math.isinf(seconds) or seconds >= 1e6:
        return "never"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
