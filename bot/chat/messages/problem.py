"""What is wrong with what was typed, as a text."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.core.text.translations import t


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with what was typed: a key of the texts, and what stands in it, escaped."""

    key: str
    values: dict[str, object] = field(default_factory=dict)

    def text(self, language: str) -> str:
        """Say it."""
        return t(language, self.key, **self.values)
