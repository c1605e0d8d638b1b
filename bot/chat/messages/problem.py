"""Problems: why an input is not accepted."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.core.text.translations import t


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an input is not accepted: a text key, and the escaped values in the text."""

    key: str
    values: dict[str, object] = field(default_factory=dict)

    def text(self, language: str) -> str:
        """Return the text of the problem."""
        return t(language, self.key, **self.values)
