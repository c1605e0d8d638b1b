"""What every proof has: a size, figures, and the promises that they are held to."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Size:
    """How much a proof does; what a part has no use for it leaves alone."""

    replicas: int = 3
    payments: int = 1_000
    seconds: float = 60.0
    seed: int = 18


@dataclass(slots=True)
class Figures:
    """What a proof found, line by line, and which promises are broken."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    part: str = ""

    def note(self, name: str, value: object) -> None:
        """Add a figure that promises nothing; `part` is put before its name."""
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
        width = max((len(name) for name, _ in self.lines), default=0)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in self.lines)
